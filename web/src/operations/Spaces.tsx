import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { spaces } from "../api/spaces";
import { shownName } from "../documents/collections";
import { type Space, type SpaceBuild, SpaceBuildState } from "../gen/sourcier/gateway/v1/spaces_pb";
import { number, t } from "../i18n";
import { notifyError } from "../ui/notices";
import { operationWords } from "./words";

const STATES = {
  [SpaceBuildState.BUILDING]: "building", [SpaceBuildState.READY]: "ready", [SpaceBuildState.LIVE]: "live",
  [SpaceBuildState.RETIRED]: "retired", [SpaceBuildState.DROPPED]: "dropped", [SpaceBuildState.FAILED]: "failed",
} as const;
const LOOK_MS = 5_000;

/** Which model each collection is searched with, and the moves from one to another. */
export function Spaces() {
  const words = operationWords();
  const found = useSignal<{ spaces: Space[]; builds: SpaceBuild[] } | null>(null);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let left = false;
    const read = () => spaces.listSpaces({}).then((answer) => {
      found.value = answer;
      // While one moves, it is looked at again.
      if (!left && answer.builds.some((build) => build.state === SpaceBuildState.BUILDING)) timer = setTimeout(() => void read(), LOOK_MS);
    }, (error: unknown) => {
      found.value ??= { spaces: [], builds: [] };
      notifyError(error);
    });
    void read();
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, []);
  const used = (found.value?.spaces ?? []).filter((space) => space.collections.length || space.served);
  const builds = (found.value?.builds ?? []).filter((build) => build.state !== SpaceBuildState.RETIRED && build.state !== SpaceBuildState.DROPPED);
  if (found.value && !used.length && !builds.length) return null;
  return (
    <section class="card" aria-label={words.spaces}>
      <header class="card-head"><h2>{words.spaces}</h2></header>
      {!found.value && <p class="quiet empty">{t().common.loading}</p>}
      <ul class="rows">
        {builds.map((build) => (
          <li key={build.buildId}>
            <span class="name">{words.building(shownName(build.collection))}</span>
            <span class="facts">
              {[build.spaceId, words.buildStates[STATES[build.state as keyof typeof STATES] ?? "building"], words.done(number(build.chunksDone), number(build.chunksTotal))].join(" · ")}
            </span>
            {build.state === SpaceBuildState.BUILDING && <progress max={Number(build.chunksTotal) || 1} value={Number(build.chunksDone)} aria-label={words.building(shownName(build.collection))} />}
            {build.error && <p class="reason" lang="en">{build.error}</p>}
          </li>
        ))}
        {used.map((space) => (
          <li key={space.spaceId}>
            <span class="name" title={space.spaceId}>{space.model}</span>
            <span class="facts">{[space.collections.map(shownName).join(", ") || words.noCollections, words.dimension(space.dimension)].join(" · ")}</span>
            <span class={space.served ? "row-actions state ok" : "row-actions state failed"}>{space.served ? words.served : words.notServed}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}
