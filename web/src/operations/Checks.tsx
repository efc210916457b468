import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { operations } from "../api/operations";
import { type Check, CheckState } from "../gen/sourcier/gateway/v1/operations_pb";
import { t } from "../i18n";
import { Icon } from "../ui/icons";
import { notifyError } from "../ui/notices";
import { operationWords } from "./words";

/** What the service finds when it looks at itself: each fault with what follows from it and what mends it. */
export function Checks() {
  const words = operationWords();
  const checks = useSignal<Check[] | null>(null);
  const looking = useSignal(false);
  const look = async () => {
    looking.value = true;
    try {
      checks.value = (await operations.diagnose({})).checks;
    } catch (error) {
      checks.value ??= [];
      notifyError(error);
    } finally {
      looking.value = false;
    }
  };
  useEffect(() => void look(), []);
  const found = checks.value ?? [];
  const amiss = found.filter((check) => check.state !== CheckState.OK);
  const fine = found.filter((check) => check.state === CheckState.OK);
  return (
    <section class="card" aria-label={words.checks}>
      <header class="card-head">
        <h2>{words.checks}</h2>
        <p class="quiet" role="status">{!checks.value ? t().common.loading : amiss.length ? words.amiss(amiss.length) : found.length ? words.allWell : ""}</p>
        <button type="button" class="link" disabled={looking.value} onClick={() => void look()}>{words.look}</button>
      </header>
      <ul class="rows">{amiss.map((check, place) => <Row key={place} check={check} />)}</ul>
      {fine.length > 0 && (
        <details class="past"><summary>{words.fine(fine.length)}</summary><ul class="rows">{fine.map((check, place) => <Row key={place} check={check} />)}</ul></details>
      )}
    </section>
  );
}

function Row({ check }: { check: Check }) {
  const words = operationWords();
  const state = check.state === CheckState.OK ? "ok" : check.state === CheckState.FAILED ? "failed" : "warning";
  return (
    <li class={state}>
      <span class="name">{words.names[check.name] ?? check.name}</span>
      <span class="facts" lang="en">{check.finding}{check.consequence && ` — ${check.consequence}`}</span>
      <span class="row-actions state"><Icon name={state === "ok" ? "check" : "warning"} />{words.states[state]}</span>
      {check.remedy && <span class="facts">{words.remedy} <code>{check.remedy}</code></span>}
    </li>
  );
}
