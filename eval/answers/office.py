"""Questions of an office over its small documents, answered in this process: no service, no language model.

`eval/data/office.jsonl` has families of notes, contracts, tariffs, minutes and rules, written without a look at the
rules that answer, one half of them held apart from whoever tunes. Each question has with it what a model that misreads
the documents says to it. The gateway's own `Answerer` answers twice: with no model, which is what rules alone can do,
and with that sentence as the model's text over vectors that find every passage close, which is the worst that a model
can do.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from eval.answers.in_parts import EMBEDDING, OPTIONS, Collection
from eval.sets.halves import rows_of
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.answerer import Answerer
from sourcier.services.gateway.events import Citation, Event, Extract, Finished, Outcome, Quoted, Refused, Token
from sourcier.services.gateway.evidence.checking import Thresholds
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.history import language_of
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.peers.reranking import RerankCandidate
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.retrieval.query import Mode, Query
from sourcier.services.index.search.filters import Filters

_DATA = Path(__file__).parents[1] / "data"
SETS: Mapping[str, Path] = {name: _DATA / f"{name}.jsonl" for name in ("office", "misread", "asked")}
"""The first set, one of other documents whose questions have a true sentence each, too, and one of questions as people
type them, for which no model is made up: `asked` asks the real one."""
PASSAGES = 5
_OPTIONS = replace(
    OPTIONS, support=Thresholds(score=0.39, vectors=0.29, share=0.4), extract_answers=True,
)
"""The service's own thresholds."""
_WORDS: Mapping[str, str] = {
    "oui sauf exception": "limited", "non sauf exception": "limited", "yes with an exception": "limited",
    "no with an exception": "limited", "oui": "yes", "yes": "yes", "non": "no", "no": "no",
    "seulement sous condition": "limited", "seulement dans ce cas": "limited", "only on a condition": "limited",
    "only in this case": "limited", "pas encore": "planned", "not yet": "planned", "rien n est decide": "reported",
    "rien n'est décidé": "reported", "nothing is decided": "reported", "le document parle du passé": "past",
    "les documents trouvés ne le disent pas": "untold", "the documents found do not say": "untold",
}
"""How an answer begins, and what that says to a yes/no question."""
OUTCOMES = ("right", "quoted", "refused", "other", "warned", "contradicts")


class Misreading:
    """Peers whose language model writes one sentence, and whose vectors find every passage close."""

    ranker = ""

    def __init__(self, said: str) -> None:
        """Take what the language model writes; nothing is as where no engine runs."""
        self._said = said

    @asynccontextmanager
    async def generate(self, *_: object, **__: object) -> AsyncIterator[AsyncIterator[str]]:
        """Write the sentence."""
        if not self._said:
            raise Unavailable("no language model")
        yield self._parts()

    async def _parts(self) -> AsyncIterator[str]:
        yield self._said

    async def embed_query(self, *_: object, **__: object) -> QueryEmbedding:
        """Return a vector that tells nothing."""
        return EMBEDDING

    async def late_interaction(
        self, text: str, query: QueryEmbedding, candidates: Sequence[RerankCandidate], **_: object
    ) -> dict[str, float]:
        """Return the highest score for each passage: vectors object to nothing."""
        return {each.chunk_id: 1.0 for each in candidates}


@dataclass(frozen=True)
class Shown:
    """What one question came to."""

    half: str
    family: str
    entry: Mapping[str, Any]
    answer: str
    """Shown as the answer: the words, or what is quoted in their place."""
    extract: str
    """Shown before it, marked as no answer."""
    refused: bool
    by_model: bool
    """Whether the misreading model's sentence is shown."""
    warned: bool
    """Whether it is shown with what its passage does not mention."""
    is_true: bool = False
    """Whether the model's sentence is the true one."""

    @property
    def outcome(self) -> str:
        """Return one of `OUTCOMES`; `other`: something else of the documents is quoted, which says nothing false."""
        kind = self.entry["kind"]
        if self.by_model:
            # A misreading holds nothing that is right.
            if self.is_true:
                return "warned" if self.warned else "right"
            return "warned" if self.warned else "contradicts"
        if "verdicts" in self.entry:
            return self._by_word()
        values = [any(_holds(self.answer, value) for value in each) for each in self.entry["values"]]
        if all(values) and values:
            if kind == "joined":
                return "right" if not self.entry["clause"] or _holds(self.answer, self.entry["clause"]) else "quoted"
            return "right"
        if not self.answer:
            held = [any(_holds(self.extract, value) for value in each) for each in self.entry["values"]]
            return "quoted" if self.extract and all(held) else "refused"
        if any(_holds(self.answer, value) for value in self.entry.get("wrong", ())) and not self.is_quoted:
            return "contradicts"
        return "other"

    @property
    def is_quoted(self) -> bool:
        """Whether the answer only quotes, and says so."""
        return self.answer.casefold().startswith((
            "«", "“",
            "voici ce que disent", "this is what the documents say", "les documents trouvés ne le disent",
            "the documents found do not say", "voici le passage", "this is the passage",
        ))

    def _by_word(self) -> str:
        wanted = self.entry["verdicts"]
        word = self.word
        if word:
            if word in wanted or (word == "untold" and "untold" in wanted):
                return "right"
            if word == "reported" and {"planned", "no"} & set(wanted):
                return "right"
            if word == "untold":
                return "quoted"
            return "contradicts"
        shown = self.answer or self.extract
        if not shown:
            return "right" if "untold" in wanted else "refused"
        if wanted == ["untold"]:
            if self.answer and not self.is_quoted and any(_holds(shown, each) for each in self.entry.get("wrong", ())):
                return "contradicts"
            return "quoted" if self.answer else "right"
        clause = self.entry["clause"]
        return "quoted" if not clause or _holds(shown, clause) else "other"

    @property
    def word(self) -> str:
        """What the answer's first words say to a yes/no question; empty where they say nothing."""
        said = " ".join(re.sub(r"[,:]", " ", self.answer.replace("’", "'")).casefold().split())
        return next((told for begin, told in _WORDS.items() if re.match(rf"{begin}\b", said)), "")


def _holds(text: str, value: str) -> bool:
    """Return whether a text holds a value, figures not as part of longer ones."""
    told, wanted = (" ".join(each.replace("’", "'").casefold().split()) for each in (text, value))
    before = r"(?<![\d,.])(?<!\d )" if wanted[0].isdigit() else ""
    after = r"(?![\d]|[,.]\d)" if wanted[-1].isdigit() else r"(?!\w)" if wanted[-1].isalnum() else ""
    return re.search(before + re.escape(wanted) + after, told) is not None


def shown(*, half: str = "", says: str = "", of: str = "office") -> list[Shown]:
    """Return what each question of a set, or of one half of it, comes to.

    `says` names what of the set the model says: `says`, which is false, or `true`; nothing where there is no model.
    """
    return asyncio.run(_all(SETS[of], half, says))


async def _all(path: Path, half: str, says: str) -> list[Shown]:
    found = []
    for row in rows_of(path, half=half):
        collection = Collection(row["documents"], whole=True)
        for entry in row["questions"]:
            said = entry[says] if says else ""
            answerer = Answerer(collection, Misreading(said), Marking())  # type: ignore[arg-type]
            each = await _shown(answerer, row, entry, said)
            found.append(replace(each, is_true=says == "true"))
    return found


async def _shown(answerer: Answerer, row: Mapping[str, Any], entry: Mapping[str, Any], said: str) -> Shown:
    query = Query(
        tenant="eval", question=entry["question"], collection="office", filters=Filters(), mode=Mode.RERANKED,
        limit=PASSAGES, candidates=20, language=language_of(entry["question"]),
    )
    events: list[Event] = []
    try:
        async with aclosing(answerer.answer(
            query, _OPTIONS, answer_id="eval", deadline=Deadline.after(600)
        )) as answered:
            async for event in answered:
                events.append(event)
    except Unavailable:
        pass  # the language model, where it was to answer
    text = "".join(event.text for event in events if isinstance(event, Token))
    quoted = " ".join(event.text for event in events if isinstance(event, Quoted))
    extracts = [event for event in events if isinstance(event, Extract) and not event.is_answer]
    outcomes = [event.outcome for event in events if isinstance(event, Finished)]
    return Shown(
        row["half"], row["family"], entry, " ".join(each for each in (text, quoted) if each),
        " ".join(each.text for each in extracts),
        any(isinstance(event, Refused) for event in events) or Outcome.REFUSED in outcomes,
        bool(said) and said.rstrip(".") in text,
        any(isinstance(event, Citation) and not event.finding <= Finding.UNCHECKED for event in events),
    )


def table(answers: Sequence[Shown]) -> str:
    """Return the outcomes by half and kind, as Markdown."""
    counted = Counter((each.half, each.entry["kind"], each.outcome) for each in answers)
    lines = [f"| half | asks for | questions | {' | '.join(OUTCOMES)} |", "|---|---|---|" + "---|" * len(OUTCOMES)]
    for half in sorted({each.half for each in answers}):
        for kind in dict.fromkeys(each.entry["kind"] for each in answers if each.half == half):
            counts = [counted[half, kind, outcome] for outcome in OUTCOMES]
            lines.append(f"| {half} | {kind} | {sum(counts)} | {' | '.join(map(str, counts))} |")
        sums = [sum(counted[half, kind, outcome] for kind in {key[1] for key in counted}) for outcome in OUTCOMES]
        lines.append(f"| {half} | **all** | {sum(sums)} | {' | '.join(map(str, sums))} |")
    return "\n".join(lines)


def errors(answers: Sequence[Shown]) -> str:
    """Return each question that is not right, with what was shown."""
    return "\n".join(
        f"{each.outcome} | {each.family} {each.entry['kind']}/{each.entry['frame']}: {each.entry['question']}\n"
        f"    {each.answer!r}" + (f" extract {each.extract!r}" if each.extract else "")
        for each in answers if each.outcome != "right"
    )
