import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { curation } from "../api/curation";
import { t } from "../i18n";
import { address } from "../route";
import { Dialog } from "../ui/Dialog";
import { notify, notifyError } from "../ui/notices";
import { store, stored } from "../ui/stored";
import { agent } from "./session";
import { shown, type Turn } from "./turn";

const MARKER = /\s?\[\d{1,3}\]/g;

/** Keeps an answer as one that a person vouches for. */
export default function ApproveDialog({ turn, onClose }: { turn: Turn; onClose: () => void }) {
  const words = t().ask.approveForm;
  const agents = useSignal<string[] | null>(null);
  const chosen = useSignal(agent.value);
  const by = useSignal(stored("name") ?? "");
  const was = shown(turn).replace(MARKER, "").trim();
  const corrected = useSignal(was);
  useEffect(() => {
    curation.listAgents({ pageSize: 1000 }).then((page) => {
      agents.value = page.agents.map((each) => each.name);
      chosen.value ||= agents.value[0] ?? "";
    }, notifyError);
  }, []);
  const save = async () => {
    try {
      store("name", by.value);
      const better = corrected.value.trim();
      await curation.approveAnswer({
        agent: chosen.value, messageId: turn.messageId, validatedBy: by.value.trim(), correctedAnswer: better === was ? "" : better,
      });
      notify(words.done);
      onClose();
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Dialog title={words.title} onClose={onClose}>
      <p>{words.lead}</p>
      {agents.value?.length === 0 ? <>
        <p class="hint">{words.noAgent}</p>
        <div class="actions"><a class="button primary" href={address("curation")}>{words.makeAgent}</a></div>
      </> : (
        <form onSubmit={(event) => (event.preventDefault(), void save())}>
          <label>{words.agent}
            <select value={chosen.value} onChange={(event) => (chosen.value = event.currentTarget.value)}>
              {(agents.value ?? []).map((name) => <option key={name} value={name}>{name}</option>)}
            </select>
          </label>
          <label>{words.by}
            <input required maxLength={500} value={by.value} autocomplete="name" onInput={(event) => (by.value = event.currentTarget.value)} />
          </label>
          <label>{words.corrected}
            <textarea rows={6} required value={corrected.value} onInput={(event) => (corrected.value = event.currentTarget.value)} />
          </label>
          <div class="actions">
            <button type="button" onClick={onClose}>{t().common.cancel}</button>
            <button type="submit" class="primary" disabled={!chosen.value}>{words.save}</button>
          </div>
        </form>
      )}
    </Dialog>
  );
}
