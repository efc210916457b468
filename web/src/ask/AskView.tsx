import { useEffect, useRef } from "preact/hooks";
import { collections, collectionsRead } from "../documents/collections";
import { t } from "../i18n";
import { address, route } from "../route";
import { SourcePanel } from "../source/SourcePanel";
import { opened } from "../source/state";
import { AnswerCard } from "./AnswerCard";
import { Examples } from "./Examples";
import { Composer } from "./Composer";
import { loading, open, turns } from "./session";
import { isOpen } from "./turn";

/** Pixels from the end of the page that count as its end. */
const NEAR_END = 40;

/** A conversation, and the source that is open beside it. */
export function AskView() {
  const { conversationId } = route.value;
  const end = useRef<HTMLDivElement>(null);
  const count = turns.value.length;
  useEffect(() => {
    opened.value = null;
    void open(conversationId);
  }, [conversationId]);
  useEffect(() => {
    if (count) end.current?.scrollIntoView({ block: "end" });
  }, [count]);
  useFollowing(end);
  const words = t().ask;
  const empty = !count && !loading.value && !conversationId;
  return (
    <div class={opened.value ? "ask with-source" : "ask"}>
      <div class={empty ? "conversation fresh" : "conversation"}>
        {empty ? <Welcome /> : (
          <>
            <h1 class="unseen">{words.answer}</h1>
            {loading.value && <p class="quiet">{t().common.loading}</p>}
            <div class="turns">{turns.value.map((turn) => <AnswerCard key={turn.key} turn={turn} />)}</div>
          </>
        )}
        <Composer />
        <div ref={end} class="end" />
      </div>
      {opened.value && <SourcePanel key={opened.value.key} opened={opened.value} />}
    </div>
  );
}

function Welcome() {
  const words = t().ask;
  const nothing = collectionsRead.value && !collections.value.some((collection) => collection.documentCount > 0n);
  return (
    <div class="welcome">
      <h1>{words.title}</h1>
      <p>{words.lead}</p>
      {nothing && (
        <p class="hint">{words.emptyLead} <a href={address("documents")}>{words.emptyLink}</a> {words.emptyEnd}</p>
      )}
      {!nothing && <Examples />}
    </div>
  );
}

/** Keeps the end of an answer in view while it is written, unless its reader scrolled away. */
function useFollowing(end: { current: HTMLDivElement | null }) {
  const following = useRef(true);
  useEffect(() => {
    let before = scrollY;
    // The answer may have grown since the page was last moved: only a move up says that its reader left.
    const scrolled = () => {
      if (scrollY < before) following.current = false;
      if (innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR_END) following.current = true;
      before = scrollY;
    };
    addEventListener("scroll", scrolled, { passive: true });
    return () => removeEventListener("scroll", scrolled);
  }, []);
  const last = turns.value.at(-1);
  useEffect(() => void (following.current = true), [last?.key]);
  useEffect(() => {
    if (last && isOpen(last) && following.current) end.current?.scrollIntoView({ block: "end" });
  }, [last]);
}
