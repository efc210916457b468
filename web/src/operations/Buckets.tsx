import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { operations } from "../api/operations";
import { shownName } from "../documents/collections";
import type { BucketSource } from "../gen/sourcier/gateway/v1/operations_pb";
import { bytes, dateTime, number, t } from "../i18n";
import { notify, notifyError } from "../ui/notices";
import { operationWords } from "./words";

/** The watched buckets, rule by rule: what is taken, how its objects stand, and a comparison on request. */
export function Buckets() {
  const words = operationWords();
  const buckets = useSignal<BucketSource[] | null>(null);
  const comparing = useSignal("");
  const read = () => operations.listBuckets({}).then((found) => (buckets.value = found.buckets), (error: unknown) => {
    buckets.value ??= [];
    notifyError(error);
  });
  useEffect(() => void read(), []);
  const compare = async (bucket: string) => {
    comparing.value = bucket;
    try {
      let [missing, changed, gone] = [0n, 0n, 0n];
      for await (const progress of operations.reconcile({ bucket })) {
        if (progress.finished) [missing, changed, gone] = [missing + progress.missing, changed + progress.changed, gone + progress.gone];
      }
      notify(words.comparedNow(number(missing), number(changed), number(gone)));
    } catch (error) {
      notifyError(error);
    } finally {
      comparing.value = "";
      await read();
    }
  };
  return (
    <section class="card" aria-label={words.buckets}>
      <header class="card-head"><h2>{words.buckets}</h2></header>
      {!buckets.value?.length && <p class="quiet empty">{buckets.value ? words.noBuckets : t().common.loading}</p>}
      <ul class="rows">
        {(buckets.value ?? []).map((source) => (
          <li key={`${source.bucket}/${source.prefix}`}>
            <span class="name">{source.bucket}/{source.prefix}</span>
            <span class="facts">{rule(source)}</span>
            <span class="facts">{standing(source)}</span>
            <span class="row-actions">
              <button type="button" disabled={Boolean(comparing.value) || source.comparing} aria-label={words.compareNamed(source.bucket)} onClick={() => void compare(source.bucket)}>
                {comparing.value === source.bucket || source.comparing ? words.comparing : words.compare}
              </button>
            </span>
            {source.errors.length > 0 && (
              <details class="warnings">
                <summary>{words.errors(source.errors.length)}</summary>
                <ul>{source.errors.map(({ key, error }) => <li key={key}><strong>{key}</strong> <span lang="en">{error}</span></li>)}</ul>
              </details>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

function rule(source: BucketSource): string {
  const words = operationWords();
  return [
    words.goesTo(shownName(source.collection)), source.category && words.category(source.category),
    source.include.length > 0 && words.takes(source.include.join(", ")), source.exclude.length > 0 && words.leaves(source.exclude.join(", ")),
    source.sizeBytesMax > 0n && words.largest(bytes(source.sizeBytesMax)),
  ].filter(Boolean).join(" · ");
}

function standing(source: BucketSource): string {
  const words = operationWords();
  return [
    words.current(number(source.currentCount)), source.waitingCount > 0n && words.waiting(number(source.waitingCount)),
    source.refusedCount > 0n && words.refused(number(source.refusedCount)),
    source.comparedAt ? words.compared(dateTime(source.comparedAt.seconds)) : words.neverCompared,
    source.changedAt && words.changed(dateTime(source.changedAt.seconds)),
  ].filter(Boolean).join(" · ");
}
