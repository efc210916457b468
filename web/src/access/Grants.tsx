import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { access } from "../api/access";
import { may } from "../api/credentials";
import { all } from "../api/paging";
import { chosen, collections, shownName } from "../documents/collections";
import { AccessRight, type ApiKey, type Grant } from "../gen/sourcier/gateway/v1/access_pb";
import { dateTime, t } from "../i18n";
import { Confirm, Dialog } from "../ui/Dialog";
import { Icon } from "../ui/icons";
import { notify, notifyError } from "../ui/notices";
import { type AccessWords, accessWords } from "./words";

const RIGHTS = { read: AccessRight.READ, write: AccessRight.WRITE, manage: AccessRight.MANAGE } as const;
type Kind = keyof AccessWords["whoKinds"];

/** Who has which right on which collection; given and taken back. */
export function Grants({ keys }: { keys: ApiKey[] }) {
  const words = accessWords();
  const grants = useSignal<Grant[] | null>(null);
  const only = useSignal("");
  const giving = useSignal(false);
  const taking = useSignal<Grant | null>(null);
  const read = () => all(async (pageToken) => {
    const page = await access.listGrants({ collection: only.value, pageSize: 500, pageToken });
    return { items: page.grants, next: page.nextPageToken };
  }).then((found) => (grants.value = found), (error: unknown) => {
    grants.value ??= [];
    notifyError(error);
  });
  useEffect(() => void read(), [only.value]);
  const take = async (grant: Grant) => {
    try {
      await access.removeGrant({ grantId: grant.grantId });
      notify(words.taken);
      await read();
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <section class="card" aria-label={words.grants}>
      <header class="card-head">
        <h2>{words.grants}</h2>
        <label class="pick"><span class="quiet">{words.of}</span>
          <select value={only.value} onChange={(event) => (only.value = event.currentTarget.value)}>
            <option value="">{words.all}</option>
            {collections.value.map(({ name }) => <option key={name} value={name}>{shownName(name)}</option>)}
          </select>
        </label>
        <button type="button" onClick={() => (giving.value = true)}><Icon name="plus" /><span>{words.give}</span></button>
      </header>
      {!grants.value?.length && <p class="quiet empty">{grants.value ? words.none : t().common.loading}</p>}
      <ul class="rows">
        {(grants.value ?? []).map((grant) => (
          <li key={grant.grantId}>
            <span class="name">{granteeName(grant.grantee, keys, words)}</span>
            <span class="facts">
              <strong>{rightName(grant.right, words)}</strong> · {where(grant, words)} · {[grant.grantedBy && `${words.by} ${granteeName(grant.grantedBy, keys, words)}`, dateTime(grant.grantedAt?.seconds)].filter(Boolean).join(", ")}
            </span>
            <span class="row-actions">
              <button type="button" aria-label={words.removeNamed(granteeName(grant.grantee, keys, words), rightName(grant.right, words))} onClick={() => (taking.value = grant)}>{words.remove}</button>
            </span>
          </li>
        ))}
      </ul>
      {giving.value && <Giving keys={keys} onClose={() => (giving.value = false)} onDone={() => void read()} />}
      {taking.value && (
        <Confirm title={words.remove} action={words.remove} onClose={() => (taking.value = null)} onYes={() => taking.value && void take(taking.value)}
          question={words.removeAsk(granteeName(taking.value.grantee, keys, words), rightName(taking.value.right, words), where(taking.value, words))} />
      )}
    </section>
  );
}

function where(grant: Grant, words: AccessWords): string {
  return grant.collection ? shownName(grant.collection) : words.all.toLowerCase();
}

function rightName(right: AccessRight, words: AccessWords): string {
  switch (right) {
    case AccessRight.READ: return words.rights.read;
    case AccessRight.WRITE: return words.rights.write;
    case AccessRight.MANAGE: return words.rights.manage;
    case AccessRight.CONVERSATIONS: return words.rights.conversations;
    default: return String(right);
  }
}

/** Tells whether a key still lets somebody in. */
export function isUsable(key: ApiKey): boolean {
  return !key.revokedAt && !isExpired(key);
}

export function isExpired(key: ApiKey): boolean {
  return key.expiresAt !== undefined && Number(key.expiresAt.seconds) * 1000 < Date.now();
}

export function granteeName(grantee: string, keys: ApiKey[], words: AccessWords): string {
  const [kind = "", name = ""] = grantee.split(/:(.*)/s);
  switch (kind) {
    case "everyone": return words.named.everyone;
    case "user": return words.named.user(name);
    case "group": return words.named.group(name);
    case "key": return words.named.key(keys.find((key) => key.keyId === name)?.name ?? name);
    default: return grantee;
  }
}

function Giving({ keys, onClose, onDone }: { keys: ApiKey[]; onClose: () => void; onDone: () => void }) {
  const words = accessWords();
  const kind = useSignal<Kind>("user");
  const name = useSignal("");
  const collection = useSignal(collections.value.some((each) => each.name === chosen.value) ? chosen.value : collections.value[0]?.name ?? "");
  const right = useSignal<keyof typeof RIGHTS>("read");
  const useful = keys.filter(isUsable);
  const kinds = (Object.keys(words.whoKinds) as Kind[]).filter((each) => each !== "key" || useful.length > 0);
  const give = async () => {
    try {
      const grantee = kind.value === "everyone" ? "everyone" : `${kind.value}:${name.value.trim()}`;
      await access.addGrant({ grantee, collection: collection.value, right: RIGHTS[right.value] });
      notify(words.given);
      onDone();
      onClose();
    } catch (error) {
      notifyError(error);
    }
  };
  return (
    <Dialog title={words.give} onClose={onClose}>
      <form onSubmit={(event) => (event.preventDefault(), void give())}>
        <label>{words.who}
          <select value={kind.value} onChange={(event) => {
            kind.value = event.currentTarget.value as Kind;
            name.value = kind.value === "key" ? useful[0]?.keyId ?? "" : "";
          }}>
            {kinds.map((each) => <option key={each} value={each}>{words.whoKinds[each]}</option>)}
          </select>
        </label>
        {kind.value === "everyone" ? <p class="quiet">{words.whoHints.everyone}</p> : (
          <label>{words.whoHints[kind.value]}
            {kind.value === "key" ? (
              <select value={name.value} onChange={(event) => (name.value = event.currentTarget.value)}>
                {useful.map((key) => <option key={key.keyId} value={key.keyId}>{key.name}</option>)}
              </select>
            ) : <input required maxLength={500} autocomplete="off" value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} />}
          </label>
        )}
        <label>{words.collection}
          <select required value={collection.value} onChange={(event) => (collection.value = event.currentTarget.value)}>
            {collections.value.map((each) => <option key={each.name} value={each.name}>{shownName(each.name)}</option>)}
            {may("operator") && <option value="">{words.all}</option>}
          </select>
        </label>
        <fieldset>
          <legend>{words.right}</legend>
          {(Object.keys(RIGHTS) as (keyof typeof RIGHTS)[]).map((each) => (
            <label key={each} class="choice">
              <input type="radio" name="right" checked={right.value === each} onChange={() => (right.value = each)} />
              <span><strong>{words.rights[each]}</strong><small>{words.rightHints[each]}</small></span>
            </label>
          ))}
        </fieldset>
        <p class="quiet">{words.roleNote}</p>
        <div class="actions">
          <button type="button" onClick={onClose}>{t().common.cancel}</button>
          <button type="submit" class="primary">{words.give}</button>
        </div>
      </form>
    </Dialog>
  );
}
