import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { operations } from "../api/operations";
import { shownName } from "../documents/collections";
import type { BucketSource } from "../gen/sourcier/gateway/v1/operations_pb";
import { bytes, dateTime, number, t } from "../i18n";
import { Confirm } from "../ui/Dialog";
import { notify, notifyError } from "../ui/notices";
import { operationWords } from "./words";

/** What a bucket and the documents taken from it do not have in common, over all its rules. */
interface Difference {
  bucket: string;
  missing: bigint;
  changed: bigint;
  gone: bigint;
}

/** The watched buckets, rule by rule: what is taken, how its objects stand, and a comparison of a bucket on request. */
export function Buckets() {
  const words = operationWords();
  const buckets = useSignal<BucketSource[] | null>(null);
  const comparing = useSignal("");
  const differing = useSignal<Difference | null>(null);
  const read = () => operations.listBuckets({}).then((found) => (buckets.value = found.buckets), (error: unknown) => {
    buckets.value ??= [];
    notifyError(error);
  });
  useEffect(() => void read(), []);
  const counted = async (bucket: string, dryRun: boolean): Promise<Difference> => {
    const found = { bucket, missing: 0n, changed: 0n, gone: 0n };
    for await (const progress of operations.reconcile({ bucket, dryRun })) {
      if (!progress.finished) continue;
      found.missing += progress.missing;
      found.changed += progress.changed;
      found.gone += progress.gone;
    }
    return found;
  };
  const whileComparing = async (bucket: string, work: () => Promise<void>) => {
    comparing.value = bucket;
    try {
      await work();
    } catch (error) {
      notifyError(error);
    } finally {
      comparing.value = "";
      await read();
    }
  };
  /** Counts only: what would be taken in and deleted is asked before it is done. */
  const compare = (bucket: string) => whileComparing(bucket, async () => {
    const found = await counted(bucket, true);
    if (found.missing || found.changed || found.gone) differing.value = found;
    else notify(words.alike(bucket));
  });
  const apply = (bucket: string) => whileComparing(bucket, async () => {
    const { missing, changed, gone } = await counted(bucket, false);
    notify(words.comparedNow(number(missing), number(changed), number(gone)));
  });
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
      {differing.value && (
        <Confirm title={words.compareNamed(differing.value.bucket)} action={words.apply} question={asking(differing.value)}
          onYes={() => differing.value && void apply(differing.value.bucket)} onClose={() => (differing.value = null)} />
      )}
    </section>
  );
}

function asking({ bucket, missing, changed, gone }: Difference): string {
  const words = operationWords();
  return [
    words.differs(bucket), missing > 0n && words.wouldTake(Number(missing)), changed > 0n && words.wouldRead(Number(changed)),
    gone > 0n && words.wouldDelete(Number(gone)),
  ].filter(Boolean).join(" ");
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
