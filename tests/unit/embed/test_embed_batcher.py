"""The batcher: what is put together, who goes first, and what becomes of callers that leave or come too many."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcier.services.chassis.errors import DeadlineExceeded, InvalidArgument, ResourceExhausted, Unavailable
from sourcier.services.embed import batcher as batcher_module
from sourcier.services.embed.batcher import SHARE_TOKENS_MIN, Batcher, Priority, batch_of_next, overruns_total
from tests.unit.embed.fix_embedding import TOKEN_LIMIT, ArithmeticEngine, text_of, write_encoder

PREFIX = "passage: "


@asynccontextmanager
async def batching(
    folder: Path, *, streams: int = 1, queue_tokens_max: int = 1000, batch_tokens_max: int = 512,
    batch_seconds_max: float = 60.0, stopping: asyncio.Event | None = None,
) -> AsyncIterator[tuple[Batcher, ArithmeticEngine]]:
    encoder, engine = write_encoder(folder, streams=streams)
    async with Batcher(
        encoder, streams=streams, queue_tokens_max=queue_tokens_max, batch_tokens_max=batch_tokens_max,
        batch_seconds_max=batch_seconds_max, stopping=stopping or asyncio.Event(),
    ) as batcher:
        try:
            yield batcher, engine
        finally:
            engine.gate.set()


async def hold(batcher: Batcher, engine: ArithmeticEngine) -> asyncio.Task[object]:
    """Occupy the engine until its gate opens."""
    engine.gate.clear()
    held = asyncio.ensure_future(batcher.embed(["mot"], prefix=PREFIX, priority=Priority.INTERACTIVE))
    async with asyncio.timeout(10):
        await asyncio.to_thread(engine.entered.acquire)
    return held


async def queued(batcher: Batcher, tokens: int) -> None:
    """Wait until so many tokens are waiting."""
    async with asyncio.timeout(10):
        while batcher._waiting_tokens != tokens:
            await asyncio.sleep(0.001)


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 60), min_size=1, max_size=40), st.integers(1, 16), st.integers(60, 400), st.randoms(),
)
def test_a_batch_holds_the_oldest_within_the_budget_and_is_no_less_than_a_quarter_of_what_fits(
    lengths: list[int], texts_max: int, tokens_max: int, random: object
) -> None:
    lengths = sorted(lengths)
    arrivals = list(range(len(lengths)))
    random.shuffle(arrivals)  # type: ignore[attr-defined]
    start, end = batch_of_next(lengths, arrivals, streams=1, tokens_max=tokens_max, texts_max=texts_max)
    assert 0 <= start < end <= len(lengths)
    assert start <= arrivals.index(min(arrivals)) < end
    assert end - start <= texts_max
    assert lengths[end - 1] * (end - start) <= tokens_max
    # Of the budget, or of half of what is left: a half of that where the number of texts is halved to fit, and a half
    # once more for the shortest, which longer ones join as far as they fit.
    budget = min(tokens_max, max(sum(lengths) // 2, SHARE_TOKENS_MIN))
    assert 4 * (end - start) >= min(texts_max, budget // lengths[-1], len(lengths))


def test_the_shortest_of_few_texts_are_a_batch_of_few() -> None:
    lengths, arrivals = [1, 1, 1, 1, 29, 43], [0, 1, 2, 3, 4, 5]
    assert batch_of_next(lengths, arrivals, streams=1, tokens_max=261, texts_max=10) == (0, 2)


def test_a_text_over_the_budget_is_a_batch_of_its_own() -> None:
    assert batch_of_next([5, 600], [1, 0], streams=1, tokens_max=512, texts_max=64) == (1, 2)


def test_neighbours_in_length_go_together() -> None:
    lengths, arrivals = [10, 11, 12, 13, 14, 300, 301], [4, 0, 3, 5, 6, 1, 2]
    assert batch_of_next(lengths, arrivals, streams=1, tokens_max=70, texts_max=64) == (0, 5)


@pytest.mark.parametrize(("texts", "taken"), [(1000, 16), (64, 16), (63, 8), (16, 4), (3, 2)])
def test_batches_shrink_towards_the_end_by_halves(texts: int, taken: int) -> None:
    start, end = batch_of_next([64] * texts, range(texts), streams=2, tokens_max=1024, texts_max=64)
    assert end - start == taken
    assert taken * 64 <= max(texts * 64 // 4, SHARE_TOKENS_MIN)


async def test_results_come_in_the_order_of_the_texts(tmp_path: Path) -> None:
    async with batching(tmp_path, batch_tokens_max=64) as (batcher, _):
        texts = [text_of(length) for length in (9, 1, 20, 3, 20, 1, 15)]
        together = await batcher.embed(texts, prefix=PREFIX, priority=Priority.BULK)
        for text, encoded in zip(texts, together, strict=True):
            (alone,) = await batcher.embed([text], prefix=PREFIX, priority=Priority.BULK)
            np.testing.assert_allclose(alone.vector, encoded.vector, atol=1e-6)


async def test_what_waits_is_batched_together(tmp_path: Path) -> None:
    async with batching(tmp_path) as (batcher, engine):
        held = await hold(batcher, engine)
        calls = [
            asyncio.ensure_future(batcher.embed([text_of(4)], prefix=PREFIX, priority=Priority.BULK)) for _ in range(8)
        ]
        await queued(batcher, 8 * 8)
        engine.gate.set()
        await asyncio.gather(held, *calls)
        assert engine.shapes == [(1, 5), (8, 8)]


async def test_questions_go_before_uploads_and_uploads_before_loads(tmp_path: Path) -> None:
    async with batching(tmp_path) as (batcher, engine):
        held = await hold(batcher, engine)
        done: list[Priority] = []

        async def embed(priority: Priority) -> None:
            await batcher.embed([text_of(4)], prefix=PREFIX, priority=priority)
            done.append(priority)

        calls = []
        for number, priority in enumerate((Priority.BULK, Priority.INTERACTIVE, Priority.QUESTION), start=1):
            calls.append(asyncio.ensure_future(embed(priority)))
            await queued(batcher, 8 * number)
        engine.gate.set()
        await asyncio.gather(held, *calls)
    assert done == [Priority.QUESTION, Priority.INTERACTIVE, Priority.BULK]


async def test_a_full_queue_refuses_at_once_and_lets_workers_wait(tmp_path: Path) -> None:
    async with batching(tmp_path, queue_tokens_max=20) as (batcher, engine):
        held = await hold(batcher, engine)
        # The first in an empty queue is always let in.
        first = asyncio.ensure_future(batcher.embed([text_of(20)], prefix=PREFIX, priority=Priority.QUESTION))
        await queued(batcher, 24)
        with pytest.raises(ResourceExhausted, match="24 tokens wait to be embedded, the most is 20"):
            await batcher.embed(["mot"], prefix=PREFIX, priority=Priority.QUESTION)
        worker = asyncio.ensure_future(batcher.embed(["mot"], prefix=PREFIX, priority=Priority.BULK, wait=True))
        await queued(batcher, 29)
        engine.gate.set()
        await asyncio.gather(held, first, worker)
        assert batcher._waiting_tokens == 0


async def test_a_caller_that_leaves_frees_the_queue_at_once_and_costs_nothing(tmp_path: Path) -> None:
    async with batching(tmp_path, queue_tokens_max=20) as (batcher, engine):
        held = await hold(batcher, engine)
        gone = asyncio.ensure_future(batcher.embed([text_of(20)], prefix=PREFIX, priority=Priority.QUESTION))
        await queued(batcher, 24)
        gone.cancel()
        await asyncio.wait([gone])
        assert batcher._waiting_tokens == 0
        stays = asyncio.ensure_future(batcher.embed([text_of(15)], prefix=PREFIX, priority=Priority.QUESTION))
        await queued(batcher, 19)
        engine.gate.set()
        await asyncio.gather(held, stays)
        assert engine.shapes == [(1, 5), (1, 19)]


async def test_a_caller_that_leaves_in_the_middle_of_a_batch_harms_nobody(tmp_path: Path) -> None:
    async with batching(tmp_path) as (batcher, engine):
        held = await hold(batcher, engine)
        calls = [
            asyncio.ensure_future(batcher.embed([text_of(4)], prefix=PREFIX, priority=Priority.BULK)) for _ in range(2)
        ]
        await queued(batcher, 16)
        engine.gate.set()
        await held
        engine.gate.clear()
        calls[0].cancel()
        engine.gate.set()
        (encoded,) = await calls[1]
        assert encoded.token_count == 8


async def test_an_engine_that_fails_fails_its_batch_and_goes_on(tmp_path: Path) -> None:
    async with batching(tmp_path) as (batcher, engine):
        engine.error = RuntimeError("out of memory")
        with pytest.raises(RuntimeError, match="out of memory"):
            await batcher.embed(["chat", "chien"], prefix=PREFIX, priority=Priority.QUESTION)
        engine.error = None
        assert len(await batcher.embed(["chat"], prefix=PREFIX, priority=Priority.QUESTION)) == 1


async def test_a_text_over_the_limit_is_refused_before_it_waits(tmp_path: Path) -> None:
    async with batching(tmp_path) as (batcher, engine):
        with pytest.raises(InvalidArgument):
            await batcher.embed(["chat", text_of(TOKEN_LIMIT)], prefix=PREFIX, priority=Priority.BULK, wait=True)
        assert (engine.shapes, batcher._waiting_tokens) == ([], 0)


async def test_streams_work_at_the_same_time(tmp_path: Path) -> None:
    async with batching(tmp_path, streams=2) as (batcher, engine):
        engine.gate.clear()
        calls = []
        async with asyncio.timeout(10):
            for _ in range(2):
                calls.append(
                    asyncio.ensure_future(batcher.embed(["mot"], prefix=PREFIX, priority=Priority.QUESTION))
                )
                await asyncio.to_thread(engine.entered.acquire)
        engine.gate.set()
        await asyncio.gather(*calls)


async def ran_here(batcher: Batcher, engine: ArithmeticEngine, *texts: str, priority: Priority) -> bool:
    """Embed texts, and return whether the event loop's own thread ran the engine."""
    threads: list[int] = []
    run = engine.run
    engine.run = lambda *inputs: (threads.append(threading.get_ident()), run(*inputs))[1]  # type: ignore[method-assign]
    try:
        await batcher.embed(texts, prefix=PREFIX, priority=priority)
    finally:
        engine.run = run  # type: ignore[method-assign]
    return threads == [threading.get_ident()]


@pytest.fixture
def always_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no pause of the machine decide where a question is embedded."""
    monkeypatch.setattr(batcher_module, "INLINE_SECONDS_MAX", 60.0)
    monkeypatch.setattr(batcher_module, "INLINE_QUIET_SECONDS", -1.0)


@pytest.mark.usefixtures("always_quick")
async def test_a_short_question_by_itself_is_embedded_where_it_arrives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with batching(tmp_path) as (batcher, engine):
        # How long it takes is found out in a thread.
        assert not await ran_here(batcher, engine, "mot", priority=Priority.QUESTION)
        assert await ran_here(batcher, engine, "chat", priority=Priority.QUESTION)
        assert not await ran_here(batcher, engine, "chat", priority=Priority.INTERACTIVE)
        assert not await ran_here(batcher, engine, "chat", "chien", priority=Priority.QUESTION)
        monkeypatch.setattr(batcher_module, "INLINE_TOKENS_MAX", 6)
        assert await ran_here(batcher, engine, "chat dort", priority=Priority.QUESTION)
        assert not await ran_here(batcher, engine, "le chat dort", priority=Priority.QUESTION)


@pytest.mark.usefixtures("always_quick")
async def test_a_question_beside_others_is_put_together_with_them(tmp_path: Path) -> None:
    async with batching(tmp_path) as (batcher, engine):
        await batcher.embed(["mot"], prefix=PREFIX, priority=Priority.QUESTION)
        held = await hold(batcher, engine)
        asked = [
            asyncio.ensure_future(batcher.embed(["chat"], prefix=PREFIX, priority=Priority.QUESTION)) for _ in range(2)
        ]
        await queued(batcher, 10)
        engine.gate.set()
        await asyncio.gather(held, *asked)
        assert engine.shapes == [(1, 5), (1, 5), (2, 5)]


@pytest.mark.parametrize(("name", "value"), [("INLINE_SECONDS_MAX", 0.0), ("INLINE_QUIET_SECONDS", 60.0)])
@pytest.mark.usefixtures("always_quick")
async def test_the_event_loop_embeds_nothing_that_takes_long_or_may_have_waited(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: float
) -> None:
    monkeypatch.setattr(batcher_module, name, value)
    async with batching(tmp_path) as (batcher, engine):
        for _ in range(3):
            assert not await ran_here(batcher, engine, "mot", priority=Priority.QUESTION)


@pytest.mark.usefixtures("always_quick")
async def test_an_engine_that_fails_where_a_question_arrives_fails_that_question(tmp_path: Path) -> None:
    async with batching(tmp_path) as (batcher, engine):
        await batcher.embed(["mot"], prefix=PREFIX, priority=Priority.QUESTION)
        engine.error = RuntimeError("out of memory")
        with pytest.raises(RuntimeError, match="out of memory"):
            await batcher.embed(["mot"], prefix=PREFIX, priority=Priority.QUESTION)
        engine.error = None
        assert await ran_here(batcher, engine, "mot", priority=Priority.QUESTION)


async def test_closing_ends_who_waits(tmp_path: Path) -> None:
    async with batching(tmp_path) as (batcher, engine):
        held = await hold(batcher, engine)
        waiting = asyncio.ensure_future(batcher.embed(["mot"], prefix=PREFIX, priority=Priority.BULK))
        await queued(batcher, 5)
    for call in (held, waiting):
        with pytest.raises(Unavailable, match="is stopping"):
            await asyncio.wait_for(call, 5)


async def ended(call: asyncio.Future[object]) -> BaseException | None:
    """Return what a call was refused with, once it is."""
    async with asyncio.timeout(30):
        await asyncio.wait([call])
    return call.exception()


async def test_a_run_over_its_time_limit_fails_its_batch_refuses_all_others_and_ends_the_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    stopping, overruns = asyncio.Event(), overruns_total._value.get()
    async with batching(tmp_path, batch_seconds_max=0.05, stopping=stopping) as (batcher, engine):
        engine.gate.clear()
        # Both are there before the stream looks, and it takes the question.
        hung, waiting = (
            asyncio.ensure_future(batcher.embed([text_of(4)], prefix=PREFIX, priority=priority))
            for priority in (Priority.QUESTION, Priority.BULK)
        )
        told, refused = await ended(hung), await ended(waiting)
        assert isinstance(told, DeadlineExceeded)
        assert told.message.startswith("the embedding model took over 0.05 s for a batch of 8 tokens")
        assert "SOURCIER_EMBED_BATCH_SECONDS_MAX" in told.message
        assert isinstance(refused, Unavailable)
        assert stopping.is_set()
        assert batcher.lost is told
        with pytest.raises(Unavailable, match="is stopping"):
            await batcher.embed(["mot"], prefix=PREFIX, priority=Priority.QUESTION)
        with pytest.raises(Unavailable, match="is stopping"):
            await batcher.embed(["mot"], prefix=PREFIX, priority=Priority.BULK, wait=True)
        assert (engine.shapes, batcher._waiting_tokens) == ([(1, 8)], 0)
    assert overruns_total._value.get() == overruns + 1
    (line,) = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert "this process ends, for another one to be started" in line.message


async def test_a_caller_with_more_texts_is_told_of_the_one_that_hung(tmp_path: Path) -> None:
    # Unavailable would give its message attempts anew each time, and what hangs would come again for ever.
    async with batching(tmp_path, batch_seconds_max=0.05, batch_tokens_max=TOKEN_LIMIT) as (batcher, engine):
        engine.gate.clear()
        call = asyncio.ensure_future(batcher.embed([text_of(20)] * 3, prefix=PREFIX, priority=Priority.BULK))
        assert isinstance(await ended(call), DeadlineExceeded)


async def test_what_another_stream_has_in_hand_finishes_beside_one_that_is_lost(tmp_path: Path) -> None:
    async with batching(tmp_path, streams=2) as (batcher, engine):
        held = await hold(batcher, engine)
        batcher._batch_seconds_max = 0.05
        hung = asyncio.ensure_future(batcher.embed(["chat"], prefix=PREFIX, priority=Priority.BULK))
        assert isinstance(await ended(hung), DeadlineExceeded)
        engine.gate.set()
        assert await ended(held) is None


async def test_a_time_out_of_the_engine_itself_is_an_error_like_others(tmp_path: Path) -> None:
    stopping = asyncio.Event()
    async with batching(tmp_path, stopping=stopping) as (batcher, engine):
        engine.error = TimeoutError("the driver says so")
        with pytest.raises(TimeoutError, match="the driver"):
            await batcher.embed(["mot"], prefix=PREFIX, priority=Priority.BULK)
        engine.error = None
        assert len(await batcher.embed(["mot"], prefix=PREFIX, priority=Priority.BULK)) == 1
    assert not stopping.is_set()


async def test_a_text_apart_is_run_by_itself_in_its_turn(tmp_path: Path) -> None:
    async with batching(tmp_path) as (batcher, engine):
        held = await hold(batcher, engine)
        calls = []
        for number, apart in enumerate((False, True, False, True), start=1):
            calls.append(asyncio.ensure_future(
                batcher.embed([text_of(2 + number)], prefix=PREFIX, priority=Priority.BULK, apart=apart)
            ))
            await queued(batcher, sum(6 + each for each in range(1, number + 1)))
        engine.gate.set()
        encoded = await asyncio.gather(*calls)
        await held
        assert engine.shapes == [(1, 5), (2, 9), (1, 8), (1, 10)]
        assert [entry.token_count for (entry,) in encoded] == [7, 8, 9, 10]
        assert batcher._waiting_tokens == 0


async def test_warming_up_has_the_time_limit_of_a_batch(tmp_path: Path) -> None:
    async with batching(tmp_path, batch_seconds_max=0.05) as (batcher, engine):
        engine.gate.clear()
        with pytest.raises(DeadlineExceeded):
            await asyncio.wait_for(batcher.warm_up(), 30)


async def test_an_engine_that_never_rests_holds_up_neither_batches_nor_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batcher_module, "REST_SECONDS", 0.001)
    resting, threads, released = threading.Semaphore(0), [], threading.Event()

    def rest() -> None:
        threads.append(threading.current_thread().name)
        resting.release()
        assert released.wait(60)

    try:
        async with batching(tmp_path) as (batcher, engine), asyncio.timeout(30):
            monkeypatch.setattr(engine, "rest", rest)
            await asyncio.to_thread(resting.acquire)
            assert len(await batcher.embed(["mot"], prefix=PREFIX, priority=Priority.BULK)) == 1
    finally:
        released.set()
    # A thread of the event loop's own would be waited for when it closes.
    assert threads == ["resting_0"]


async def test_warming_up_runs_every_stream(tmp_path: Path) -> None:
    async with batching(tmp_path, streams=2) as (batcher, engine):
        await batcher.warm_up()
        assert len(engine.shapes) >= 2
        assert max(length for _, length in engine.shapes) > TOKEN_LIMIT // 2


async def test_an_engine_is_told_to_rest_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batcher_module, "REST_SECONDS", 0.001)
    async with batching(tmp_path) as (batcher, engine), asyncio.timeout(10):
        await batcher.embed(["mot"], prefix=PREFIX, priority=Priority.QUESTION)
        while engine.rests < 2:
            await asyncio.sleep(0.001)


async def test_a_tenant_with_much_to_embed_does_not_hold_up_another(tmp_path: Path) -> None:
    """The one text of another tenant is in the very next batch, behind however many of the first one's."""
    async with batching(tmp_path, batch_tokens_max=64, queue_tokens_max=100_000) as (batcher, engine):
        held = await hold(batcher, engine)
        done: list[str] = []

        async def embed(tenant: str, length: int) -> None:
            await batcher.embed([text_of(length)], prefix=PREFIX, priority=Priority.BULK, wait=True, tenant=tenant)
            done.append(tenant)

        crowd = [asyncio.ensure_future(embed("crowd", 20)) for _ in range(100)]
        await queued(batcher, 100 * 24)
        single = asyncio.ensure_future(embed("single", 2))
        await queued(batcher, 100 * 24 + 6)
        engine.gate.set()
        await asyncio.gather(held, single, *crowd)
    assert done.index("single") <= 2, done


async def test_tenants_share_by_tokens_and_not_by_texts(tmp_path: Path) -> None:
    async with batching(tmp_path, batch_tokens_max=32, queue_tokens_max=100_000) as (batcher, engine):
        held = await hold(batcher, engine)
        done: list[str] = []

        async def embed(tenant: str, length: int) -> None:
            await batcher.embed([text_of(length)], prefix=PREFIX, priority=Priority.BULK, wait=True, tenant=tenant)
            done.append(tenant)

        calls = [asyncio.ensure_future(embed("long", 26)) for _ in range(30)]  # 30 tokens each
        calls += [asyncio.ensure_future(embed("short", 11)) for _ in range(30)]  # 15 tokens each
        await queued(batcher, 30 * 30 + 30 * 15)
        engine.gate.set()
        await asyncio.gather(held, *calls)
    until_the_last_short = done[: len(done) - done[::-1].index("short")]
    assert 13 <= until_the_last_short.count("long") <= 17, done


async def test_one_tenants_texts_go_in_the_order_of_their_arrival(tmp_path: Path) -> None:
    async with batching(tmp_path, batch_tokens_max=32, queue_tokens_max=100_000) as (batcher, engine):
        held = await hold(batcher, engine)
        done: list[int] = []

        async def embed(number: int) -> None:
            await batcher.embed([text_of(26)], prefix=PREFIX, priority=Priority.BULK, wait=True, tenant="acme")
            done.append(number)

        calls = []
        for number in range(10):
            calls.append(asyncio.ensure_future(embed(number)))
            await queued(batcher, 30 * (number + 1))
        engine.gate.set()
        await asyncio.gather(held, *calls)
    assert done == list(range(10))
