"""Batches by token budget: what waits is put together by similar length, questions first.

A batch costs its padded tokens, texts × longest text, so what waits is cut by length into batches within the budget,
and the batch of the text whose turn it is goes first: that of the tenant that has had least tokens of late, the oldest
of its texts. Its neighbours in length, whoever's they are, fill the batch.

Inference runs in as many threads as the engine has streams. A short question that nobody asks beside is embedded where
it arrives, as long as that takes milliseconds: to wake a thread, and be woken by it, would take half of one. The event
loop is blocked for no longer than that.

A thread that the engine never gives back cannot be stopped, and its stream is lost. So a run over its time limit ends
the process, which a supervisor starts anew; until then it takes no more texts.
"""

from __future__ import annotations

import asyncio
import bisect
import logging
import math
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from types import TracebackType
from typing import Self, TypeVar

from prometheus_client import Counter, Gauge, Histogram

from sourcier.services.chassis.errors import DeadlineExceeded, ResourceExhausted, Unavailable
from sourcier.services.chassis.fair_turns import VirtualTime
from sourcier.services.chassis.tracing import gen_ai
from sourcier.services.chassis.tracing.spans import Span
from sourcier.services.embed.encoder import Encoded, Encoder, Tokens

logger = logging.getLogger(__name__)

Order = TypeVar("Order", int, tuple[float, int])

TEXT_TOKENS_MIN = 16
"""A batch has as many texts at most as if each had so many tokens: 64 of 1,024."""
SHARE_TOKENS_MIN = 256
"""The least that a batch is cut down to so that all streams end together; smaller ones read the weights too often."""
REST_SECONDS = 300.0
"""What a load has made the engine keep goes after one to two times as long without it: loads come in bursts, as a
crawler or a person brings them, and each that finds nothing kept has to earn it anew."""
INLINE_CHARACTERS_MAX = 400
"""Up to so many are tokenised where they arrive: a question takes less time than to hand it to a thread and back."""
INLINE_TOKENS_MAX, INLINE_SECONDS_MAX = 32, 0.01
"""A question of so many tokens is embedded where it arrives, if the last one took no longer than that."""
INLINE_QUIET_SECONDS = 0.001
"""What comes sooner after the last text was embedded may have waited for it: then several ask, and threads, which put
their questions together, are faster."""

tokens_total = Counter("sourcier_embed_tokens_total", "Tokens embedded.", ["kind"])
queue_tokens = Gauge("sourcier_embed_queue_tokens", "Tokens waiting to be embedded.")
batch_texts = Histogram("sourcier_embed_batch_texts", "Texts per batch.",
                        buckets=(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024))
overruns_total = Counter("sourcier_embed_overruns_total", "Batches over the time limit, which end the process.")


class Priority(IntEnum):
    """Who waits: a person for a question, a person for an upload, a load in the background."""

    QUESTION = 0
    INTERACTIVE = 1
    BULK = 2


@dataclass(order=True)
class _Waiting:
    """One text in the queue, ordered by length for its neighbours."""

    length: int
    arrival: int
    turn: float = field(compare=False)
    """Where it starts in the virtual time of its priority."""
    tokens: Tokens = field(compare=False)
    result: asyncio.Future[Encoded] = field(compare=False)
    apart: bool = field(compare=False)

    @property
    def order(self) -> tuple[float, int]:
        """What is smaller goes first: by its turn, of those with the same by arrival."""
        return self.turn, self.arrival


class Batcher:
    """The queue in front of the encoder; use it as an async context manager."""

    def __init__(
        self, encoder: Encoder, *, streams: int, queue_tokens_max: int, batch_tokens_max: int,
        batch_seconds_max: float, stopping: asyncio.Event,
    ) -> None:
        """Take the limits, and what is set when a run takes too long: then the process has to end."""
        self.encoder = encoder
        self.lost: DeadlineExceeded | None = None
        """Why the process has to end, once it has to."""
        self._streams = streams
        self._queue_tokens_max = queue_tokens_max
        self._batch_tokens_max = max(batch_tokens_max, encoder.token_limit)
        self._batch_texts_max = self._batch_tokens_max // TEXT_TOKENS_MIN
        self._batch_seconds_max = batch_seconds_max
        self._stopping = stopping
        self._waiting: dict[Priority, list[_Waiting]] = {priority: [] for priority in Priority}
        self._turns = {priority: VirtualTime() for priority in Priority}
        self._waiting_tokens = 0
        self._arrivals = 0
        self._wake = asyncio.Event()
        self._in_hand = 0
        self._idle_since = 0.0
        self._question_seconds = math.inf
        self._inference = ThreadPoolExecutor(max_workers=streams, thread_name_prefix="inference")
        self._tokenizing = ThreadPoolExecutor(max_workers=1, thread_name_prefix="tokenizing")
        # Not the event loop's own threads, whose end is waited for when it closes: an engine may hang here, too.
        self._resting = ThreadPoolExecutor(max_workers=1, thread_name_prefix="resting")
        self._runners: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        self._runners = [
            asyncio.create_task(self._run(), name=f"embed stream {number}") for number in range(self._streams)
        ]
        self._runners.append(asyncio.create_task(self._rest(), name="embed rest"))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for runner in self._runners:
            runner.cancel()
        await asyncio.gather(*self._runners, return_exceptions=True)
        for queue in self._waiting.values():
            _refuse(queue)
        for executor in (self._inference, self._tokenizing, self._resting):
            executor.shutdown(wait=False, cancel_futures=True)

    async def warm_up(self) -> None:
        """Run shapes that will come, so that the first caller does not pay for compiling them.

        Raises DeadlineExceeded where one takes longer than a batch may: such an engine would end at its first load.
        """
        prefix = self.encoder.model.manifest.passage_prefix
        short, long = (" ".join(["mot"] * (self.encoder.token_limit // part)) for part in (12, 2))
        for _ in range(self._streams):
            await self.embed([short, long], prefix=prefix, priority=Priority.BULK)

    def step(self, texts: Sequence[str]) -> AbstractContextManager[Span]:
        """Make a block that embeds texts a step of the trace under way."""
        manifest = self.encoder.model.manifest
        return gen_ai.embeddings(
            model=manifest.label, engine=self.encoder.engine.name, dimension=manifest.dimension, texts=len(texts)
        )

    async def embed(
        self, texts: Sequence[str], *, prefix: str, priority: Priority, wait: bool = False, field: str = "texts",
        keeps_hidden: bool = True, apart: bool = False, tenant: str = "",
    ) -> list[Encoded]:
        """Embed texts, or raise ResourceExhausted at once when the queue is full. Tenants' texts take turns.

        `wait` is for callers that bound themselves, as a worker does by its slots: they are never refused. Without
        `keeps_hidden` the token vectors are left out, and their signs stay. `apart` runs each text by itself. Raises
        DeadlineExceeded where a run takes too long, and Unavailable for whatever waits then or comes after it.
        """
        loop = asyncio.get_running_loop()
        tokenize = partial(self.encoder.tokenize, texts, prefix=prefix, field=field, keeps_hidden=keeps_hidden)
        if sum(map(len, texts)) <= INLINE_CHARACTERS_MAX:
            tokens = tokenize()
        else:
            tokens = await loop.run_in_executor(self._tokenizing, tokenize)
        needed = sum(item.count for item in tokens)
        if self.lost is not None:
            raise _ending()
        if self._waiting_tokens + needed > self._queue_tokens_max and self._waiting_tokens > 0 and not wait:
            raise ResourceExhausted(
                f"{self._waiting_tokens} tokens wait to be embedded, the most is {self._queue_tokens_max}; "
                "try again in a moment"
            )
        try:
            if priority is Priority.QUESTION and self._is_alone(tokens):
                encoded = self._encoded(tokens)
                self._idle_since = time.monotonic()
                return encoded
            return list(await asyncio.gather(
                *(self._enqueue(item, priority, loop, apart=apart, tenant=tenant) for item in tokens)
            ))
        except asyncio.CancelledError:
            # A caller that went away holds no place: who comes next may be let in.
            self._drop_ended(priority)
            raise
        finally:
            tokens_total.labels(priority.name.lower()).inc(needed)

    def _is_alone(self, tokens: Sequence[Tokens]) -> bool:
        """Return whether this is a short question that nobody asks beside, and embedding it is quick here.

        Nothing in this process limits its time: a run that hangs here, or holds the interpreter in a thread, holds the
        event loop. Then heartbeats stop, so that others get the messages after the ack wait, and health is not
        answered, so that the supervisor or a liveness probe ends the process.
        """
        return (
            len(tokens) == 1 and tokens[0].count <= INLINE_TOKENS_MAX
            and self._question_seconds <= INLINE_SECONDS_MAX
            and not self._in_hand and not self._waiting_tokens
            and time.monotonic() - self._idle_since > INLINE_QUIET_SECONDS
        )

    def _encoded(self, batch: Sequence[Tokens]) -> list[Encoded]:
        """Embed a batch, and note how long a short text by itself takes. Blocks."""
        batch_texts.observe(len(batch))
        started = time.monotonic()
        encoded = self.encoder.encode(batch)
        if len(batch) == 1 and batch[0].count <= INLINE_TOKENS_MAX:
            self._question_seconds = time.monotonic() - started
        return encoded

    def _enqueue(
        self, tokens: Tokens, priority: Priority, loop: asyncio.AbstractEventLoop, *, apart: bool, tenant: str
    ) -> asyncio.Future[Encoded]:
        self._arrivals += 1
        turn = self._turns[priority].charge(tenant, cost=tokens.count)
        waiting = _Waiting(tokens.count, self._arrivals, turn, tokens, loop.create_future(), apart)
        bisect.insort(self._waiting[priority], waiting)
        self._count(tokens.count)
        self._wake.set()
        return waiting.result

    def _count(self, tokens: int) -> None:
        self._waiting_tokens += tokens
        queue_tokens.set(self._waiting_tokens)

    async def _run(self) -> None:
        loop = asyncio.get_running_loop()
        while self.lost is None:
            batch = self._next_batch()
            if not batch:
                self._wake.clear()
                await self._wake.wait()
                continue
            self._in_hand += 1
            try:
                async with asyncio.timeout(self._batch_seconds_max) as limit:
                    encoded = await loop.run_in_executor(
                        self._inference, self._encoded, [waiting.tokens for waiting in batch]
                    )
            except asyncio.CancelledError:
                _refuse(batch)
                raise
            except Exception as error:  # outermost loop of the stream's task: the callers get it
                if isinstance(error, TimeoutError) and limit.expired():
                    self._lose(batch)
                else:
                    _fail(batch, error)
                continue
            finally:
                self._in_hand -= 1
                self._idle_since = time.monotonic()
            for waiting, result in zip(batch, encoded, strict=True):
                if not waiting.result.done():
                    waiting.result.set_result(result)

    def _lose(self, batch: Sequence[_Waiting]) -> None:
        """Give up a batch whose run took too long, refuse all that waits, and have the process end.

        What other streams have in hand may finish while it does.
        """
        overruns_total.inc()
        lost = DeadlineExceeded(
            f"the embedding model took over {self._batch_seconds_max:g} s for a batch of "
            f"{sum(waiting.length for waiting in batch)} tokens; where it is slow rather than stuck, raise "
            "SOURCIER_EMBED_BATCH_SECONDS_MAX"
        )
        # First, so that a caller with more texts, which wait, is told this: its attempts are counted, those of who was
        # merely beside it begin anew (sourcier/services/chassis/queue/consuming.py).
        _fail(batch, lost)
        logger.error("%s; its thread cannot be stopped, so this process ends, for another one to be started",
                     lost.message, extra={"reason": lost.reason, "texts": len(batch)})
        self.lost = self.lost or lost
        for priority, queue in self._waiting.items():
            _refuse(queue)
            self._drop_ended(priority)
        self._stopping.set()

    async def _rest(self) -> None:
        # Without a limit: while the engine holds this thread, batches go on, or meet theirs.
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(REST_SECONDS)
            await loop.run_in_executor(self._resting, self.encoder.engine.rest)

    def _next_batch(self) -> list[_Waiting]:
        for priority in Priority:
            queue = self._waiting[priority]
            self._drop_ended(priority)
            if queue:
                start, end = batch_of_next(
                    [self.encoder.padded_length(waiting.length) for waiting in queue],
                    [waiting.order for waiting in queue], streams=self._streams,
                    tokens_max=self._batch_tokens_max, texts_max=self._batch_texts_max,
                )
                self._turns[priority].serve(min(waiting.turn for waiting in queue))
                batch, queue[start:end] = _together(queue[start:end])
                self._count(-sum(waiting.length for waiting in batch))
                return batch
        return []

    def _drop_ended(self, priority: Priority) -> None:
        """Take out what nobody waits for any more: the texts of a cancelled caller, or of one whose batch failed."""
        queue = self._waiting[priority]
        ended = sum(waiting.length for waiting in queue if waiting.result.done())
        if ended:
            queue[:] = [waiting for waiting in queue if not waiting.result.done()]
            self._count(-ended)


def _ending() -> Unavailable:
    return Unavailable("the embed service is stopping; try again in a moment")


def _refuse(texts: Sequence[_Waiting]) -> None:
    for waiting in texts:
        if not waiting.result.done():
            waiting.result.set_exception(_ending())


def _fail(texts: Sequence[_Waiting], error: Exception) -> None:
    for waiting in texts:
        if not waiting.result.done():
            waiting.result.set_exception(error)


def _together(texts: list[_Waiting]) -> tuple[list[_Waiting], list[_Waiting]]:
    """Return what of these may be one batch, and what waits on: the next in turn is run by itself where it is to be
    apart, else with all that are not."""
    if not any(waiting.apart for waiting in texts):
        return texts, []
    first = min(texts, key=lambda waiting: waiting.order)
    if first.apart:
        return [first], [waiting for waiting in texts if waiting is not first]
    return [waiting for waiting in texts if not waiting.apart], [waiting for waiting in texts if waiting.apart]


def batch_of_next(
    lengths: Sequence[int], orders: Sequence[Order], *, streams: int, tokens_max: int, texts_max: int
) -> tuple[int, int]:
    """Return the slice of ascending lengths to run next: the queue is cut from its longest text down into batches as
    large as the budget lets them be, and the one that holds the text of the lowest order is taken.

    Towards the end of the queue batches shrink to half of a stream's part of what is left, so that no stream ends long
    after the others, and few lengths are mixed (guided self-scheduling, Polychronopoulos and Kuck, 1987). A length's
    batches have the budget's number of texts, or a half of it, a quarter and so on: an engine that compiles code for
    each shape meets few of them. A text longer than the budget is a batch of its own.
    """
    first = min(range(len(orders)), key=orders.__getitem__)
    share = max(sum(lengths) // (2 * streams), SHARE_TOKENS_MIN)

    def fitting(longest: int) -> int:
        texts = max(1, min(texts_max, tokens_max // longest))
        while texts > 1 and texts * longest > share:
            texts //= 2
        return texts

    end = len(lengths)
    while (texts := fitting(lengths[end - 1])) < end:
        if end - texts <= first:
            return end - texts, end
        end -= texts
    # The shortest are too few for a batch: longer ones join them, as far as they fit.
    while end < len(lengths) and end < fitting(lengths[end]):
        end += 1
    texts = fitting(lengths[end - 1])
    while texts > end:
        texts //= 2
    start = end - texts if end - texts <= first else 0
    return start, start + texts
