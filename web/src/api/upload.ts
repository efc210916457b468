/** Sends a file with its progress, which `fetch` does not tell. */
import { Code, ConnectError } from "@connectrpc/connect";
import { headers } from "./credentials";

export interface Accepted {
  jobId: string;
  documentId: string;
  unchanged: boolean;
}

interface Answer {
  job_id?: string;
  document_id?: string;
  unchanged?: boolean;
  message?: string;
  detail?: string;
  error?: { message?: string; reason?: string };
}

export function upload(file: File, { collection, source, onProgress }: {
  collection: string; source: string; onProgress: (share: number) => void;
}): Promise<Accepted> {
  const form = new FormData();
  form.set("collection", collection);
  form.set("source", source);
  form.set("file", file, file.name);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/api/documents/upload");
    request.responseType = "json";
    for (const [name, value] of Object.entries(headers())) request.setRequestHeader(name, value);
    request.upload.addEventListener("progress", (event) => event.lengthComputable && onProgress(event.loaded / event.total));
    request.addEventListener("load", () => {
      const answer = (request.response ?? {}) as Answer;
      if (request.status < 300 && answer.job_id) {
        resolve({ jobId: answer.job_id, documentId: answer.document_id ?? "", unchanged: answer.unchanged ?? false });
      } else reject(refused(answer, request));
    });
    request.addEventListener("error", () => reject(new ConnectError("", Code.Unavailable)));
    request.send(form);
  });
}

/** What the service said, as a call's error: its reason is told in the page's own words. */
function refused(answer: Answer, request: XMLHttpRequest): ConnectError {
  const error = new ConnectError(answer.message ?? answer.error?.message ?? answer.detail ?? `HTTP ${request.status}`, codeOf(request.status));
  const debug = { reason: answer.error?.reason ?? "", retryDelay: request.getResponseHeader("retry-after") ?? "" };
  error.details = [{ type: "google.rpc.ErrorInfo", value: new Uint8Array(), debug }];
  return error;
}

function codeOf(status: number): Code {
  if (status === 401) return Code.Unauthenticated;
  if (status === 403) return Code.PermissionDenied;
  if (status === 429) return Code.ResourceExhausted;
  return status >= 500 ? Code.Unavailable : Code.InvalidArgument;
}
