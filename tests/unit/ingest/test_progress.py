"""How far a job is while its batches arrive: told by the batch that makes a percent, and by none twice."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.ingest.progress import CHUNKED, EMBEDDED, METADATA, PARSED, Progress, percentage_staged

VERSION = events_pb2.VersionReference(tenant="acme", job_id="job-1")
NOWHERE: Any = None


class ToldProgress(Progress):
    """Keeps what it is told; nothing is noted."""

    def __init__(self) -> None:
        super().__init__(NOWHERE, NOWHERE)
        self.told: list[tuple[str, int, bool]] = []

    def advance(
        self, version: events_pb2.VersionReference, *stages: tuple[str, int], arrived: bool = True
    ) -> None:
        self.told += [(stage, percentage, arrived) for stage, percentage in stages]
        super().advance(version, *stages, arrived=arrived)


class HeldDatabase:
    """Begins transactions, and has them wait until it is found to be away."""

    def __init__(self) -> None:
        self.begun, self.away = asyncio.Event(), asyncio.Event()

    @asynccontextmanager
    async def transaction(self, **_: Any) -> AsyncIterator[None]:
        self.begun.set()
        await self.away.wait()
        raise Unavailable()
        yield


@pytest.mark.parametrize(("staged", "batch_count", "percentage"), [
    (0, 2, 60), (1, 2, 70), (2, 2, 80), (1, 3, 66), (2, 3, 73), (1, 40, 60), (2, 40, 61), (39, 40, 79), (999, 1000, 79),
])
def test_the_percentage_is_the_share_of_the_batches_that_are_staged(
    staged: int, batch_count: int, percentage: int
) -> None:
    assert percentage_staged(staged, batch_count) == percentage


@pytest.mark.parametrize("batch_count", [2, 3, 7, 19, 20, 21, 5_000])
def test_each_percent_is_told_once_whatever_the_number_of_batches(batch_count: int) -> None:
    progress = ToldProgress()
    for staged in range(1, batch_count):
        progress.count_batch(VERSION, staged=staged, batch_count=batch_count)
    told = [percentage for _, percentage, _ in progress.told]
    assert told == sorted(set(told))
    assert len(told) == min(batch_count - 1, 19)
    assert all(CHUNKED[1] < percentage < EMBEDDED[1] for percentage in told)
    assert {(stage, arrived) for stage, _, arrived in progress.told} == {("chunked", False)}


def test_a_commit_is_told_of_the_stages_a_job_came_to_and_of_no_moves_within_them() -> None:
    progress = ToldProgress()
    progress.count_batch(VERSION, staged=1, batch_count=3)
    assert progress.ages("job-1") == {}
    progress.advance(VERSION, PARSED, METADATA)
    progress.count_batch(VERSION, staged=2, batch_count=3)
    progress.advance(VERSION, EMBEDDED)
    assert set(progress.ages("job-1")) == {"parsed", "metadata", "embedded"}
    progress.forget("job-1")
    assert progress.ages("job-1") == {}


async def test_a_commit_is_told_of_stages_that_are_being_noted() -> None:
    database: Any = HeldDatabase()
    progress = Progress(database, NOWHERE)
    progress.advance(VERSION, CHUNKED)
    noting = asyncio.create_task(progress.flush())
    await database.begun.wait()
    age = progress.ages("job-1")["chunked"]
    progress.advance(VERSION, CHUNKED, EMBEDDED)
    ages = progress.ages("job-1")
    assert set(ages) == {"chunked", "embedded"}
    assert ages["chunked"] >= age, "a stage that comes again keeps its first time"
    database.away.set()
    await noting
    assert set(progress.ages("job-1")) == {"chunked", "embedded"}
    progress.forget("job-1")
    assert progress.ages("job-1") == {}
