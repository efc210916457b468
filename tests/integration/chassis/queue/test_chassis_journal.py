"""Logs by subject: one author, nothing missed between reading and following, nothing of another tenant."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from sourcier.events.v1 import events_pb2
from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import TooLarge, Unavailable
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.journal import READ_MESSAGES, Journal
from sourcier.services.chassis.queue.subjects import ANSWER, ANSWER_LIVE, ANSWER_OWNER


def record(*sequences: int, owner: str = "me", text: str = "") -> events_pb2.AnswerRecord:
    return events_pb2.AnswerRecord(owner=owner, events=[
        answer_pb2.AskEvent(sequence=sequence, token=answer_pb2.Token(text=text)) for sequence in sequences
    ])


@pytest.fixture
def journal(jetstream: JetStream) -> Journal[Any]:
    return Journal(jetstream, ANSWER, ANSWER_LIVE)


async def sequences(journal: Journal[Any], *, tenant: str = "acme", suffix: str = "a", after: int = 0) -> list[int]:
    return [
        event.sequence async for entry in journal.read(tenant=tenant, suffix=suffix, after=after)
        for event in entry.message.events
    ]


async def test_a_record_is_stored_behind_the_one_named_or_not_at_all(journal: Journal[Any]) -> None:
    first = await journal.append(record(1), tenant="acme", suffix="a", after=0)
    assert first is not None
    assert await journal.append(record(1), tenant="acme", suffix="b", after=0) is not None
    second = await journal.append(record(2), tenant="acme", suffix="a", after=first)
    assert second is not None
    for after in (0, first, second + 1):
        assert await journal.append(record(9), tenant="acme", suffix="a", after=after) is None
    last = await journal.last(tenant="acme", suffix="a")
    assert last is not None
    assert (last.sequence, last.message) == (second, record(2))
    assert await sequences(journal) == [1, 2]
    assert await sequences(journal, after=first) == [2]
    assert await sequences(journal, tenant="other") == []
    assert await journal.last(tenant="other", suffix="a") is None


async def test_a_log_of_many_batches_is_read_whole(journal: Journal[Any]) -> None:
    place = 0
    for number in range(2 * READ_MESSAGES):
        stored = await journal.append(record(number), tenant="acme", suffix="a", after=place)
        assert stored is not None
        place = stored
    assert await sequences(journal) == list(range(2 * READ_MESSAGES))


async def test_who_follows_hears_what_is_stored_and_not_what_is_refused(journal: Journal[Any]) -> None:
    async with journal.follow(tenant="acme", suffix="a") as followed:
        place = await journal.append(record(1), tenant="acme", suffix="a", after=0)
        assert place is not None
        assert await journal.append(record(7), tenant="acme", suffix="a", after=0) is None
        await journal.append(record(2), tenant="acme", suffix="a", after=place)
        heard = [await followed.next(seconds=5) for _ in range(2)]
        assert await followed.next(seconds=0.2) is None
    assert [entry.message.events[0].sequence for entry in heard if entry] == [1, 2]
    assert heard[0] is not None
    assert heard[0].sequence == place


async def test_readers_are_found_while_they_follow(journal: Journal[Any], jetstream: JetStream) -> None:
    async def is_read(suffix: str) -> bool:
        return await jetstream.inquire(
            ANSWER_LIVE, events_pb2.AnswerRecord(), tenant="acme", suffix=suffix, seconds=2
        ) is not None

    assert not await is_read("a")
    async with journal.follow(tenant="acme", suffix="a") as followed:
        assert await is_read("a")
        assert not await is_read("b")
        assert await followed.next(seconds=0.1) is None
    assert not await is_read("a")


async def test_an_inquiry_is_replied_to_nobody_or_too_late(jetstream: JetStream) -> None:
    def reply(asked: events_pb2.AnswerInquiry) -> events_pb2.AnswerState:
        return events_pb2.AnswerState(cancelled=asked.cancel)

    async def ask() -> bytes | None:
        return await jetstream.inquire(
            ANSWER_OWNER, events_pb2.AnswerInquiry(cancel=True), tenant="acme", suffix="a", seconds=0.5
        )

    assert await ask() is None
    async with jetstream.replying(ANSWER_OWNER, reply, tenant="acme", suffix="a"):
        assert await ask() == events_pb2.AnswerState(cancelled=True).SerializeToString()
    assert await ask() is None

    async def deaf(_: Any) -> None:
        return None

    stop = await jetstream.listen(ANSWER_OWNER, tenant="acme", suffix="a", heard=deaf)
    with pytest.raises(Unavailable):
        await ask()
    await stop()


async def test_a_stream_that_is_gone_is_made_again(journal: Journal[Any], jetstream: JetStream) -> None:
    place = await journal.append(record(1), tenant="acme", suffix="a", after=0)
    assert place is not None
    await jetstream.context.delete_stream(subjects.stream_name(jetstream.prefix, subjects.ANSWERS))
    assert await sequences(journal) == []
    assert await journal.last(tenant="acme", suffix="a") is None
    assert await journal.append(record(2), tenant="acme", suffix="a", after=place) is None
    assert await journal.append(record(1), tenant="acme", suffix="a", after=0) is not None


async def test_a_record_that_is_too_large_is_refused_before_it_is_sent(journal: Journal[Any]) -> None:
    with pytest.raises(TooLarge):
        await journal.append(
            record(1, text="x" * (subjects.BODY_BYTES_MAX + 1)), tenant="acme", suffix="a", after=0
        )


async def test_more_followers_than_a_stream_has_consumers(journal: Journal[Any]) -> None:
    async def follow(ready: asyncio.Semaphore, told: asyncio.Event) -> int:
        async with journal.follow(tenant="acme", suffix="a") as followed:
            ready.release()
            await told.wait()
            entry = await followed.next(seconds=20)
            return entry.message.events[0].sequence if entry else -1

    count = 1_200
    ready, told = asyncio.Semaphore(0), asyncio.Event()
    following = [asyncio.ensure_future(follow(ready, told)) for _ in range(count)]
    async with asyncio.timeout(60):
        for _ in range(count):
            await ready.acquire()
        assert await journal.append(record(1), tenant="acme", suffix="a", after=0) is not None
        told.set()
        assert await asyncio.gather(*following) == [1] * count


async def test_many_records_at_once_are_each_told_their_own_place(journal: Journal[Any]) -> None:
    suffixes = [f"log-{number}" for number in range(50)]
    places = await asyncio.gather(*(
        journal.append(record(1, text="mot " * 50), tenant="acme", suffix=suffix, after=0) for suffix in suffixes
    ))
    refused = await asyncio.gather(*(
        journal.append(record(9), tenant="acme", suffix=suffix, after=0) for suffix in suffixes
    ))
    assert refused == [None] * len(suffixes)
    for suffix, place in zip(suffixes, places, strict=True):
        last = await journal.last(tenant="acme", suffix=suffix)
        assert last is not None
        assert last.sequence == place
