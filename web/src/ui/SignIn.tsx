import { useSignal } from "@preact/signals";
import { enter, failed, provider, session } from "../api/credentials";
import { t } from "../i18n";

/** Asks who is there, where the gateway wants to know: at the identity provider where there is one, or by a key. */
export function SignIn({ onIn }: { onIn: () => void }) {
  const words = t().signIn;
  const given = useSignal("");
  const wrong = useSignal("");
  const submit = async () => {
    try {
      if (await enter(given.value.trim())) onIn();
      else wrong.value = words.wrong;
    } catch (error) {
      wrong.value = error instanceof Error && error.message ? error.message : words.away;
    }
  };
  const byKey = (
    <form onSubmit={(event) => (event.preventDefault(), void submit())}>
      <label>{words.key}
        <input type="password" required autocomplete="current-password" value={given.value} aria-describedby="sign-in-wrong"
          onInput={(event) => (given.value = event.currentTarget.value)} />
      </label>
      <p id="sign-in-wrong" role="alert" class="reason">{wrong.value}</p>
      <button type="submit" class={session.value.provider ? "" : "primary"}>{words.enter}</button>
    </form>
  );
  return (
    <div class="sign-in">
      <div class="card">
        <h1>{words.title}</h1>
        <p class="quiet">{session.value.provider ? words.leadProvider : words.lead}</p>
        {failed.value && <p role="alert" class="reason">{words.failed}</p>}
        {session.value.provider ? (
          <>
            <a class="button primary" href={provider()}>{words.provider}</a>
            <details><summary>{words.withKey}</summary>{byKey}</details>
          </>
        ) : byKey}
      </div>
    </div>
  );
}
