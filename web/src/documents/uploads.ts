/** Files on their way: sent a few at a time, then followed by their jobs until each can be found, or failed with a reason. */
import { signal } from "@preact/signals";
import { knowledge } from "../api/clients";
import { explained, isNotFound, told as faultSaid } from "../api/errors";
import { upload } from "../api/upload";
import { type Job, JobStatus } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { announce } from "../ui/notices";
import { t } from "../i18n";
import { refreshCollections } from "./collections";
import type { Dropped } from "./dropped";

export interface Upload {
  key: number;
  name: string;
  collection: string;
  state: "queued" | "sending" | "working" | "done" | "unchanged" | "failed";
  /** 0 to 100: a fifth for the sending. */
  percentage: number;
  stage: string;
  jobId: string;
  documentId: string;
  reason: string;
  dropped: Dropped;
  /** When it came to its stage. */
  since: number;
}

const AT_ONCE = 3;
const LOOK_MS = 700;
/** A browser opens six connections to a site: jobs are looked at together, not watched one by one. */
const PAGE = 200;
const TOGETHER_MIN = 6;

export const uploads = signal<Upload[]>([]);
/** Counts what became visible: lists of documents are read again when it moves. */
export const indexed = signal(0);

/** The documents that failed and wait for a person. */
export const failed = signal<ReadonlySet<string>>(new Set());

let made = 0;
let sending = 0;
let looking = false;

export function isOver({ state }: Upload): boolean {
  return state === "done" || state === "unchanged" || state === "failed";
}

export function add(files: Dropped[], collection: string): void {
  const fresh = files.map((dropped): Upload => {
    made += 1;
    return { key: made, name: dropped.path, collection, state: "queued", percentage: 0, stage: "queued", jobId: "", documentId: "", reason: "", dropped, since: Date.now() };
  });
  uploads.value = [...uploads.value, ...fresh];
  pump();
}

export function again(key: number): void {
  change(key, { state: "queued", percentage: 0, stage: "queued", reason: "" });
  pump();
}

export function clearDone(): void {
  uploads.value = uploads.value.filter((each) => !isOver(each) || each.state === "failed");
}

export function forget(key: number): void {
  uploads.value = uploads.value.filter((each) => each.key !== key);
}

/** Follows a document that is on its way again. */
export function follow(jobId: string, name: string, collection: string): void {
  made += 1;
  const dropped: Dropped = { path: name, file: null };
  const old = uploads.value.filter((each) => each.jobId !== jobId);
  uploads.value = [...old, { key: made, name, collection, state: "working", percentage: 20, stage: "", jobId, documentId: "", reason: "", dropped, since: Date.now() }];
  void look();
}

function change(key: number, what: Partial<Upload>): void {
  uploads.value = uploads.value.map((each) => (each.key === key ? { ...each, ...what, since: what.stage === undefined || what.stage === each.stage ? each.since : Date.now() } : each));
}

function pump(): void {
  while (sending < AT_ONCE) {
    const next = uploads.value.find((each) => each.state === "queued");
    if (!next) return;
    sending += 1;
    void send(next).finally(() => {
      sending -= 1;
      pump();
    });
  }
}

async function send({ key, collection, dropped }: Upload): Promise<void> {
  if (!dropped.file) return change(key, { state: "failed", stage: "failed" });
  change(key, { state: "sending", stage: "sending" });
  try {
    const accepted = await upload(dropped.file, {
      collection, source: dropped.path, onProgress: (share) => change(key, { percentage: Math.round(share * 20) }),
    });
    if (accepted.unchanged) change(key, { state: "unchanged", stage: "unchanged", percentage: 100, documentId: accepted.documentId });
    else change(key, { state: "working", stage: "", percentage: 20, jobId: accepted.jobId, documentId: accepted.documentId });
    void look();
  } catch (error) {
    change(key, { state: "failed", stage: "failed", reason: explained(error) });
  }
}

async function look(): Promise<void> {
  if (looking) return;
  looking = true;
  try {
    for (;;) {
      const open = uploads.value.filter((each) => each.state === "working");
      if (!open.length) break;
      try {
        for (const job of await jobsOf(open)) told(job);
      } catch (error) {
        // It is looked again; a job that is not there any more was of a document that was deleted.
        if (isNotFound(error)) for (const each of open) change(each.key, { state: "failed", stage: "failed", reason: explained(error) });
      }
      await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
    }
  } finally {
    looking = false;
  }
  void refreshCollections();
  const lost = uploads.value.filter((each) => each.state === "failed").length;
  announce(t().documents.summary(uploads.value.filter((each) => isOver(each) && each.state !== "failed").length, uploads.value.length, lost));
}

async function jobsOf(open: Upload[]): Promise<Job[]> {
  if (open.length < TOGETHER_MIN) {
    const found = await Promise.all(open.map(({ jobId }) => knowledge.getJob({ jobId })));
    return found.flatMap(({ job }) => job ?? []);
  }
  const wanted = new Set(open.map(({ jobId }) => jobId));
  const jobs: Job[] = [];
  let pageToken = "";
  do {
    const page = await knowledge.listJobs({ pageSize: PAGE, pageToken });
    for (const job of page.jobs) if (wanted.delete(job.jobId)) jobs.push(job);
    pageToken = page.nextPageToken;
  } while (wanted.size && pageToken);
  return jobs;
}

function told(job: Job): void {
  const mine = uploads.value.find((each) => each.jobId === job.jobId);
  if (!mine) return;
  switch (job.status) {
    case JobStatus.COMPLETED:
      change(mine.key, { state: "done", stage: "done", percentage: 100 });
      indexed.value += 1;
      void refreshCollections();
      break;
    case JobStatus.FAILED:
      change(mine.key, { state: "failed", stage: "failed", reason: faultSaid(job.error?.reason ?? "", job.error?.message ?? "") });
      indexed.value += 1;
      break;
    default:
      change(mine.key, { stage: job.stage, percentage: 20 + Math.round(job.percentage * 0.8) });
  }
}
