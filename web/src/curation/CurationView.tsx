import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { knowledge } from "../api/clients";
import { may } from "../api/credentials";
import { curation } from "../api/curation";
import { chosen as chosenCollection, collectionNames, exists, refreshCollections, shownName } from "../documents/collections";
import { type Agent, IndexingMethod } from "../gen/sourcier/gateway/v1/curation_pb";
import { t } from "../i18n";
import { Confirm, Dialog } from "../ui/Dialog";
import { Icon } from "../ui/icons";
import { IconButton } from "../ui/IconButton";
import { notifyError } from "../ui/notices";
import { Deployments } from "./Deployments";
import { FaqList } from "./FaqList";

/** Agents, and the answers that people validated for them. */
export default function CurationView() {
  const words = t().curation;
  const agents = useSignal<Agent[] | null>(null);
  const chosen = useSignal("");
  const making = useSignal(false);
  const deleting = useSignal<Agent | null>(null);
  const read = () => curation.listAgents({ pageSize: 1000 }).then((page) => {
    agents.value = page.agents;
    if (!page.agents.some((agent) => agent.name === chosen.value)) chosen.value = page.agents[0]?.name ?? "";
  }, notifyError);
  useEffect(() => {
    void read();
    void refreshCollections();
  }, []);
  const remove = (agent: Agent) => curation.deleteAgent({ name: agent.name }).then(read, notifyError);
  const methods: Record<number, string> = {
    [IndexingMethod.NONE]: words.methods.none, [IndexingMethod.CLASSIC]: words.methods.classic, [IndexingMethod.QA_ATOMIC]: words.methods.qa,
  };
  return (
    <div class="view">
      <header class="view-head">
        <h1>{words.title}</h1>
        {may("manager") && <div class="bar"><button type="button" onClick={() => (making.value = true)}><Icon name="plus" /><span>{words.newAgent}</span></button></div>}
      </header>
      <p class="lead">{words.lead}</p>
      <section class="card" aria-label={words.agents}>
        <header class="card-head"><h2>{words.agents}</h2></header>
        {!agents.value?.length && <p class="quiet empty">{agents.value ? words.noAgents : t().common.loading}</p>}
        <ul class="rows">
          {(agents.value ?? []).map((agent) => (
            <li key={agent.agentId} class={agent.name === chosen.value ? "current" : ""}>
              <button type="button" class="name link" aria-pressed={agent.name === chosen.value} onClick={() => (chosen.value = agent.name)}>{agent.name}</button>
              <span class="facts">
                {[agent.description, shownName(agent.collection), methods[agent.indexingMethod], words.faqCount(agent.faqCount), agent.flaggedCount ? words.flagged(agent.flaggedCount) : ""].filter(Boolean).join(" · ")}
              </span>
              {may("manager") && <span class="row-actions"><IconButton icon="trash" label={`${t().common.delete} ${agent.name}`} onClick={() => (deleting.value = agent)} /></span>}
            </li>
          ))}
        </ul>
      </section>
      {chosen.value && <Deployments key={`deployments-${chosen.value}`} agent={chosen.value} />}
      {chosen.value && <FaqList key={chosen.value} agent={chosen.value} onChange={() => void read()} />}
      {making.value && <NewAgent onClose={() => (making.value = false)} onMade={(name) => (chosen.value = name, void read())} />}
      {deleting.value && (
        <Confirm title={t().common.delete} question={words.deleteAgentAsk(deleting.value.name)} action={t().common.delete}
          onYes={() => deleting.value && void remove(deleting.value)} onClose={() => (deleting.value = null)} />
      )}
    </div>
  );
}

function NewAgent({ onClose, onMade }: { onClose: () => void; onMade: (name: string) => void }) {
  const words = t().curation;
  const name = useSignal("");
  const description = useSignal("");
  const collection = useSignal(chosenCollection.value);
  const method = useSignal(IndexingMethod.NONE);
  const create = async () => {
    try {
      // `default` is offered before its first document makes it.
      await refreshCollections();
      if (!exists(collection.value)) await knowledge.createCollection({ name: collection.value });
      await curation.createAgent({ name: name.value.trim(), description: description.value.trim(), collection: collection.value, indexingMethod: method.value });
      onMade(name.value.trim());
      onClose();
    } catch (error) {
      notifyError(error);
    }
  };
  const { methods } = words;
  const choices = [
    { value: IndexingMethod.NONE, label: methods.none, why: methods.noneWhy },
    { value: IndexingMethod.CLASSIC, label: methods.classic, why: methods.classicWhy },
    { value: IndexingMethod.QA_ATOMIC, label: methods.qa, why: methods.qaWhy },
  ];
  return (
    <Dialog title={words.newAgent} onClose={onClose}>
      <form onSubmit={(event) => (event.preventDefault(), void create())}>
        <label>{words.name}<input required maxLength={200} value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} /></label>
        <label>{words.description} <small>({t().common.optional})</small>
          <textarea rows={2} maxLength={2000} value={description.value} onInput={(event) => (description.value = event.currentTarget.value)} />
        </label>
        <label>{words.collection}
          <select value={collection.value} onChange={(event) => (collection.value = event.currentTarget.value)}>
            {collectionNames().map((each) => <option key={each} value={each}>{shownName(each)}</option>)}
          </select>
        </label>
        <fieldset>
          <legend>{words.method}</legend>
          {choices.map((choice) => (
            <label key={choice.value} class="choice">
              <input type="radio" name="method" checked={method.value === choice.value} onChange={() => (method.value = choice.value)} />
              <span><strong>{choice.label}</strong><small>{choice.why}</small></span>
            </label>
          ))}
        </fieldset>
        <div class="actions">
          <button type="button" onClick={onClose}>{t().common.cancel}</button>
          <button type="submit" class="primary">{t().common.create}</button>
        </div>
      </form>
    </Dialog>
  );
}
