"""Turns the model's text into text and citations: invalid markers dropped, wrong ones corrected, missing attached."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence

from prometheus_client import Counter

from services.chassis.channels import Deadline
from services.gateway.events import Citation, Token
from services.gateway.figures import figures
from services.gateway.markers import Marker, MarkerReader, Part, SentenceEnd, Text
from services.gateway.support import SupportScorer, is_statement
from services.index.passages import Passage

logger = logging.getLogger(__name__)

CORRECTION_LEAD = 0.1
"""How much closer another passage must be before a marker with no figure against it is corrected."""

citations_total = Counter("sourcier_citations_total", "Citations of answers, by how they came about.", ["origin"])


class Citer:
    """Follows one answer."""

    def __init__(
        self, passages: Sequence[Passage], scorer: SupportScorer, *, attach_threshold: float, deadline: Deadline
    ) -> None:
        self._passages = passages
        self._scorer = scorer
        self._attach_threshold = attach_threshold
        self._deadline = deadline
        self._reader = MarkerReader()
        self._held: list[Part] = []
        self.supported = 0
        """Sentences with a citation so far."""

    async def feed(self, delta: str) -> AsyncIterator[Token | Citation]:
        """Take more of the model's text and yield what may be shown."""
        for part in self._reader.feed(delta):
            async for event in self._events(part):
                yield event

    async def finish(self) -> AsyncIterator[Token | Citation]:
        """Yield what is left at the end of the model's text."""
        for part in self._reader.finish():
            async for event in self._events(part):
                yield event

    async def _events(self, part: Part) -> AsyncIterator[Token | Citation]:
        if isinstance(part, SentenceEnd):
            async for event in self._end_sentence(part):
                yield event
        elif isinstance(part, Marker) or self._held:
            # From the first marker on a sentence is held: whether the marker is right shows at its end.
            self._held.append(part)
        else:
            yield Token(part.text)

    async def _end_sentence(self, end: SentenceEnd) -> AsyncIterator[Token | Citation]:
        held, self._held = self._held, []
        cited = [number for number in end.markers if 1 <= number <= len(self._passages)]
        if len(cited) < len(end.markers):
            citations_total.labels("invalid").inc(len(end.markers) - len(cited))
            logger.info("the model cited a passage that it was not given", extra={"markers": end.markers})
        scores: dict[int, float] = {}
        if end.sentence and (cited or is_statement(end.sentence)):
            scores = await self._scorer.scores(end.sentence, deadline=self._deadline)
        chosen = {number: self._source(end.sentence, number, scores) for number in cited}
        shown: set[int] = set()
        for part in held:
            if isinstance(part, Text):
                yield Token(part.text)
            elif isinstance(part, Marker) and part.number in chosen and chosen[part.number] not in shown:
                number = chosen[part.number]
                shown.add(number)
                yield Token(f"[{number}]", attached=number != part.number)
        if not shown and is_statement(end.sentence) and (best := self._best(end.sentence, scores)):
            shown.add(best)
            chosen[0] = best
            yield Token(f" [{best}]", attached=True)
        self.supported += bool(shown)
        for asked, number in chosen.items():
            if number in shown:
                shown.discard(number)
                yield self._citation(asked, number, scores.get(number))

    def _source(self, sentence: str, cited: int, scores: Mapping[int, float]) -> int:
        """Return the marker that the sentence should have: the model's, unless another passage plainly is the source.

        That is so when the cited passage lacks a figure of the sentence, or is far from its wording, and another
        passage, closer in wording, lacks none.
        """
        best = self._best(sentence, scores)
        if best in (0, cited):
            return cited
        lead = scores[best] - scores.get(cited, -1.0)
        wrong = self._lacks_figures(sentence, cited) or (
            scores.get(cited, -1.0) < self._attach_threshold and lead >= CORRECTION_LEAD
        )
        return best if wrong and lead > 0 else cited

    def _best(self, sentence: str, scores: Mapping[int, float]) -> int:
        """Return the closest passage that holds every figure of the sentence; 0 where none is close enough."""
        able = [number for number in scores if not self._lacks_figures(sentence, number)]
        best = max(able, key=lambda number: scores[number], default=0)
        return best if best and scores[best] >= self._attach_threshold else 0

    def _lacks_figures(self, sentence: str, number: int) -> bool:
        passage = self._passages[number - 1]
        return not figures(sentence) <= figures(" ".join([passage.title, *passage.heading_path, passage.text]))

    def _citation(self, asked: int, number: int, score: float | None) -> Citation:
        origin = "model" if asked == number else "corrected" if asked else "attached"
        citations_total.labels(origin).inc()
        return Citation(
            marker=number, passage=self._passages[number - 1], attached=asked != number, score=score,
            same_wording=score is not None and score >= self._attach_threshold,
        )
