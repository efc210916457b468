import { useSignal } from "@preact/signals";
import { useEffect, useId, useRef } from "preact/hooks";
import { choose, chosen, collectionNames, shownName } from "../documents/collections";
import { AnswerMode, Strictness } from "../gen/sourcier/gateway/v1/answer_pb";
import { countOf } from "../filter/conditions";
import { t } from "../i18n";
import { Icon } from "../ui/icons";
import { later } from "../ui/Later";
import { isNarrowed, narrowed } from "./scope";
import { agent, agentCollection, draft, mode, stop, strictness, submit, turns } from "./session";
import { isOpen } from "./turn";

const CHARACTERS_MAX = 8_000;
const Narrowing = later(() => import("./Narrowing").then((module) => module.default));

/** Where questions are written. Enter sends, Shift and Enter begins a line. */
export function Composer() {
  const words = t().ask;
  const box = useRef<HTMLTextAreaElement>(null);
  const more = useSignal(false);
  const filtering = useSignal(false);
  const settings = useId();
  const filters = useId();
  const answering = turns.value.find(isOpen);
  useEffect(() => {
    const element = box.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, 220)}px`;
  }, [draft.value]);
  useEffect(() => {
    // A phone would raise its keyboard.
    if (matchMedia("(pointer: fine)").matches) box.current?.focus();
  }, []);
  const send = () => void submit(draft.value);
  return (
    <form class="composer" onSubmit={(event) => (event.preventDefault(), send())}>
      <div class="composer-box">
        <textarea ref={box} rows={1} value={draft.value} maxLength={CHARACTERS_MAX} aria-label={words.question} id="question"
          placeholder={turns.value.length ? words.followUp : words.placeholder}
          onInput={(event) => (draft.value = event.currentTarget.value)}
          onKeyDown={(event) => {
            // Enter also ends the choice of a character in some languages.
            if (event.key === "Enter" && !event.shiftKey && !event.isComposing) (event.preventDefault(), send());
          }} />
        <div class="composer-row">
          <CollectionChoice />
          <button type="button" class="quiet-button" aria-label={words.options} aria-expanded={more.value} aria-controls={settings} onClick={() => (more.value = !more.value)}>
            <Icon name="settings" /><span>{words.options}</span>
          </button>
          <button type="button" class="quiet-button" aria-label={words.filter} aria-expanded={filtering.value} aria-controls={filtering.value || isNarrowed() ? filters : undefined} onClick={() => (filtering.value = !filtering.value)}>
            <Icon name="filter" /><span>{words.filter}{countOf(narrowed.value) ? ` (${countOf(narrowed.value)})` : ""}</span>
          </button>
          <span class="spring" />
          {answering ? (
            <button type="button" class="send" aria-label={words.stop} title={words.stop} disabled={!answering.answerId} onClick={() => void stop(answering)}>
              <Icon name="stop" />
            </button>
          ) : (
            <button type="submit" class="send" aria-label={words.send} title={words.send} disabled={!draft.value.trim()}>
              <Icon name="send" />
            </button>
          )}
        </div>
        {(filtering.value || isNarrowed()) && <div id={filters}><Narrowing open={filtering.value} collection={agent.value && agentCollection.value} /></div>}
        <div id={settings} hidden={!more.value}>{more.value && <Settings />}</div>
      </div>
    </form>
  );
}

function CollectionChoice() {
  const names = collectionNames();
  if (agent.value) return null;
  return (
    <label class="pick">
      <Icon name="folder" />
      <span class="unseen">{t().ask.collection}</span>
      <select value={chosen.value} onChange={(event) => {
        choose(event.currentTarget.value);
        // The fields of one collection's documents may be none of another's.
        narrowed.value = { ...narrowed.value, values: {} };
      }}>
        {names.map((name) => <option key={name} value={name}>{shownName(name)}</option>)}
      </select>
    </label>
  );
}

function Settings() {
  const words = t().ask;
  const agents = useSignal<{ name: string; collection: string }[]>([]);
  useEffect(() => {
    import("../api/curation").then(({ curation }) => curation.listAgents({ pageSize: 1000 })).then((page) => (agents.value = page.agents), () => undefined);
  }, []);
  const choose = (name: string) => {
    agent.value = name;
    agentCollection.value = agents.value.find((each) => each.name === name)?.collection ?? "";
  };
  return (
    <div class="settings">
      <label>{words.mode}
        <select value={mode.value} onChange={(event) => (mode.value = Number(event.currentTarget.value))}>
          <option value={AnswerMode.UNSPECIFIED}>{words.modeAuto}</option>
          <option value={AnswerMode.INJECTION}>{words.modeInjection}</option>
          <option value={AnswerMode.TOOLS}>{words.modeTools}</option>
        </select>
      </label>
      <label>{words.strict}
        <select value={strictness.value} onChange={(event) => (strictness.value = Number(event.currentTarget.value))}>
          <option value={Strictness.UNSPECIFIED}>{words.strictAuto}</option>
          <option value={Strictness.WITHHOLD}>{words.strictWithhold}</option>
          <option value={Strictness.MARK}>{words.strictMark}</option>
        </select>
      </label>
      <label>{words.agent}
        <select value={agent.value} onChange={(event) => choose(event.currentTarget.value)}>
          <option value="">{words.noAgent}</option>
          {agents.value.map(({ name }) => <option key={name} value={name}>{name}</option>)}
        </select>
      </label>
    </div>
  );
}
