import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { told } from "../api/errors";
import { operations } from "../api/operations";
import type { Failure } from "../gen/sourcier/gateway/v1/operations_pb";
import { dateTime, t } from "../i18n";
import { Icon } from "../ui/icons";
import { notify, notifyError } from "../ui/notices";
import { failed, follow, indexed } from "./uploads";

/** Documents that could not be indexed, with the reason and the two ways on; `calm` is said where there are none. */
export function Failures({ collection, calm = "" }: { collection: string; calm?: string }) {
  const words = t().documents;
  const failures = useSignal<Failure[]>([]);
  const known = useSignal(false);
  const read = () => operations.listFailures({ filter: collection ? { collection } : undefined, pageSize: 200 }).then((page) => {
    failures.value = page.failures;
    failed.value = new Set(page.failures.map((failure) => failure.documentId));
    known.value = true;
  }, notifyError);
  useEffect(() => {
    failures.value = [];
    void read();
  }, [collection, indexed.value]);
  if (!failures.value.length) return calm && known.value ? <section class="card" aria-label={words.failures}><p class="health"><Icon name="check" />{calm}</p></section> : null;
  const replay = async (some: Failure[]) => {
    try {
      const { replayedCount } = await operations.replayFailures({ failureIds: some.map((failure) => failure.failureId) });
      notify(words.replayed(replayedCount));
      for (const failure of some) if (failure.jobId) follow(failure.jobId, failure.filename || failure.source, failure.collection);
      await read();
    } catch (error) {
      notifyError(error);
    }
  };
  const discard = (failure: Failure) => operations.discardFailures({ failureIds: [failure.failureId] }).then(read, notifyError);
  return (
    <section class="card" aria-label={words.failures}>
      <header class="card-head">
        <h2>{words.failures}</h2>
        {failures.value.length > 1 && <button type="button" class="link" onClick={() => void replay(failures.value)}>{words.replayAll}</button>}
      </header>
      <ul class="rows">
        {failures.value.map((failure) => (
          <li key={failure.failureId} class="failure">
            <span class="name" title={failure.source}>{failure.filename || failure.source}</span>
            <span class="stage">{dateTime(failure.failedAt?.seconds)} · {t().operations.attempts(failure.attempts)}</span>
            <span class="row-actions">
              <button type="button" onClick={() => void replay([failure])}>{words.replay}</button>
              <button type="button" onClick={() => void discard(failure)}>{words.discard}</button>
            </span>
            <p class="reason">{told(failure.reason, failure.message)}</p>
          </li>
        ))}
      </ul>
    </section>
  );
}
