"""Runs models in threads: a bounded number of requests, a bounded time for each, and a free event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Any, Self, TypeVar

from sourcier.services.chassis.errors import DeadlineExceeded, ResourceExhausted
from sourcier.services.rerank.entailment import EntailmentModel, Relation
from sourcier.services.rerank.ranker import Candidate, FloatArray, Question, Ranker

T = TypeVar("T")


class BoundedExecutor:
    """The queue in front of a model; use it as an async context manager."""

    what = "requests"
    """What waits in it, as errors name it."""
    doing = "the request"

    def __init__(self, *, threads: int, waiting_max: int, seconds_max: float) -> None:
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix=type(self).__name__)
        self._in_hand = 0
        self._counting = threading.Lock()
        self._in_hand_max = threads + waiting_max
        self._seconds_max = seconds_max

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def run(self, work: Callable[..., T], *arguments: Any) -> T:
        """Return what the work comes to; raise ResourceExhausted at once when too many requests wait."""
        if self._in_hand >= self._in_hand_max:
            raise ResourceExhausted(f"{self._in_hand} {self.what} are in hand, the most is {self._in_hand_max}")
        with self._counting:
            self._in_hand += 1
        future = self._pool.submit(work, *arguments)
        # Its place is free when its thread is, which may be after its caller gave up; a queued one is free at once.
        future.add_done_callback(self._end)
        try:
            async with asyncio.timeout(self._seconds_max):
                return await asyncio.wrap_future(future)
        except TimeoutError as error:
            raise DeadlineExceeded(f"{self.doing} took over {self._seconds_max:g} s") from error

    def _end(self, work: Future[Any]) -> None:
        # Called by the thread that worked, or by the loop for a call that was still queued.
        with self._counting:
            self._in_hand -= 1


class RankExecutor(BoundedExecutor):
    """The queue in front of a ranker."""

    what, doing = "re-rankings", "re-ranking"

    def __init__(self, ranker: Ranker, *, threads: int, waiting_max: int, seconds_max: float) -> None:
        super().__init__(threads=threads, waiting_max=waiting_max, seconds_max=seconds_max)
        self.ranker = ranker

    async def score(self, question: Question, candidates: Sequence[Candidate]) -> FloatArray:
        """Return one score per candidate; raise ResourceExhausted at once when too many requests wait."""
        return await self.run(self.ranker.score, question, candidates)


class EntailmentExecutor(BoundedExecutor):
    """The queue in front of an entailment model: one request at a time, which has the model's threads to itself."""

    what, doing = "entailment requests", "the entailment model"

    def __init__(self, model: EntailmentModel, *, waiting_max: int, seconds_max: float) -> None:
        super().__init__(threads=1, waiting_max=waiting_max, seconds_max=seconds_max)
        self.model = model

    async def relations(self, premise: str, hypotheses: Sequence[str]) -> list[Relation]:
        """Return what the premise is to each hypothesis; ResourceExhausted at once when too many requests wait."""
        return await self.run(self.model.relations, premise, hypotheses)
