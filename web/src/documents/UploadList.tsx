import { t } from "../i18n";
import { Icon } from "../ui/icons";
import { IconButton } from "../ui/IconButton";
import { again, clearDone, forget, isOver, type Upload, uploads } from "./uploads";

const SHOWN_MAX = 200;
const LONG_MS = 15_000;

/** What was sent from here: how far each file is, by stage, and why one failed. */
export function UploadList() {
  const words = t().documents;
  const all = uploads.value;
  if (!all.length) return null;
  const failed = all.filter((each) => each.state === "failed").length;
  const done = all.filter((each) => isOver(each)).length - failed;
  // Those that fail or move first: of a thousand files nobody reads those that are done.
  const order = (each: Upload) => (each.state === "failed" ? 0 : each.state === "queued" ? 2 : isOver(each) ? 3 : 1);
  const rows = all.length > SHOWN_MAX ? [...all].sort((a, b) => order(a) - order(b)).slice(0, SHOWN_MAX) : all;
  return (
    <section class="card" aria-label={words.uploads}>
      <header class="card-head">
        <h2>{words.uploads}</h2>
        <p class="quiet" role="status">{words.summary(done, all.length, failed)}</p>
        {done > 0 && <button type="button" class="link" onClick={clearDone}>{words.clearDone}</button>}
      </header>
      {all.length > 1 && <progress class="whole" max={all.length * 100} value={all.reduce((sum, each) => sum + (isOver(each) ? 100 : each.percentage), 0)} aria-label={words.uploads} />}
      {all.some((each) => each.stage === "located" && Date.now() - each.since > LONG_MS) && <p class="quiet long-read">{words.longRead}</p>}
      <ul class="rows">{rows.map((each) => <Row key={each.key} upload={each} />)}</ul>
    </section>
  );
}

function Row({ upload }: { upload: Upload }) {
  const words = t().documents;
  const stages = words.stage as Readonly<Record<string, string>>;
  const stage = stages[upload.stage] ?? upload.stage;
  return (
    <li class={`upload ${upload.state}`}>
      <span class="name" title={upload.name}>{upload.name}</span>
      <span class="stage">
        {upload.state === "done" && <Icon name="check" />}
        {upload.state === "failed" && <Icon name="warning" />}
        {stage}
      </span>
      {isOver(upload) ? (
        <span class="row-actions">
          {upload.state === "failed" && upload.dropped.file && <IconButton icon="again" label={t().common.retry} onClick={() => again(upload.key)} />}
          {upload.state === "failed" && <IconButton icon="close" label={t().common.close} onClick={() => forget(upload.key)} />}
        </span>
      ) : <progress max={100} value={upload.percentage} aria-label={upload.name} />}
      {upload.reason && <p class="reason">{upload.reason}</p>}
    </li>
  );
}
