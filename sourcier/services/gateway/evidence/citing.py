"""Turns the model's text into sentences that a passage supports: each is held until it is checked, then shown or not.

Markers that name no passage are dropped, wrong ones corrected, missing ones attached. What only announces or breaks up
(`Les étapes :`, a heading) is shown with the sentence that follows it, so that nothing stands without support.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from types import TracebackType
from typing import Self

from prometheus_client import Counter

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.events import Citation, Token, Withheld
from sourcier.services.gateway.evidence.checking import Verdict
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
from sourcier.services.gateway.evidence.support import Check, SupportScorer, is_lead_in, is_statement
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.prompting.marking import visible
from sourcier.services.index.search.passages import Passage

logger = logging.getLogger(__name__)

CORRECTION_LEAD = 0.1
"""How much closer another passage must be before a marker that nothing speaks against is corrected."""

citations_total = Counter("sourcier_citations_total", "Citations of answers, by how they came about.", ["origin"])
sentences_total = Counter("sourcier_sentences_total", "Sentences of answers, by what their check found.", ["finding"])


class Strictness(Enum):
    """What becomes of a sentence that no passage supports."""

    WITHHOLD = "withhold"
    MARK = "mark"


@dataclass(frozen=True)
class _Source:
    """The passage that a marker ends up with."""

    number: int
    asked: int
    """The model's number; 0 where it gave none."""
    verdict: Verdict


class Citer:
    """Follows one answer."""

    def __init__(
        self, passages: Sequence[Passage], scorer: SupportScorer, *, strictness: Strictness, language: str,
        deadline: Deadline, opinion: SecondOpinion | None = None,
    ) -> None:
        """Take the passages in the order of their markers."""
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
        sources = [] if obeys else self._sources(cited, check)
        if sources:
            sources = await self._confirmed(end.sentence, sources)
            for event in self._shown(end, held, sources):
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
        nearest = self._citation(_Source(closest, 0, verdict), (0, 0))
        withheld = Withheld(end.sentence, verdict.finding, told, nearest)
        self.withheld.append(withheld)
        yield withheld

    def _sources(self, cited: Sequence[int], check: Check) -> list[_Source]:
        """Return the passages that a sentence rests on: the model's where they support it, else the best that does."""
        best = check.closest
        leading = check.verdicts[best] if best else None
        chosen: dict[int, _Source] = {}
        for number in cited:
            verdict = check.verdicts[number]
            if best != number and leading is not None and _outdoes(leading, verdict):
                chosen.setdefault(best, _Source(best, number, leading))
            elif verdict.finding.shown:
                chosen.setdefault(number, _Source(number, number, verdict))
        if (
            check.together is not None and check.together.finding.shown
            and (leading is None or check.together.finding < leading.finding)
        ):
            # None of the passages holds all of the sentence, but those that the model named do.
            return [_Source(number, number, check.together) for number in cited]
        if not chosen and not cited and leading is not None and leading.finding.shown:
            chosen[best] = _Source(best, 0, leading)
        return list(chosen.values())

    async def _confirmed(self, sentence: str, sources: list[_Source]) -> list[_Source]:
        """Return the sources of a sentence as the second opinion leaves them, where one is asked for."""
        if self._opinion is None:
            return sources
        verdicts = {source.number: source.verdict for source in sources}
        confirmed = await self._opinion.on(sentence, verdicts, deadline=self._deadline)
        return [replace(source, verdict=confirmed[source.number]) for source in sources]

    def _shown(
        self, end: SentenceEnd, held: Sequence[Part], sources: Sequence[_Source]
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
        return events + [self._citation(source, (start, self._length)) for source in sources]

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
            closest = _Source(check.closest, 0, check.verdicts[check.closest])
            return [*events, self._citation(closest, span, shown=False)]
        return events + [self._citation(_Source(number, number, check.verdicts[number]), span) for number in cited]

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

    def _citation(self, source: _Source, sentence_span: tuple[int, int], *, shown: bool = True) -> Citation:
        origin = "model" if source.asked == source.number else "corrected" if source.asked else "attached"
        verdict = source.verdict
        if shown and sentence_span != (0, 0):
            citations_total.labels(origin).inc()
        return Citation(
            marker=source.number if shown else 0, passage=self._passages[source.number - 1],
            attached=source.asked != source.number, finding=verdict.finding, score=verdict.score,
            sentence_span=sentence_span, passage_span=self._passage_span(source),
            reason=reason(verdict.finding, verdict.absent, language=self._language), absent=verdict.absent,
            basis=verdict.basis,
        )

    def _passage_span(self, source: _Source) -> tuple[int, int]:
        text = self._passages[source.number - 1].text
        span = source.verdict.span
        # The span of passages looked at together lies in their joint text.
        return (span.start, span.end) if text[span.start : span.end] == span.text else (0, len(text))


def _outdoes(other: Verdict, own: Verdict) -> bool:
    """Return whether another passage plainly is the source instead of the one that the model named."""
    if not other.finding.shown:
        return False
    if not own.finding.shown:
        return True
    lead = (other.score or 0.0) - (own.score or 0.0)
    return lead > 0 if other.finding < own.finding else lead >= CORRECTION_LEAD and other.finding is own.finding


def _white_space(text: str) -> str:
    return text[: len(text) - len(text.lstrip())]
