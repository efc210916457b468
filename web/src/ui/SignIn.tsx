import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { back, enter, failed, provider, session } from "../api/credentials";
import { t } from "../i18n";

const LOOK_MS = 2_000;

/** Asks who is there, where the gateway wants to know: at the identity provider where there is one, or by a key. */
export function SignIn({ onIn }: { onIn: () => void }) {
  const words = t().signIn;
  const byKey = <ByKey onIn={onIn} />;
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

/** Asks again, over the page as it was: nothing that was written in it is lost. */
export function SignInAgain() {
  const words = t().signIn;
  const away = useSignal(false);
  useEffect(() => {
    if (!away.value) return;
    const timer = setInterval(() => void back().catch(() => undefined), LOOK_MS);
    return () => clearInterval(timer);
  }, [away.value]);
  const byKey = <ByKey onIn={() => void back()} />;
  return (
    <div class="sign-in-again">
      <p>{words.leadAgain}</p>
      {session.value.provider ? (
        <>
          <a class="button primary" href={provider()} target="_blank" onClick={() => (away.value = true)}>{words.newTab}</a>
          <p class="quiet" role="status">{away.value ? words.waiting : ""}</p>
          <details><summary>{words.withKey}</summary>{byKey}</details>
        </>
      ) : byKey}
    </div>
  );
}

function ByKey({ onIn }: { onIn: () => void }) {
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
  return (
    <form onSubmit={(event) => (event.preventDefault(), void submit())}>
      <label>{words.key}
        <input type="password" required autocomplete="current-password" value={given.value} aria-describedby="sign-in-wrong"
          onInput={(event) => (given.value = event.currentTarget.value)} />
      </label>
      <p id="sign-in-wrong" role="alert" class="reason">{wrong.value}</p>
      <button type="submit" class={session.value.provider ? "" : "primary"}>{words.enter}</button>
    </form>
  );
}
