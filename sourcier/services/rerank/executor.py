"""Runs models in threads: a bounded number of requests, a bounded time for each, and a free event loop."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from sourcier.services.chassis.errors import DeadlineExceeded
from sourcier.services.chassis.fair_turns import FairPlaces
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
        self._places = FairPlaces(
            places=threads, waiting_max=waiting_max,
            full=f"{{in_hand}} {self.what} are in hand, the most is {threads + waiting_max}",
        )
        self._seconds_max = seconds_max

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    async def run(self, work: Callable[..., T], *arguments: Any, tenant: str, cost: float) -> T:
        """Return what the work comes to, in turns by tenant; raise ResourceExhausted at once when too many wait."""
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._seconds_max
        late = f"{self.doing} took over {self._seconds_max:g} s"
        await self._places.take(tenant=tenant, cost=cost, deadline=deadline, late=late)
        future = self._pool.submit(work, *arguments)
        # Its place is free when its thread is, which may be after its caller gave up.
        future.add_done_callback(lambda _: self._end(loop))
        try:
            async with asyncio.timeout_at(deadline):
                return await asyncio.wrap_future(future)
        except TimeoutError as error:
            raise DeadlineExceeded(late) from error

    def _end(self, loop: asyncio.AbstractEventLoop) -> None:
        # Called by the thread that worked.
        with suppress(RuntimeError):  # the loop was closed meanwhile: nobody waits for a place any more
            loop.call_soon_threadsafe(self._places.give_back)


class RankExecutor(BoundedExecutor):
    """The queue in front of a ranker."""

    what, doing = "re-rankings", "re-ranking"

    def __init__(self, ranker: Ranker, *, threads: int, waiting_max: int, seconds_max: float) -> None:
        super().__init__(threads=threads, waiting_max=waiting_max, seconds_max=seconds_max)
        self.ranker = ranker

    async def score(
        self, question: Question, candidates: Sequence[Candidate], *, tenant: str = ""
    ) -> FloatArray:
        """Return one score per candidate; raise ResourceExhausted at once when too many requests wait."""
        return await self.run(self.ranker.score, question, candidates, tenant=tenant, cost=len(candidates))


class EntailmentExecutor(BoundedExecutor):
    """The queue in front of an entailment model: one request at a time, which has the model's threads to itself."""

    what, doing = "entailment requests", "the entailment model"

    def __init__(self, model: EntailmentModel, *, waiting_max: int, seconds_max: float) -> None:
        super().__init__(threads=1, waiting_max=waiting_max, seconds_max=seconds_max)
        self.model = model

    async def relations(
        self, premises: Sequence[str], hypotheses: Sequence[str], *, question: str = "", tenant: str = ""
    ) -> list[Relation]:
        """Return what each premise is to each hypothesis; ResourceExhausted at once when too many requests wait."""
        work = partial(self.model.relations, premises, hypotheses, question=question)
        return await self.run(work, tenant=tenant, cost=len(premises) * len(hypotheses))
