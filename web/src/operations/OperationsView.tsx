import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { knowledge } from "../api/clients";
import { may } from "../api/credentials";
import { told } from "../api/errors";
import { Failures } from "../documents/Failures";
import { collections, refreshCollections, shownName } from "../documents/collections";
import { type Job, JobStatus } from "../gen/sourcier/gateway/v1/knowledge_pb";
import { dateTime, number, t } from "../i18n";
import { Icon } from "../ui/icons";
import { notifyError } from "../ui/notices";
import { Buckets } from "./Buckets";
import { Checks } from "./Checks";
import { Spaces } from "./Spaces";

/** How the service is doing: its health, its jobs, and what waits for a person. */
export default function OperationsView() {
  const words = t().operations;
  return (
    <div class="view">
      <header class="view-head"><h1>{words.title}</h1></header>
      <Health />
      {may("writer") && <Failures collection="" calm={words.noFailures} />}
      {may("operator") && <Checks />}
      <Collections />
      {may("manager") && <Spaces />}
      {may("operator") && <Buckets />}
      <Jobs />
    </div>
  );
}

function Health() {
  const words = t().operations;
  const healthy = useSignal<boolean | null>(null);
  const look = () => fetch("/health").then((answer) => (healthy.value = answer.ok), () => (healthy.value = false));
  useEffect(() => {
    void look();
    const timer = setInterval(() => void look(), 10_000);
    return () => clearInterval(timer);
  }, []);
  return (
    <section class="card" aria-label={words.health}>
      <p role="status" class={healthy.value === false ? "health bad" : "health"}>
        {healthy.value !== null && <Icon name={healthy.value ? "check" : "warning"} />}
        {healthy.value === null ? t().common.loading : healthy.value ? words.healthy : words.unhealthy}
      </p>
    </section>
  );
}

function Collections() {
  const words = t().operations;
  useEffect(() => void refreshCollections(), []);
  if (!collections.value.length) return null;
  return (
    <section class="card" aria-label={words.collections}>
      <header class="card-head"><h2>{words.collections}</h2></header>
      <div class="wide" tabIndex={0}>
        <table>
          <thead><tr><th scope="col">{words.collections}</th><th scope="col" class="right">{words.documents}</th><th scope="col" class="right">{words.passages}</th><th scope="col">{words.space}</th></tr></thead>
          <tbody>
            {collections.value.map((each) => (
              <tr key={each.collectionId}><td>{shownName(each.name)}</td><td class="right">{number(each.documentCount)}</td><td class="right">{number(each.chunkCount)}</td><td>{modelOf(each.spaceId)}</td></tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** A space's id is its model's name with a digest behind it, which tells nobody anything. */
const modelOf = (space: string) => space.replace(/-[0-9a-f]{8}$/, "");

function Jobs() {
  const words = t().operations;
  const status = useSignal(JobStatus.UNSPECIFIED);
  const jobs = useSignal<Job[]>([]);
  const next = useSignal("");
  const read = (pageToken = "") => knowledge.listJobs({ status: status.value, pageSize: 50, pageToken }).then((page) => {
    jobs.value = pageToken ? [...jobs.value, ...page.jobs] : page.jobs;
    next.value = page.nextPageToken;
  }, notifyError);
  useEffect(() => void read(), [status.value]);
  const stages = t().documents.stage as Readonly<Record<string, string>>;
  const names = words.statuses;
  const standing = (job: Job) => job.status === JobStatus.FAILED ? stages.failed : job.status === JobStatus.COMPLETED ? stages.done : `${stages[job.stage] ?? job.stage} · ${job.percentage} %`;
  return (
    <section class="card" aria-label={words.jobs}>
      <header class="card-head">
        <h2>{words.jobs}</h2>
        <label class="pick"><span class="unseen">{words.status}</span>
          <select value={status.value} onChange={(event) => (status.value = Number(event.currentTarget.value))}>
            <option value={JobStatus.UNSPECIFIED}>{names.all}</option>
            <option value={JobStatus.PENDING}>{names.pending}</option>
            <option value={JobStatus.PROCESSING}>{names.processing}</option>
            <option value={JobStatus.COMPLETED}>{names.completed}</option>
            <option value={JobStatus.FAILED}>{names.failed}</option>
          </select>
        </label>
        <button type="button" class="link" onClick={() => void read()}>{t().common.refresh}</button>
      </header>
      {!jobs.value.length ? <p class="quiet empty">{words.noJobs}</p> : (
        <div class="wide" tabIndex={0}>
          <table>
            <thead><tr><th scope="col">{words.file}</th><th scope="col">{words.status}</th><th scope="col">{words.when}</th></tr></thead>
            <tbody>
              {jobs.value.map((job) => (
                <tr key={job.jobId}>
                  <td class="breaking">{job.filename || job.source}{job.error && <small class="reason">{told(job.error.reason, job.error.message)}</small>}</td>
                  <td>{standing(job)}</td>
                  <td class="when">{dateTime(job.createdAt?.seconds)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {next.value && <button type="button" class="more" onClick={() => void read(next.value)}>{t().common.more}</button>}
    </section>
  );
}
