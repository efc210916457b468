import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { may } from "../api/credentials";
import { curation } from "../api/curation";
import type { Deployment } from "../gen/sourcier/gateway/v1/curation_pb";
import { t } from "../i18n";
import { Confirm, Dialog } from "../ui/Dialog";
import { Icon } from "../ui/icons";
import { IconButton } from "../ui/IconButton";
import { notifyError } from "../ui/notices";
import { type CurationWords, curationWords } from "./words";

/** An agent under other names, each with what it does otherwise. */
export function Deployments({ agent }: { agent: string }) {
  const words = curationWords();
  const deployments = useSignal<Deployment[] | null>(null);
  const editing = useSignal<Deployment | "new" | null>(null);
  const deleting = useSignal<Deployment | null>(null);
  const read = () => curation.listDeployments({ agent, pageSize: 500 }).then((page) => (deployments.value = page.deployments), (error: unknown) => {
    deployments.value ??= [];
    notifyError(error);
  });
  useEffect(() => void read(), []);
  const remove = ({ name }: Deployment) => curation.deleteDeployment({ name }).then(read, notifyError);
  return (
    <section class="card" aria-label={words.deployments(agent)}>
      <header class="card-head">
        <h2>{words.deployments(agent)}</h2>
        {may("manager") && <button type="button" onClick={() => (editing.value = "new")}><Icon name="plus" /><span>{words.add}</span></button>}
      </header>
      <p class="quiet card-lead">{words.lead}</p>
      {!deployments.value?.length && <p class="quiet empty">{deployments.value ? words.none : t().common.loading}</p>}
      <ul class="rows">
        {(deployments.value ?? []).map((deployment) => (
          <li key={deployment.deploymentId}>
            <span class="name">{deployment.name}</span>
            <span class="facts">{Object.entries(deployment.overlay).map(([key, value]) => shown(key, value, words)).join(" · ") || words.inherits}</span>
            {may("manager") && (
              <span class="row-actions">
                <IconButton icon="settings" label={words.edit(deployment.name)} onClick={() => (editing.value = deployment)} />
                <IconButton icon="trash" label={`${t().common.delete} ${deployment.name}`} onClick={() => (deleting.value = deployment)} />
              </span>
            )}
          </li>
        ))}
      </ul>
      {editing.value && (
        <Settings agent={agent} deployment={editing.value === "new" ? null : editing.value} onClose={() => (editing.value = null)} onDone={() => void read()} />
      )}
      {deleting.value && (
        <Confirm title={t().common.delete} question={words.removeAsk(deleting.value.name)} action={t().common.delete}
          onYes={() => deleting.value && void remove(deleting.value)} onClose={() => (deleting.value = null)} />
      )}
    </section>
  );
}

function choices(key: string, words: CurationWords): Readonly<Record<string, string>> {
  return key === "mode" ? words.modes : key === "indexing_method" ? words.methods : key === "analyse" ? words.switch : {};
}

function shown(key: string, value: string, words: CurationWords): string {
  return words.pair(words.settings[key] ?? `${key} (${words.unknown})`, choices(key, words)[value] ?? value);
}

function Settings({ agent, deployment, onClose, onDone }: { agent: string; deployment: Deployment | null; onClose: () => void; onDone: () => void }) {
  const words = curationWords();
  const name = useSignal(deployment?.name ?? "");
  const overlay = useSignal<Record<string, string>>({ ...deployment?.overlay });
  const set = (key: string, value: string) => {
    const { [key]: _, ...rest } = overlay.value;
    overlay.value = value ? { ...rest, [key]: value } : rest;
  };
  const save = async () => {
    try {
      if (deployment) await curation.updateDeployment({ name: deployment.name, overlay: overlay.value });
      else await curation.createDeployment({ name: name.value.trim(), agent, overlay: overlay.value });
      onDone();
      onClose();
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Dialog title={deployment ? words.edit(deployment.name) : words.add} onClose={onClose}>
      <form onSubmit={(event) => (event.preventDefault(), void save())}>
        {!deployment && <label>{words.name}<input required maxLength={200} value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} /></label>}
        {(["mode", "indexing_method", "analyse"] as const).map((key) => (
          <label key={key}>{words.settings[key]}
            <select value={overlay.value[key] ?? ""} onChange={(event) => set(key, event.currentTarget.value)}>
              <option value="">{key === "analyse" ? words.inheritService : words.inherit}</option>
              {Object.entries(choices(key, words)).map(([value, label]) => <option key={value} value={value}>{label}</option>)}
            </select>
          </label>
        ))}
        <label>{words.settings.direct_similarity} <small>{words.similarityHint}</small>
          <input type="number" min={0} max={1} step={0.01} placeholder={words.inheritService} value={overlay.value.direct_similarity ?? ""} onInput={(event) => set("direct_similarity", event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button type="button" onClick={onClose}>{t().common.cancel}</button>
          <button type="submit" class="primary">{t().common.save}</button>
        </div>
      </form>
    </Dialog>
  );
}
