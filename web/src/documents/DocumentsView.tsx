import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { knowledge } from "../api/clients";
import { may } from "../api/credentials";
import { operations } from "../api/operations";
import { number, t } from "../i18n";
import { Confirm, Dialog } from "../ui/Dialog";
import { Icon } from "../ui/icons";
import { notify, notifyError } from "../ui/notices";
import { choose, chosen, collectionNames, collections, DEFAULT, exists, shownName, refreshCollections } from "./collections";
import { DocumentList } from "./DocumentList";
import { DropZone } from "./DropZone";
import { Failures } from "./Failures";
import { UploadList } from "./UploadList";

/** Documents: brought in, followed, mended, removed. */
export default function DocumentsView() {
  const words = t().documents;
  useEffect(() => void refreshCollections(), []);
  return (
    <div class="view">
      <header class="view-head">
        <h1>{words.title}</h1>
        <CollectionBar />
      </header>
      {may("writer") && <DropZone />}
      <UploadList />
      {may("writer") && exists(chosen.value) && <Failures collection={chosen.value} />}
      {exists(chosen.value) && <DocumentList key={chosen.value} collection={chosen.value} />}
    </div>
  );
}

function CollectionBar() {
  const words = t().documents;
  const making = useSignal(false);
  const asking = useSignal<"delete" | "reindex" | "">("");
  const name = chosen.value;
  const found = collections.value.find((collection) => collection.name === name);
  const remove = async () => {
    try {
      await knowledge.deleteCollection({ name });
      choose(DEFAULT);
      await refreshCollections();
    } catch (error) {
      notifyError(error);
    }
  };
  const reindex = async () => {
    try {
      const { documentCount } = await operations.reprocess({ collection: name, fromStage: "parse" });
      notify(words.reindexed(documentCount));
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <div class="bar">
      <label class="pick">
        <Icon name="folder" />
        <span class="unseen">{words.collection}</span>
        <select value={name} onChange={(event) => choose(event.currentTarget.value)}>
          {collectionNames().map((each) => <option key={each} value={each}>{shownName(each)}</option>)}
        </select>
      </label>
      {may("manager") && <button type="button" onClick={() => (making.value = true)}><Icon name="plus" /><span>{words.newCollection}</span></button>}
      {found && may("manager") && (
        <>
          <button type="button" onClick={() => (asking.value = "reindex")}><Icon name="again" /><span>{words.reindex}</span></button>
          <button type="button" onClick={() => (asking.value = "delete")}><Icon name="trash" /><span>{words.deleteCollection}</span></button>
        </>
      )}
      {making.value && <NewCollection onClose={() => (making.value = false)} />}
      {asking.value === "delete" && (
        <Confirm title={words.deleteCollection} question={words.deleteCollectionAsk(shownName(name), number(found?.documentCount ?? 0n))} action={t().common.delete}
          onYes={() => void remove()} onClose={() => (asking.value = "")} />
      )}
      {asking.value === "reindex" && (
        <Confirm title={words.reindex} question={words.reindexAsk(shownName(name))} action={words.reindex} onYes={() => void reindex()} onClose={() => (asking.value = "")} />
      )}
    </div>
  );
}

function NewCollection({ onClose }: { onClose: () => void }) {
  const words = t().documents;
  const name = useSignal("");
  const create = async () => {
    try {
      await knowledge.createCollection({ name: name.value.trim() });
      await refreshCollections();
      choose(name.value.trim());
      onClose();
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Dialog title={words.newCollection} onClose={onClose}>
      <form onSubmit={(event) => (event.preventDefault(), void create())}>
        <label>{words.collectionName}
          <input required maxLength={200} value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} />
        </label>
        <div class="actions">
          <button type="button" onClick={onClose}>{t().common.cancel}</button>
          <button type="submit" class="primary">{t().common.create}</button>
        </div>
      </form>
    </Dialog>
  );
}
