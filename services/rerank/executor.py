"""Runs a ranker in threads: a bounded number of requests, a bounded time for each, and a free event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import Self

from services.chassis.errors import DeadlineExceeded, ResourceExhausted
from services.rerank.ranker import Candidate, FloatArray, Question, Ranker


class RankExecutor:
    """The queue in front of a ranker; use it as an async context manager."""

    def __init__(self, ranker: Ranker, *, threads: int, waiting_max: int, seconds_max: float) -> None:
        self.ranker = ranker
        self._pool = ThreadPoolExecutor(max_workers=threads, thread_name_prefix="rank")
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

    async def score(self, question: Question, candidates: Sequence[Candidate]) -> FloatArray:
        """Return one score per candidate; raise ResourceExhausted at once when too many requests wait."""
        if self._in_hand >= self._in_hand_max:
            raise ResourceExhausted(f"{self._in_hand} re-rankings are in hand, the most is {self._in_hand_max}")
        with self._counting:
            self._in_hand += 1
        work = self._pool.submit(self.ranker.score, question, candidates)
        # Its place is free when its thread is, which may be after its caller gave up; a queued one is free at once.
        work.add_done_callback(self._end)
        try:
            async with asyncio.timeout(self._seconds_max):
                return await asyncio.wrap_future(work)
        except TimeoutError as error:
            raise DeadlineExceeded(f"re-ranking took over {self._seconds_max:g} s") from error

    def _end(self, work: Future[FloatArray]) -> None:
        # Called by the thread that worked, or by the loop for a call that was still queued.
        with self._counting:
            self._in_hand -= 1
