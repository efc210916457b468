import { useSignal } from "@preact/signals";
import { access } from "../api/access";
import { collections, shownName } from "../documents/collections";
import { AccountRole, type ApiKey } from "../gen/sourcier/gateway/v1/access_pb";
import { dateTime, t } from "../i18n";
import { copy } from "../ui/copying";
import { Confirm, Dialog } from "../ui/Dialog";
import { Icon } from "../ui/icons";
import { switched } from "../ui/lists";
import { notify, notifyError } from "../ui/notices";
import { granteeName, isExpired, isUsable } from "./Grants";
import { type AccessWords, accessWords } from "./words";

const ROLES = { reader: AccountRole.READER, writer: AccountRole.WRITER, manager: AccountRole.MANAGER, operator: AccountRole.OPERATOR } as const;
type RoleName = keyof typeof ROLES;
const DAYS = [30, 90, 365, 0] as const;
const DAY_SECONDS = 86_400;

/** The keys that programs show: made, and revoked. */
export function Keys({ keys, onChange }: { keys: ApiKey[] | null; onChange: () => void }) {
  const words = accessWords();
  const making = useSignal(false);
  const revoking = useSignal<ApiKey | null>(null);
  const revoke = async (key: ApiKey) => {
    try {
      await access.revokeKey({ keyId: key.keyId });
      notify(words.revokedNow);
      onChange();
    } catch (error) {
      notifyError(error);
    }
  };
  const useful = (keys ?? []).filter(isUsable);
  const past = (keys ?? []).filter((key) => !useful.includes(key));
  return (
    <section class="card" aria-label={words.keys}>
      <header class="card-head">
        <h2>{words.keys}</h2>
        <button type="button" onClick={() => (making.value = true)}><Icon name="plus" /><span>{words.newKey}</span></button>
      </header>
      {!useful.length && <p class="quiet empty">{keys ? words.noKeys : t().common.loading}</p>}
      <ul class="rows">{useful.map((key) => <Row key={key.keyId} apiKey={key} keys={keys ?? []} onRevoke={() => (revoking.value = key)} />)}</ul>
      {past.length > 0 && (
        <details class="past"><summary>{words.past(past.length)}</summary><ul class="rows">{past.map((key) => <Row key={key.keyId} apiKey={key} keys={keys ?? []} />)}</ul></details>
      )}
      {making.value && <NewKey onClose={() => (making.value = false)} onDone={onChange} />}
      {revoking.value && (
        <Confirm title={words.revoke} question={words.revokeAsk(revoking.value.name)} action={words.revoke}
          onYes={() => revoking.value && void revoke(revoking.value)} onClose={() => (revoking.value = null)} />
      )}
    </section>
  );
}

function Row({ apiKey: key, keys, onRevoke }: { apiKey: ApiKey; keys: ApiKey[]; onRevoke?: () => void }) {
  const words = accessWords();
  const role = (Object.keys(ROLES) as RoleName[]).find((name) => ROLES[name] === key.role);
  const state = key.revokedAt ? `${words.revoked}, ${dateTime(key.revokedAt.seconds)}` : isExpired(key) ? `${words.expired}, ${dateTime(key.expiresAt?.seconds)}`
    : key.expiresAt ? words.until(dateTime(key.expiresAt.seconds)) : words.noEnd;
  return (
    <li>
      <span class="name">{key.name}</span>
      <span class="facts">{[role && words.roles[role], state, words.madeBy(key.createdBy && granteeName(key.createdBy, keys, words), dateTime(key.createdAt?.seconds))].filter(Boolean).join(" · ")}</span>
      <span class="row-actions">{onRevoke && <button type="button" aria-label={words.revokeNamed(key.name)} onClick={onRevoke}>{words.revoke}</button>}</span>
    </li>
  );
}

function NewKey({ onClose, onDone }: { onClose: () => void; onDone: () => void }) {
  const words = accessWords();
  const name = useSignal("");
  const role = useSignal<RoleName>("reader");
  const picked = useSignal<readonly string[]>([]);
  const days = useSignal<number>(90);
  const secret = useSignal("");
  const make = async () => {
    try {
      const made = await access.createKey({
        name: name.value.trim(), role: ROLES[role.value], collections: role.value === "operator" ? [] : [...picked.value],
        validFor: days.value ? { seconds: BigInt(days.value * DAY_SECONDS) } : undefined,
      });
      secret.value = made.secret;
      onDone();
    } catch (error) {
      notifyError(error);
    }
  };
  const take = (wanted: string) => (picked.value = switched(picked.value, wanted));
  if (secret.value) return <Secret secret={secret.value} words={words} onClose={onClose} />;
  return (
    <Dialog title={words.newKey} onClose={onClose}>
      <form onSubmit={(event) => (event.preventDefault(), void make())}>
        <label>{words.keyName}<input required maxLength={200} autocomplete="off" value={name.value} onInput={(event) => (name.value = event.currentTarget.value)} /></label>
        <fieldset>
          <legend>{words.role}</legend>
          {(Object.keys(ROLES) as RoleName[]).map((each) => (
            <label key={each} class="choice">
              <input type="radio" name="role" checked={role.value === each} onChange={() => (role.value = each)} />
              <span><strong>{words.roles[each]}</strong><small>{words.roleHints[each]}</small></span>
            </label>
          ))}
        </fieldset>
        {role.value !== "operator" && (
          <fieldset>
            <legend>{words.onCollections}</legend>
            <div class="checks-list">
              {collections.value.map((each) => (
                <label key={each.name} class="check"><input type="checkbox" checked={picked.value.includes(each.name)} onChange={() => take(each.name)} /><span>{shownName(each.name)}</span></label>
              ))}
            </div>
            {!picked.value.length && <small class="quiet">{words.noCollections}</small>}
          </fieldset>
        )}
        <label>{words.validity}
          <select value={days.value} onChange={(event) => (days.value = Number(event.currentTarget.value))}>
            {DAYS.map((count) => <option key={count} value={count}>{count ? words.days(count) : words.forever}</option>)}
          </select>
        </label>
        <div class="actions">
          <button type="button" onClick={onClose}>{t().common.cancel}</button>
          <button type="submit" class="primary">{t().common.create}</button>
        </div>
      </form>
    </Dialog>
  );
}

function Secret({ secret, words, onClose }: { secret: string; words: AccessWords; onClose: () => void }) {
  return (
    <Dialog title={words.newKey} onClose={onClose}>
      <p class="hint">{words.shownOnce}</p>
      <label class="secret">{words.secret}
        <input readOnly value={secret} onFocus={(event) => event.currentTarget.select()} />
      </label>
      <div class="actions">
        <button type="button" onClick={() => void copy(secret)}><Icon name="copy" /><span>{words.copy}</span></button>
        <button type="button" class="primary" onClick={onClose}>{words.done}</button>
      </div>
    </Dialog>
  );
}
