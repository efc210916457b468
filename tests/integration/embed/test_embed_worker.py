"""`chunks.ready` → vectors → `chunks.embedded`, on a real broker."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import numpy as np
import pytest
import pytest_asyncio
from nats.aio.msg import Msg

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.queue import consuming, subjects
from sourcier.services.chassis.queue.consuming import Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import CHUNKS_READY
from sourcier.services.embed import standing
from sourcier.services.embed.batcher import Batcher, Priority
from sourcier.services.embed.encoder import Encoder, FloatArray, IntArray
from sourcier.services.embed.worker import APART_ATTEMPT, embed_batch, embed_consumer
from tests.integration.chassis.fix_jetstream import connected, hasten, letters, stream_messages
from tests.unit.embed.fix_embedding import (
    DIMENSION,
    TOKEN_LIMIT,
    ArithmeticEngine,
    ids,
    text_of,
    write_encoder,
)
from tests.waiting import eventually, until


@pytest_asyncio.fixture(loop_scope="session")
async def jetstream(nats_url: str, subject_prefix: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[JetStream]:
    hasten(monkeypatch)
    async with connected(nats_url, subject_prefix) as opened:
        yield opened


@pytest_asyncio.fixture(loop_scope="session")
async def batcher(tmp_path: Path, jetstream: JetStream) -> AsyncIterator[Batcher]:
    """Yield a batcher that the worker feeds."""
    encoder, _ = write_encoder(tmp_path)
    stopping = asyncio.Event()
    async with Batcher(encoder, streams=1, queue_tokens_max=1000, batch_tokens_max=512, batch_seconds_max=60,
                       stopping=stopping) as opened:
        worker = asyncio.create_task(embed_consumer(jetstream, opened, interactive=2, bulk=2).run(stopping))
        yield opened
        stopping.set()
        async with asyncio.timeout(30):
            await worker


def batch(encoder: Encoder, *texts: str, number: int = 0, count: int = 1, **fields: object) -> events_pb2.ChunksReady:
    return events_pb2.ChunksReady(
        version=events_pb2.VersionReference(tenant="acme", version_id="v1", lane="bulk"), batch_no=number,
        batch_count=count, title="Guide", source="guide.md",
        chunks=[events_pb2.Chunk(chunk_id=new_id(), index=place, text=text) for place, text in enumerate(texts)],
        **({"space_id": encoder.model.space_id} | fields),  # type: ignore[arg-type]
    )


async def send(jetstream: JetStream, encoder: Encoder, message: events_pb2.ChunksReady, *, lane: str = "bulk") -> None:
    await jetstream.publish(CHUNKS_READY, message, tenant="acme", lane=lane,
                            suffix=subjects.space_token(encoder.model.space_id), message_id=new_id())


async def embedded(jetstream: JetStream, count: int) -> list[events_pb2.ChunksEmbedded]:
    """Return what the next stage finds, once there is so much."""
    async def arrived() -> bool:
        return await stream_messages(jetstream, subjects.EMBEDDED) >= count

    await eventually(arrived, seconds=15)
    name = subjects.stream_name(jetstream.prefix, subjects.EMBEDDED)
    found = [await jetstream.context.get_msg(name, sequence) for sequence in range(1, count + 1)]
    return [events_pb2.ChunksEmbedded.FromString(message.data or b"") for message in found]


async def test_a_batch_is_embedded_and_handed_on_whole(jetstream: JetStream, batcher: Batcher) -> None:
    sent = batch(batcher.encoder, "le chat dort", "le chien mange", number=2, count=5)
    sent.chunks[1].embedding_text = "congés : le chien mange"
    sent.cut = "a" * 32
    sent.cut_at.GetCurrentTime()
    await send(jetstream, batcher.encoder, sent)
    (found,) = await embedded(jetstream, 1)
    assert [entry.chunk for entry in found.chunks] == list(sent.chunks)
    for field in ("version", "space_id", "batch_no", "batch_count", "title", "source", "chunking", "cut", "cut_at"):
        assert getattr(found, field) == getattr(sent, field)
    texts = ["le chat dort", "congés : le chien mange"]
    tokens = batcher.encoder.tokenize(texts, prefix="passage: ", field="")
    for entry, expected in zip(found.chunks, batcher.encoder.encode(tokens), strict=True):
        vector = np.frombuffer(entry.vector, "<f2")
        assert vector.shape == (DIMENSION,)
        np.testing.assert_allclose(vector, expected.vector, atol=1e-3)
        assert entry.token_codes == expected.token_codes


async def test_each_lane_stays_its_lane(jetstream: JetStream, batcher: Batcher) -> None:
    for lane in subjects.LANES:
        sent = batch(batcher.encoder, "mot")
        sent.version.version_id = lane
        await send(jetstream, batcher.encoder, sent, lane=lane)
    await embedded(jetstream, 2)
    name = subjects.stream_name(jetstream.prefix, subjects.EMBEDDED)
    info = await jetstream.context.stream_info(name, subjects_filter=">")
    assert set(info.state.subjects or {}) == {
        subjects.CHUNKS_EMBEDDED.address(jetstream.prefix, tenant="acme", lane=lane) for lane in subjects.LANES
    }


async def test_a_batch_that_is_delivered_twice_is_handed_on_once(jetstream: JetStream, batcher: Batcher) -> None:
    sent = batch(batcher.encoder, "le chat dort")
    for attempt in (1, 2):
        await embed_batch(jetstream, batcher, sent, Delivery(attempt, "bulk", "17"))
    assert await stream_messages(jetstream, subjects.EMBEDDED) == 1
    # The same batch in another message was sent on purpose: a replay must not be swallowed.
    await embed_batch(jetstream, batcher, sent, Delivery(1, "bulk", "18"))
    assert await stream_messages(jetstream, subjects.EMBEDDED) == 2


async def told_standing(jetstream: JetStream, *, ended: set[str]) -> list[str]:
    """Answer whether versions still stand, as ingest does; return of which it was asked."""
    asked: list[str] = []

    async def answer(message: Msg) -> None:
        version = events_pb2.VersionReference.FromString(message.data)
        asked.append(version.version_id)
        standing = events_pb2.VersionStanding(ended=version.version_id in ended)
        await message.respond(standing.SerializeToString())

    await jetstream.client.subscribe(subjects.VERSION_STANDING.pattern(jetstream.prefix), cb=answer)
    await jetstream.client.flush()
    return asked


async def test_batches_of_an_ended_version_are_dropped_before_they_cost(
    jetstream: JetStream, batcher: Batcher
) -> None:
    asked = await told_standing(jetstream, ended={"gone"})
    engine = batcher.encoder.engine
    assert isinstance(engine, ArithmeticEngine)
    for number in range(20):
        sent = batch(batcher.encoder, text_of(20), number=number, count=20)
        sent.version.version_id = "gone"
        await send(jetstream, batcher.encoder, sent)
    await send(jetstream, batcher.encoder, batch(batcher.encoder, "le chat dort"))
    (found,) = await embedded(jetstream, 1)

    async def emptied() -> bool:
        return await stream_messages(jetstream) == 0

    await eventually(emptied, seconds=15)
    assert found.version.version_id == "v1"
    assert len(engine.shapes) == 1, "a passage of the ended version was embedded"
    assert asked.count("gone") == 20


@pytest.mark.parametrize("silent", [True, False])
async def test_where_nobody_says_whether_a_version_stands_it_is_embedded(
    jetstream: JetStream, batcher: Batcher, monkeypatch: pytest.MonkeyPatch, silent: bool
) -> None:
    monkeypatch.setattr(standing, "ASK_SECONDS", 0.2)
    degraded = telemetry.degradations_total.labels("embed", "STANDING_UNKNOWN")
    before = degraded._value.get()
    if silent:
        await jetstream.client.subscribe(subjects.VERSION_STANDING.pattern(jetstream.prefix), cb=_say_nothing)
        await jetstream.client.flush()
    for number in range(3):
        await send(jetstream, batcher.encoder, batch(batcher.encoder, "le chat dort", number=number, count=3))
    assert len(await embedded(jetstream, 3)) == 3
    assert degraded._value.get() > before


async def _say_nothing(_: Msg) -> None:
    """As an ingest service that hangs."""


async def test_one_tenants_many_documents_do_not_delay_anothers_sentence(
    jetstream: JetStream, tmp_path: Path
) -> None:
    """By order of work: of 200 documents of hostile text at most what is in hand goes before."""
    encoder, engine = write_encoder(tmp_path)
    engine.gate.clear()
    stopping = asyncio.Event()
    async with Batcher(encoder, streams=1, queue_tokens_max=1000, batch_tokens_max=64, batch_seconds_max=60,
                       stopping=stopping) as opened:
        for number in range(200):
            sent = batch(encoder, *[text_of(25)] * 8)
            sent.version.tenant, sent.version.version_id = "crowd", str(number)
            await jetstream.publish(CHUNKS_READY, sent, tenant="crowd", lane="bulk",
                                    suffix=subjects.space_token(encoder.model.space_id), message_id=new_id())
        worker = asyncio.create_task(embed_consumer(jetstream, opened, interactive=2, bulk=4).run(stopping))
        try:
            await until(lambda: opened._waiting_tokens > 3 * 8 * 25, seconds=30)  # four batches are in hand
            single = batch(encoder, "le chat dort")
            single.version.tenant = "single"
            await jetstream.publish(CHUNKS_READY, single, tenant="single", lane="bulk",
                                    suffix=subjects.space_token(encoder.model.space_id), message_id=new_id())
            await until(lambda: any(waiting.length < 10 for waiting in opened._waiting[Priority.BULK]), seconds=30)
            engine.gate.set()
            found = await embedded(jetstream, 6)
        finally:
            stopping.set()
            async with asyncio.timeout(30):
                await worker
    order = [each.version.tenant for each in found]
    assert order.index("single") <= 1, order


async def test_a_batch_of_another_space_is_a_dead_letter(jetstream: JetStream, batcher: Batcher) -> None:
    await send(jetstream, batcher.encoder, batch(batcher.encoder, "mot", space_id="other-space"))
    (letter,) = await letters(jetstream, 1)
    assert letter.reason == "SPACE_MISMATCH"
    assert "other-space" in letter.message
    assert await stream_messages(jetstream, subjects.EMBEDDED) == 0


async def test_a_chunk_over_the_models_limit_is_a_dead_letter(jetstream: JetStream, batcher: Batcher) -> None:
    await send(jetstream, batcher.encoder, batch(batcher.encoder, "mot", text_of(TOKEN_LIMIT)))
    (letter,) = await letters(jetstream, 1)
    assert letter.reason == "INVALID_ARGUMENT"
    assert f"the model reads {TOKEN_LIMIT}" in letter.message


async def test_an_engine_that_fails_once_is_tried_again(jetstream: JetStream, batcher: Batcher) -> None:
    engine = batcher.encoder.engine
    assert isinstance(engine, ArithmeticEngine)
    engine.error = RuntimeError("out of memory")
    await send(jetstream, batcher.encoder, batch(batcher.encoder, "mot"))
    async with asyncio.timeout(10):
        await asyncio.to_thread(engine.entered.acquire)
    engine.error = None
    assert len(await embedded(jetstream, 1)) == 1


async def test_a_text_that_hangs_the_model_is_a_dead_letter_and_what_was_beside_it_is_embedded(
    jetstream: JetStream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consuming, "DELIVERIES_MAX", APART_ATTEMPT + 1)
    encoder, engine = write_encoder(tmp_path)
    run, hung, released = engine.run, [], threading.Event()

    def run_or_hang(input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        if np.isin(ids("télétravail"), input_ids).any():
            hung.append(len(input_ids))
            assert released.wait(60)
        return run(input_ids, attention_mask)

    async def keep() -> None:
        """Start the service again each time that it ends, as a supervisor does."""
        while True:
            stopping = asyncio.Event()
            async with (
                Batcher(encoder, streams=1, queue_tokens_max=1000, batch_tokens_max=512, batch_seconds_max=60,
                        stopping=stopping) as opened,
                asyncio.TaskGroup() as group,
            ):
                # Until all that is left waits, the stream is busy: they are batched together as long as they may be.
                engine.gate.clear()
                group.create_task(opened.embed(["mot"], prefix="passage: ", priority=Priority.QUESTION))
                await until(lambda batcher=opened: batcher._in_hand)
                left = await stream_messages(jetstream)
                group.create_task(embed_consumer(jetstream, opened, interactive=0, bulk=4).run(stopping))
                await until(lambda batcher=opened, left=left: batcher._waiting_tokens == left * 5, seconds=30)
                opened._batch_seconds_max = 1
                engine.gate.set()

    monkeypatch.setattr(engine, "run", run_or_hang)
    for text in ("télétravail", "chat"):
        sent = batch(encoder, text)
        sent.version.version_id = text
        await send(jetstream, encoder, sent)
    keeping = asyncio.create_task(keep())
    try:
        (letter,) = await letters(jetstream, 1)
        (found,) = await embedded(jetstream, 1)
    finally:
        released.set()
        engine.gate.set()
        keeping.cancel()
        await asyncio.gather(keeping, return_exceptions=True)
    assert (letter.reason, letter.version.version_id) == ("DEADLINE_EXCEEDED", "télétravail")
    assert letter.message.startswith("the embedding model took over 1 s")
    assert letter.attempts > APART_ATTEMPT
    assert found.version.version_id == "chat"
    assert (hung[0], hung[-1]) == (2, 1)
