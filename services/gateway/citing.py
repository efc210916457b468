"""Turns the model's stream into text and citations: invalid markers dropped, missing ones attached."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence

from prometheus_client import Counter

from services.chassis.channels import Deadline
from services.gateway.events import Citation, Token
from services.gateway.markers import Marker, MarkerReader, Part, SentenceEnd, Text
from services.gateway.support import SupportScorer, is_statement
from services.index.passages import Passage

logger = logging.getLogger(__name__)

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
        if isinstance(part, Text):
            yield Token(part.text)
        elif isinstance(part, Marker):
            if 1 <= part.number <= len(self._passages):
                yield Token(f"[{part.number}]")
            else:
                citations_total.labels("invalid").inc()
                logger.info("the model cited a passage that it was not given", extra={"marker": part.number})
        else:
            async for event in self._cite(part):
                yield event

    async def _cite(self, end: SentenceEnd) -> AsyncIterator[Token | Citation]:
        valid = [number for number in end.markers if 1 <= number <= len(self._passages)]
        if not valid and not is_statement(end.sentence):
            return
        scores = await self._scorer.scores(end.sentence, deadline=self._deadline) if end.sentence else {}
        for number in valid:
            yield self._citation(number, scores.get(number), attached=False)
        if valid:
            self.supported += 1
            return
        best = max(scores, key=scores.__getitem__, default=0)
        if best and scores[best] >= self._attach_threshold:
            self.supported += 1
            yield Token(f" [{best}]", attached=True)
            yield self._citation(best, scores[best], attached=True)

    def _citation(self, number: int, score: float | None, *, attached: bool) -> Citation:
        citations_total.labels("attached" if attached else "model").inc()
        return Citation(
            marker=number, passage=self._passages[number - 1], attached=attached, score=score,
            same_wording=score is not None and score >= self._attach_threshold,
        )
