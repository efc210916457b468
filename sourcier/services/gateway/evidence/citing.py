"""Turns the model's text into sentences that a passage supports: each is held until it is checked, then shown or not.

Markers that name no passage are dropped, wrong ones corrected, missing ones attached. What only announces or breaks up
(`Les étapes :`, a heading) is shown with the sentence that follows it, so that nothing stands without support.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from enum import Enum
from types import TracebackType
from typing import Self

from prometheus_client import Counter

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.clauses.ruling import Place
from sourcier.services.gateway.events import Citation, Token, Withheld
from sourcier.services.gateway.evidence.checking import Verdict
from sourcier.services.gateway.evidence.clause_check import ClauseCheck, Objection
from sourcier.services.gateway.evidence.markers import (
    Fence,
    MarkerReader,
    Part,
    SentenceEnd,
    Text,
    code_line,
    fence_of,
    shown_parts,
)
from sourcier.services.gateway.evidence.reasons import reason
from sourcier.services.gateway.evidence.second_opinion import SecondOpinion
from sourcier.services.gateway.evidence.source_terms import Grounds
from sourcier.services.gateway.evidence.support import Check, Source, SupportScorer, is_lead_in, is_statement
from sourcier.services.gateway.evidence.wording import Span
from sourcier.services.gateway.findings import Basis, Finding
from sourcier.services.gateway.prompting.marking import visible
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)

citations_total = Counter("sourcier_citations_total", "Citations of answers, by how they came about.", ["origin"])
sentences_total = Counter("sourcier_sentences_total", "Sentences of answers, by what their check found.", ["finding"])


class Strictness(Enum):
    """What becomes of a sentence that no passage supports."""

    WITHHOLD = "withhold"
    MARK = "mark"


class Citer:
    """Follows one answer."""

    def __init__(
        self, passages: Sequence[Passage], scorer: SupportScorer, *, strictness: Strictness, language: str,
        deadline: Deadline, opinion: SecondOpinion | None = None, clauses: ClauseCheck | None = None,
    ) -> None:
        """Take the passages in the order of their markers."""
        self._clauses = clauses
        self._quoted: set[Place] = set()
        self._opinion = opinion
        self._passages = passages
        self._scorer = scorer
        self._strictness = strictness
        self._language = language
        self._deadline = deadline
        self._reader = MarkerReader(passages=len(passages))
        self._grounds = Grounds(passages)
        self._preparing: asyncio.Task[None] | None = None
        self._foreseen = ""
        """What seemed to be a sentence when this was last looked at."""
        self._held: list[Part] = []
        self._lead_in = ""
        """What announces sentences to come: shown with the first of them that is shown."""
        self._fragments = ""
        """What belongs to the next sentence, and goes where it goes; white space before it too."""
        self._after_withheld = False
        self._fence = ""
        """The backticks that opened the block of code that the model is in; empty outside."""
        self._fence_at = 0
        """Where the lead-in ends without it, until something in the block is shown."""
        self._in_shown_fence = False
        self._fence_numbers: dict[int, bool] = {}
        """The markers of what the block shows, and whether they were attached: they follow it, for code is copied."""
        self._last = ""
        """The last character shown."""
        self._length = 0
        """Characters shown so far."""
        self.supported = 0
        """Sentences with a citation so far."""
        self.withheld: list[Withheld] = []

    async def __aenter__(self) -> Self:
        await self._scorer.__aenter__()
        # While the language model reads the prompt: the first sentence would wait for it otherwise.
        self._preparing = asyncio.create_task(asyncio.to_thread(self._prepare), name="prepare passages for checks")
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._preparing is not None:
            self._preparing.cancel()
            await asyncio.gather(self._preparing, return_exceptions=True)
        await self._scorer.__aexit__(kind, error, trace)

    def _prepare(self) -> None:
        self._scorer.prepare()
        self._grounds.prepare()
        if self._clauses is not None:
            self._clauses.prepare()

    async def _prepared(self) -> None:
        if self._preparing is not None and not self._preparing.done():
            await asyncio.shield(self._preparing)

    async def feed(self, delta: str) -> AsyncIterator[Token | Citation | Withheld]:
        """Take more of the model's text and yield what may be shown."""
        for part in self._reader.feed(visible(delta)):
            async for event in self._events(part):
                yield event
        if seeming := self._reader.likely_sentence:
            await self._foresee(seeming)

    async def finish(self) -> AsyncIterator[Token | Citation | Withheld]:
        """Yield what is left at the end of the model's text."""
        for part in self._reader.finish():
            async for event in self._events(part):
                yield event
        if self._in_shown_fence:
            for event in self._fence_closed():
                yield event
        if self.supported and self._fragments.strip():
            yield self._text(self._fragments.rstrip())

    async def _foresee(self, seeming: str) -> None:
        """Begin to compare what seems to be a sentence: whether it is one shows with the next token, or a later one."""
        if seeming == self._foreseen:
            return
        self._foreseen = seeming
        await self._prepared()
        sentence = self._grounds.cleaned_text(seeming)
        if is_statement(sentence):
            await self._scorer.begin(sentence, deadline=self._deadline)

    async def _events(self, part: Part) -> AsyncIterator[Token | Citation | Withheld]:
        if isinstance(part, SentenceEnd):
            self._foreseen = ""
            await self._prepared()
            (end, held), self._held = self._grounds.cleaned(part, self._held), []
            async for event in self._end_sentence(end, held):
                yield event
        elif isinstance(part, Text) and not self._held and not part.text.strip():
            # White space between sentences goes with the next one that is shown.
            self._space(part.text)
        else:
            self._held.append(part)

    async def _end_sentence(
        self, end: SentenceEnd, held: Sequence[Part]
    ) -> AsyncIterator[Token | Citation | Withheld]:
        cited = [number for number in end.markers if 1 <= number <= len(self._passages)]
        if len(cited) < len(end.markers):
            citations_total.labels("invalid").inc(len(end.markers) - len(cited))
            logger.info("the model cited a passage that it was not given", extra={"markers": end.markers})
        fence = fence_of(end.sentence)
        if fence is not None and (not self._fence or fence.closes(self._fence)):
            for event in self._fenced(fence, held):
                yield event
            return
        if not end.sentence or (not is_statement(end.sentence) and self._grounds.is_known(end.sentence)):
            fragment = "".join(part.text for part in held if isinstance(part, Text))
            self._fragments += code_line(held) if self._fence else fragment
            if is_lead_in(end.sentence):
                self._lead_in, self._fragments = self._lead_in + self._fragments, ""
            return
        check = await self._scorer.check(end.sentence, cited, deadline=self._deadline)
        obeys = self._grounds.obeys(end.sentence)
        sources = [] if obeys else check.sources(cited)
        if sources:
            sources = await self._confirmed(end.sentence, sources, repeated=check.repeated)
            objection = self._objection(end.sentence, sources)
            for event in (
                self._shown(end, held, sources) if objection is None else self._objected(end, held, sources, objection)
            ):
                yield event
            return
        closest = check.closest
        verdict = replace(check.verdicts[closest], finding=Finding.OFF_TOPIC) if obeys else check.verdicts[closest]
        sentences_total.labels(verdict.finding.name.lower()).inc()
        if self._strictness is Strictness.MARK:
            for event in self._marked(end, held, cited, check):
                yield event
            return
        self._fragments = _white_space(self._fragments)
        self._after_withheld = True
        told = reason(verdict.finding, verdict.absent, language=self._language)
        nearest = self._citation(Source(closest, 0, verdict), (0, 0))
        withheld = Withheld(end.sentence, verdict.finding, told, nearest)
        self.withheld.append(withheld)
        yield withheld

    async def _confirmed(self, sentence: str, sources: list[Source], *, repeated: bool) -> list[Source]:
        """Return the sources of a sentence as the second opinion leaves them, where one is asked for."""
        if self._opinion is None:
            return sources
        verdicts = {source.number: source.verdict for source in sources}
        confirmed = await self._opinion.on(sentence, verdicts, repeated=repeated, deadline=self._deadline)
        return [replace(source, verdict=confirmed[source.number]) for source in sources]

    def _objection(self, sentence: str, sources: Sequence[Source]) -> Objection | None:
        """Return what the clauses of a sentence's sources object to it, or else a reader of them."""
        objection = None
        if self._clauses is not None and not self._fence:
            # A reader leans to no, so that what it confirms makes up for nothing.
            confirmed = any(
                source.verdict.finding is Finding.SUPPORTED
                and source.verdict.basis not in (Basis.WORDING, Basis.READ) for source in sources
            )
            objection = self._clauses.objection(
                sentence, [source.number for source in sources], confirmed=confirmed
            )
        return objection or self._read_otherwise(sources)

    def _read_otherwise(self, sources: Sequence[Source]) -> Objection | None:
        """Return that a reader finds the sentence contradicted, with what it was shown."""
        for source in sources:
            verdict = source.verdict
            if verdict.finding is not Finding.CONTRADICTED:
                continue
            can_quote = self._clauses is not None and not self._fence
            place = Place(source.number, verdict.span.start, verdict.span.end, verdict.lead) if can_quote else None
            told = reason(verdict.finding, (), language=self._language, basis=verdict.basis)
            return Objection(verdict.finding, told, place)
        return None

    def _objected(
        self, end: SentenceEnd, held: Sequence[Part], sources: Sequence[Source], objection: Objection
    ) -> list[Token | Citation | Withheld]:
        """Withhold a sentence, and quote the clause that says it otherwise in its place; or mark it."""
        against = [replace(source, verdict=replace(source.verdict, finding=objection.finding)) for source in sources]
        if self._strictness is Strictness.MARK:
            return self._shown(end, held, against, told=objection.reason)
        sentences_total.labels(objection.finding.name.lower()).inc()
        nearest = self._citation(against[0], (0, 0), told=objection.reason)
        withheld = Withheld(end.sentence, objection.finding, objection.reason, nearest)
        self.withheld.append(withheld)
        self._after_withheld = True
        if objection.finding is not Finding.CONTRADICTED or objection.place is None:
            self._fragments = _white_space(self._fragments)
            return [withheld]
        return [withheld, *self._quotation(objection.place)]

    def _quotation(self, place: Place) -> list[Token | Citation | Withheld]:
        """Show a clause in the place of the sentence that it speaks against, once."""
        assert self._clauses is not None
        if place in self._quoted:
            self._fragments = _white_space(self._fragments)
            return []
        self._quoted.add(place)
        events = self._preluded()
        start = self._length
        events += [self._text(self._clauses.quotation(place)), self._token(f" [{place.number}]", attached=True)]
        self.supported += 1
        passage = self._passages[place.number - 1]
        span = Span(place.start, place.end, passage.text[place.start : place.end], 1.0)
        quoted = Source(place.number, 0, Verdict(Finding.SUPPORTED, 1.0, span))
        return [*events, self._citation(quoted, (start, self._length))]

    def _shown(
        self, end: SentenceEnd, held: Sequence[Part], sources: Sequence[Source], *, told: str = ""
    ) -> list[Token | Citation | Withheld]:
        by_marker = {source.asked: source for source in sources if source.asked}
        events: list[Token | Citation | Withheld] = self._preluded()
        start = self._length
        if self._fence:
            events.append(self._text(code_line(held)))
            for source in sources:
                self._fence_numbers.setdefault(source.number, source.number != source.asked)
        else:
            for part in shown_parts(held, by_marker):
                if isinstance(part, Text):
                    events.append(self._text(part.text))
                else:
                    source = by_marker[part.number]
                    events.append(self._token(f"[{source.number}]", attached=source.number != source.asked))
            for source in sources:
                if not source.asked:
                    events.append(self._token(f" [{source.number}]", attached=True))
        self.supported += 1
        sentences_total.labels(min(source.verdict.finding for source in sources).name.lower()).inc()
        return events + [self._citation(source, (start, self._length), told=told) for source in sources]

    def _marked(
        self, end: SentenceEnd, held: Sequence[Part], cited: Sequence[int], check: Check
    ) -> list[Token | Citation | Withheld]:
        """Show an unsupported sentence as it is; its citations say that they support nothing."""
        events: list[Token | Citation | Withheld] = self._preluded()
        start = self._length
        if self._fence:
            events.append(self._text(code_line(held)))
            self._fence_numbers |= {number: False for number in cited if number not in self._fence_numbers}
        else:
            for part in shown_parts(held, cited):
                events.append(
                    self._text(part.text) if isinstance(part, Text) else self._token(f"[{part.number}]")
                )
        span = (start, self._length)
        if not cited:
            closest = Source(check.closest, 0, check.verdicts[check.closest])
            return [*events, self._citation(closest, span, shown=False)]
        return events + [self._citation(Source(number, number, check.verdicts[number]), span) for number in cited]

    def _preluded(self) -> list[Token | Citation | Withheld]:
        prelude, self._lead_in, self._fragments = self._lead_in + self._fragments, "", ""
        self._after_withheld = False
        self._in_shown_fence = bool(self._fence)
        if not self._length:
            prelude = prelude.lstrip()
        return [self._text(prelude)] if prelude else []

    def _fenced(self, fence: Fence, held: Sequence[Part]) -> list[Token | Citation | Withheld]:
        """Open a block of code with the first line of it that is shown, or close it at once.

        A fence that fell with a sentence next to it would turn the rest of the answer into code.
        """
        text = "".join(part.text for part in held if isinstance(part, Text))
        after = text[len(text.rstrip()) :]
        if not self._fence:
            before = self._lead_in + self._fragments
            self._fence, self._fence_at = fence.mark, len(before.rstrip())
            self._lead_in, self._fragments = before + fence.mark + fence.language, after
            return []
        if self._in_shown_fence:
            events, self._fragments = self._fence_closed(), after
            return events
        # Nothing of the block was shown.
        self._lead_in, self._fragments, self._fence = self._lead_in[: self._fence_at], after, ""
        return []

    def _fence_closed(self) -> list[Token | Citation | Withheld]:
        """Show what is left of a block, and the markers of all its lines below it."""
        left, self._lead_in, self._fragments = self._lead_in + self._fragments, "", ""
        line = left if "\n" in left[len(left.rstrip()) :] else f"{left}\n"
        events: list[Token | Citation | Withheld] = [self._text(line + self._fence)]
        for number, attached in self._fence_numbers.items():
            events.append(self._token(f"[{number}]" if len(events) > 1 else f"\n[{number}]", attached=attached))
        self._fence, self._in_shown_fence, self._after_withheld, self._fence_numbers = "", False, False, {}
        return events

    def _space(self, text: str) -> None:
        """Keep white space for the next sentence; once where one between was withheld."""
        kept = self._fragments or self._lead_in
        if self._after_withheld and kept != kept.rstrip():
            if "\n" in text and "\n" not in kept[len(kept.rstrip()) :]:
                self._fragments = self._fragments.rstrip() + text
            return
        self._fragments += text

    def _text(self, text: str) -> Token:
        # With the end of the sentence before, `[plan](address)` would be an image.
        return self._token(f" {text}" if self._last == "!" and text.startswith("[") else text)

    def _token(self, text: str, *, attached: bool = False) -> Token:
        self._length += len(text)
        self._last = text[-1:] or self._last
        return Token(text, attached=attached)

    def _citation(
        self, source: Source, sentence_span: tuple[int, int], *, shown: bool = True, told: str = ""
    ) -> Citation:
        origin = "model" if source.asked == source.number else "corrected" if source.asked else "attached"
        verdict = source.verdict
        if shown and sentence_span != (0, 0):
            citations_total.labels(origin).inc()
        return Citation(
            marker=source.number if shown else 0, passage=self._passages[source.number - 1],
            attached=source.asked != source.number, finding=verdict.finding, score=verdict.score,
            sentence_span=sentence_span, passage_span=self._passage_span(source),
            reason=told or reason(
                verdict.finding, verdict.absent, language=self._language, basis=verdict.basis
            ), absent=verdict.absent, basis=verdict.basis,
        )

    def _passage_span(self, source: Source) -> tuple[int, int]:
        text = self._passages[source.number - 1].text
        span = source.verdict.span
        # The span of passages looked at together lies in their joint text.
        return (span.start, span.end) if text[span.start : span.end] == span.text else (0, len(text))


def _white_space(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]
