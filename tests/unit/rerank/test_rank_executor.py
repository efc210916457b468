"""The queue in front of a ranker: bounded in number and in time, whatever the ranker does."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest

from sourcier.services.chassis.errors import DeadlineExceeded, InvalidArgument, ResourceExhausted
from sourcier.services.rerank.executor import RankExecutor
from sourcier.services.rerank.ranker import Candidate, FloatArray, Question

QUESTION = Question("", np.empty((0, 8), np.float32), np.empty(0, np.float32))
CANDIDATES = (Candidate("a", "", b""), Candidate("b", "", b""))


class GatedRanker:
    """Scores once its gate is open."""

    name = "gated"
    revision = ""
    reads_text = False
    reads_codes = True

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.gate.set()
        self.entered = threading.Semaphore(0)
        self.error: Exception | None = None

    def score(self, question: Question, candidates: Sequence[Candidate]) -> FloatArray:
        """Return a score for each candidate."""
        self.entered.release()
        assert self.gate.wait(30)
        if self.error is not None:
            raise self.error
        return np.arange(len(candidates), dtype=np.float32)


@pytest.fixture
def ranker() -> GatedRanker:
    return GatedRanker()


async def test_scores_come_back(ranker: GatedRanker) -> None:
    async with RankExecutor(ranker, threads=1, waiting_max=1, seconds_max=10) as executor:
        assert (await executor.score(QUESTION, CANDIDATES)).tolist() == [0, 1]


async def test_the_event_loop_stays_free(ranker: GatedRanker) -> None:
    ranker.gate.clear()
    async with RankExecutor(ranker, threads=1, waiting_max=1, seconds_max=10) as executor:
        scoring = asyncio.ensure_future(executor.score(QUESTION, CANDIDATES))
        await asyncio.to_thread(ranker.entered.acquire)
        assert not scoring.done()
        ranker.gate.set()
        await scoring


async def test_more_than_may_wait_is_refused_at_once(ranker: GatedRanker) -> None:
    ranker.gate.clear()
    async with RankExecutor(ranker, threads=1, waiting_max=2, seconds_max=10) as executor:
        held = [asyncio.ensure_future(executor.score(QUESTION, CANDIDATES)) for _ in range(3)]
        await asyncio.to_thread(ranker.entered.acquire)
        with pytest.raises(ResourceExhausted, match="3 re-rankings are in hand, the most is 3"):
            await executor.score(QUESTION, CANDIDATES)
        ranker.gate.set()
        await asyncio.gather(*held)
        await executor.score(QUESTION, CANDIDATES)


async def test_the_time_is_bounded(ranker: GatedRanker) -> None:
    ranker.gate.clear()
    async with RankExecutor(ranker, threads=1, waiting_max=2, seconds_max=0.05) as executor:
        with pytest.raises(DeadlineExceeded, match=r"re-ranking took over 0\.05 s"):
            await executor.score(QUESTION, CANDIDATES)
        ranker.gate.set()


async def test_a_ranking_that_outlasts_its_caller_holds_its_place(ranker: GatedRanker) -> None:
    """Its thread is busy whether anybody waits or not: to let more in would queue them behind it without end."""
    ranker.gate.clear()
    async with RankExecutor(ranker, threads=1, waiting_max=1, seconds_max=0.05) as executor:
        for _ in range(5):
            with pytest.raises(DeadlineExceeded):
                await executor.score(QUESTION, CANDIDATES)
        waiting = asyncio.ensure_future(executor.score(QUESTION, CANDIDATES))
        await asyncio.sleep(0)
        with pytest.raises(ResourceExhausted):
            await executor.score(QUESTION, CANDIDATES)
        with pytest.raises(DeadlineExceeded):
            await waiting
        ranker.gate.set()
        async with asyncio.timeout(10):
            while executor._places.in_hand:
                await asyncio.sleep(0.001)
        assert (await executor.score(QUESTION, CANDIDATES)).tolist() == [0, 1]


async def test_a_caller_that_leaves_the_queue_frees_its_place(ranker: GatedRanker) -> None:
    ranker.gate.clear()
    async with RankExecutor(ranker, threads=1, waiting_max=1, seconds_max=10) as executor:
        held = asyncio.ensure_future(executor.score(QUESTION, CANDIDATES))
        await asyncio.to_thread(ranker.entered.acquire)
        gone = asyncio.ensure_future(executor.score(QUESTION, CANDIDATES))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.wait([gone])
        stays = asyncio.ensure_future(executor.score(QUESTION, CANDIDATES))
        ranker.gate.set()
        await asyncio.gather(held, stays)


async def test_errors_of_the_ranker_pass_and_free_the_place(ranker: GatedRanker) -> None:
    ranker.error = InvalidArgument("bad codes")
    async with RankExecutor(ranker, threads=1, waiting_max=1, seconds_max=10) as executor:
        for _ in range(4):
            with pytest.raises(InvalidArgument):
                await executor.score(QUESTION, CANDIDATES)


async def test_turns_go_round_by_tenant(ranker: GatedRanker) -> None:
    ranker.gate.clear()
    async with RankExecutor(ranker, threads=1, waiting_max=4, seconds_max=10) as executor:
        ended: list[str] = []

        async def score(tenant: str) -> None:
            await executor.score(QUESTION, CANDIDATES, tenant=tenant)
            ended.append(tenant)

        crowd = [asyncio.ensure_future(score("crowd")) for _ in range(5)]
        await asyncio.to_thread(ranker.entered.acquire)
        single = asyncio.ensure_future(score("single"))
        await asyncio.sleep(0)
        ranker.gate.set()
        await single
        results = await asyncio.gather(*crowd, return_exceptions=True)
        assert ended[:2] == ["crowd", "single"]
        assert [isinstance(each, ResourceExhausted) for each in results] == [False] * 4 + [True]
