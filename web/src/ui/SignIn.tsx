import { useSignal } from "@preact/signals";
import { Code, ConnectError } from "@connectrpc/connect";
import { knowledge } from "../api/clients";
import { enter } from "../api/credentials";
import { explained } from "../api/errors";
import { t } from "../i18n";

/** Asks who is there, where the gateway wants to know. */
export function SignIn({ onIn }: { onIn: () => void }) {
  const words = t().signIn;
  const given = useSignal("");
  const wrong = useSignal("");
  const submit = async () => {
    enter(given.value.trim());
    try {
      await knowledge.listCollections({ pageSize: 1 });
      onIn();
    } catch (error) {
      wrong.value = ConnectError.from(error).code === Code.Unauthenticated ? words.wrong : explained(error);
    }
  };
  return (
    <div class="sign-in">
      <form class="card" onSubmit={(event) => (event.preventDefault(), void submit())}>
        <h1>{words.title}</h1>
        <p class="quiet">{words.lead}</p>
        <label>{words.key}
          <input type="password" required autocomplete="current-password" value={given.value} aria-describedby="sign-in-wrong"
            onInput={(event) => (given.value = event.currentTarget.value)} />
        </label>
        <p id="sign-in-wrong" role="alert" class="reason">{wrong.value}</p>
        <button type="submit" class="primary">{words.enter}</button>
      </form>
    </div>
  );
}
