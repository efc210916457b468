import { useEffect, useRef } from "preact/hooks";
import { collections, collectionsRead } from "../documents/collections";
import { t } from "../i18n";
import { address, route } from "../route";
import { SourcePanel } from "../source/SourcePanel";
import { opened } from "../source/state";
import { AnswerCard } from "./AnswerCard";
import { Composer } from "./Composer";
import { loading, open, turns } from "./session";
import { isOpen } from "./turn";

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
    </div>
  );
}

/** Keeps the end of an answer in view while it is written, unless its reader scrolled away. */
function useFollowing(end: { current: HTMLDivElement | null }) {
  const following = useRef(true);
  useEffect(() => {
    const scrolled = () => {
      following.current = innerHeight + scrollY >= document.documentElement.scrollHeight - 120;
    };
    addEventListener("scroll", scrolled, { passive: true });
    return () => removeEventListener("scroll", scrolled);
  }, []);
  const last = turns.value.at(-1);
  useEffect(() => {
    if (last && isOpen(last) && following.current) end.current?.scrollIntoView({ block: "end" });
  }, [last]);
}
