import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { may } from "../api/credentials";
import { curation } from "../api/curation";
import { html } from "../ask/markdown";
import { type FaqEntry, FaqState } from "../gen/sourcier/gateway/v1/curation_pb";
import { dateTime, t } from "../i18n";
import { Dialog } from "../ui/Dialog";
import { Icon } from "../ui/icons";
import { notifyError } from "../ui/notices";
import { store, stored } from "../ui/stored";

/** The validated answers of an agent, those that wait for a person first. */
export function FaqList({ agent, onChange }: { agent: string; onChange: () => void }) {
  const words = t().curation;
  const entries = useSignal<FaqEntry[] | null>(null);
  const adding = useSignal(false);
  const confirming = useSignal<FaqEntry | null>(null);
  const read = () => curation.listFaqEntries({ agent, pageSize: 500 }).then((page) => {
    entries.value = [...page.entries].sort((a, b) => Number(b.state === FaqState.FLAGGED) - Number(a.state === FaqState.FLAGGED));
  }, notifyError);
  useEffect(() => void read(), []);
  const changed = () => (void read(), onChange());
  const retire = (entry: FaqEntry) => curation.retireFaqEntry({ entryId: entry.entryId }).then(changed, notifyError);
  return (
    <section class="card" aria-label={words.entries(agent)}>
      <header class="card-head">
        <h2>{words.entries(agent)}</h2>
        {may("manager") && <button type="button" onClick={() => (adding.value = true)}><Icon name="plus" /><span>{words.add}</span></button>}
      </header>
      {!entries.value?.length && <p class="quiet empty">{entries.value ? words.noEntries : t().common.loading}</p>}
      <ul class="rows faq">
        {(entries.value ?? []).map((entry) => (
          <li key={entry.entryId}>
            <p class="name">{entry.question}</p>
            {may("manager") && <span class="row-actions">
              {entry.state === FaqState.FLAGGED && <button type="button" onClick={() => (confirming.value = entry)}>{words.confirm}</button>}
              <button type="button" onClick={() => void retire(entry)}>{words.retire}</button>
            </span>}
            <div class="prose" dangerouslySetInnerHTML={{ __html: html(entry.answer) }} />
            <span class="facts">
              {entry.state === FaqState.FLAGGED && <strong class="flag">{words.changed} · </strong>}
              {words.by} {entry.validatedBy}, {dateTime(entry.validatedAt?.seconds)}
            </span>
          </li>
        ))}
      </ul>
      {adding.value && <Entry agent={agent} onClose={() => (adding.value = false)} onDone={changed} />}
      {confirming.value && <Entry agent={agent} entry={confirming.value} onClose={() => (confirming.value = null)} onDone={changed} />}
    </section>
  );
}

/** A new entry, or one to be confirmed. */
function Entry({ agent, entry, onClose, onDone }: { agent: string; entry?: FaqEntry; onClose: () => void; onDone: () => void }) {
  const words = t().curation;
  const question = useSignal(entry?.question ?? "");
  const answer = useSignal(entry?.answer ?? "");
  const by = useSignal(stored("name") ?? "");
  const save = async () => {
    try {
      store("name", by.value);
      const validatedBy = by.value.trim();
      if (entry) {
        const better = answer.value.trim();
        await curation.confirmFaqEntry({ entryId: entry.entryId, validatedBy, correctedAnswer: better === entry.answer ? "" : better });
      } else await curation.addFaqEntry({ agent, question: question.value.trim(), answer: answer.value.trim(), validatedBy });
      onDone();
      onClose();
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Dialog title={entry ? words.confirm : words.add} onClose={onClose}>
      <form onSubmit={(event) => (event.preventDefault(), void save())}>
        <label>{words.question}
          <textarea rows={2} required maxLength={2000} readOnly={Boolean(entry)} value={question.value} onInput={(event) => (question.value = event.currentTarget.value)} />
        </label>
        <label>{words.answer}
          <textarea rows={6} required maxLength={20000} value={answer.value} onInput={(event) => (answer.value = event.currentTarget.value)} />
        </label>
        <label>{words.by}<input required maxLength={500} autocomplete="name" value={by.value} onInput={(event) => (by.value = event.currentTarget.value)} /></label>
        <div class="actions">
          <button type="button" onClick={onClose}>{t().common.cancel}</button>
          <button type="submit" class="primary">{t().common.save}</button>
        </div>
      </form>
    </Dialog>
  );
}
