"""Stands between the calls and the engine: a bound on what waits, deadlines, measures, and a watch on progress.

A dead engine may exit 0, and a hanging one answers health checks (vLLM #48966, #39863). So progress itself is watched,
and when it ends every stream ends UNAVAILABLE, and the process ends, non-zero.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import replace
from typing import TypeVar

from prometheus_client import Counter, Gauge, Histogram

from sourcier.services.chassis.errors import DeadlineExceeded
from sourcier.services.chassis.fair_turns import FairPlaces
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.telemetry import DURATION_BUCKETS
from sourcier.services.generate.engine import (
    Description,
    Engine,
    EngineDead,
    Finish,
    Generation,
    Message,
    Piece,
    Sampling,
    Scores,
    Scoring,
    Usage,
)
from sourcier.services.generate.scheduling.stalling import children_seconds, is_stalled
from sourcier.services.generate.scheduling.turns import Turns, bulk_turns_total
from sourcier.services.generate.scheduling.waiting import EngineWait

logger = logging.getLogger(__name__)

T = TypeVar("T")

CHECK_SECONDS = 0.5
CHARACTERS_PER_TOKEN = 4.0
"""Of prose, for whose turn it is: the engine alone counts exactly, once it has begun."""

first_token_seconds = Histogram(
    "sourcier_first_token_seconds", "Time from a generation's request to its first text.", buckets=DURATION_BUCKETS
)
score_seconds = Histogram(
    "sourcier_score_seconds", "Time to tell how likely a few answers are.", buckets=DURATION_BUCKETS
)
tokens_total = Counter("sourcier_tokens_total", "Tokens: prompt, cached (of the prompt), completion.", ["kind"])
generations_in_hand = Gauge("sourcier_generations_in_hand", "Generations admitted and not ended.")
engine_requests = Gauge("sourcier_engine_requests", "Requests inside the engine, by state.", ["state"])


class Supervisor:
    """Admits generations to one engine and watches it; a worker of the process's life cycle."""

    name = "engine watchdog"

    def __init__(
        self, engine: Engine, *, sequences_max: int, queue_max: int, stall_seconds: float,
        bulk_wait_seconds_max: float = 60.0, bulk_yields_max: int = 2,
    ) -> None:
        """Prepare to admit `sequences_max` generations at work and `queue_max` waiting ones, in turns by tenant.

        Those that nobody waits for wait apart, as many, for so long at most, and give way so often once begun.
        """
        self.in_hand = 0
        self._turns = Turns(waiting_max=queue_max, wait_seconds_max=bulk_wait_seconds_max)
        # An endpoint charges for what is thrown away, and does others' work beside ours anyway.
        self._bulk_yields_max = bulk_yields_max if engine.describe().supervised else 0
        self._engine = engine
        self._places = FairPlaces(
            places=sequences_max, waiting_max=queue_max,
            full=f"{{in_hand}} generations are in hand, {queue_max} of them waiting; try again later, add replicas, or "
                 "raise SOURCIER_GENERATE_QUEUE_MAX",
        )
        self._stall_seconds = stall_seconds
        self._death = ""
        self._waits: set[EngineWait] = set()
        self._pieces = 0
        self._seen = (0, 0)
        self._progress_at = time.monotonic()
        self._worked_at: float | None = None
        """The engine's processor time when progress was last seen; None until it is read."""

    def describe(self) -> Description:
        """Name the model and its limits."""
        return self._engine.describe()

    async def warm_up(self, *, seconds_max: float) -> None:
        """Run one short generation on an engine of our own, so that the first caller does not pay for first times."""
        if not self.describe().supervised:
            return
        started = time.monotonic()
        generation = Generation(
            id="warm-up", messages=(Message("user", "Bonjour"),), sampling=Sampling(tokens_max=2),
            deadline=asyncio.get_running_loop().time() + seconds_max,
        )
        async with aclosing(self.generate(generation)) as pieces:
            async for _ in pieces:
                pass
        logger.info("warm", extra={"seconds": round(time.monotonic() - started, 3)})

    async def generate(self, generation: Generation) -> AsyncGenerator[Piece, None]:
        """Yield the pieces of the answer; ResourceExhausted at once when too many wait.

        Those of a generation that nobody waits for come together, once it is whole.
        """
        if generation.bulk:
            for piece in await self._in_turn(generation):
                yield piece
            return
        with self._turns.taken():
            async with aclosing(self._generated(generation)) as pieces:
                async for piece in pieces:
                    yield piece

    async def _in_turn(self, generation: Generation) -> list[Piece]:
        """Return a whole generation, begun anew where it had to give way."""
        for attempt in range(self._bulk_yields_max + 1):
            # An engine may not have forgotten the attempt that it was told to end.
            named = replace(generation, id=f"{generation.id}-{attempt}") if attempt else generation
            gives_way = attempt < self._bulk_yields_max
            async with self._turns.turn(gives_way=gives_way, deadline=generation.deadline) as scope:
                try:
                    async with scope, aclosing(self._generated(named)) as pieces:
                        return [piece async for piece in pieces]
                except TimeoutError:
                    if not scope.expired():
                        raise
            bulk_turns_total.labels("gave_way").inc()
            logger.info("a generation gave way to one that somebody waits for", extra={"generation": generation.id})
        raise AssertionError("the last attempt gives way to nothing")

    async def _generated(self, generation: Generation) -> AsyncGenerator[Piece, None]:
        started = time.monotonic()
        answering = False
        async with self._admitted(generation):
            with self._waiting(generation.deadline) as wait:
                async with aclosing(self._engine.generate(generation)) as pieces:
                    while True:
                        piece = await self._next(pieces, wait)
                        self._pieces += 1
                        if isinstance(piece, Finish):
                            _count(piece.usage)
                            yield piece
                            return
                        if not answering:
                            answering = True
                            first_token_seconds.observe(time.monotonic() - started)
                        yield piece

    async def score(self, scoring: Scoring) -> Scores:
        """Return how likely the answers are; ResourceExhausted at once when too many requests wait."""
        with self._turns.taken():
            return await self._scored(scoring)

    async def _scored(self, scoring: Scoring) -> Scores:
        started = time.monotonic()
        async with self._admitted(scoring):
            with self._waiting(scoring.deadline) as wait:
                scores = await self._watched(
                    lambda: self._engine.score(scoring), wait,
                    late="the scoring did not end within the caller's deadline; allow more time, or send a shorter "
                         "prompt",
                )
        self._pieces += 1
        _count(scores.usage)
        score_seconds.observe(time.monotonic() - started)
        return scores

    async def run(self, stopping: asyncio.Event) -> None:
        """Watch the engine until told to stop; raises EngineDead, which ends the process."""
        while not stopping.is_set():
            self._check()
            if self._death:
                raise EngineDead(self._death)
            await first_of(stopping, seconds=min(CHECK_SECONDS, self._stall_seconds / 4))

    @asynccontextmanager
    async def _admitted(self, asked: Generation | Scoring) -> AsyncIterator[None]:
        """Hold a place at the engine, waited for in turns by tenant."""
        self._refuse_dead()
        if self.in_hand == 0:
            # What was idle has not been stalling.
            self._progress_at, self._worked_at = time.monotonic(), None
        self.in_hand += 1
        generations_in_hand.inc()
        try:
            await self._places.take(
                tenant=asked.tenant, cost=_cost(asked), deadline=asked.deadline,
                late="the model was busy until the caller's deadline; allow more time, or add replicas",
            )
            try:
                self._refuse_dead()
                yield
            finally:
                self._places.give_back()
        except EngineDead as error:
            self._die(error.message)
            raise
        finally:
            self.in_hand -= 1
            generations_in_hand.dec()

    def _refuse_dead(self) -> None:
        if self._death:
            raise EngineDead(self._death)

    @contextmanager
    def _waiting(self, deadline: float) -> Iterator[EngineWait]:
        """Enter one piece of work among those that the watch interrupts when the engine never answers."""
        with EngineWait(deadline=deadline) as wait:
            self._waits.add(wait)
            try:
                yield wait
            finally:
                self._waits.discard(wait)

    async def _next(self, pieces: AsyncGenerator[Piece, None], wait: EngineWait) -> Piece:
        """Return the engine's next piece."""
        try:
            return await self._watched(
                pieces.__anext__, wait,
                late="the generation did not end within the caller's deadline; allow more time, or ask for fewer "
                     "tokens with sampling.tokens_max",
            )
        except StopAsyncIteration as error:
            raise EngineDead("the engine ended a generation without saying why") from error

    async def _watched(self, work: Callable[[], Awaitable[T]], wait: EngineWait, *, late: str) -> T:
        """Return what the engine comes to within the wait."""
        try:
            return await wait.wait_for(work)
        except TimeoutError as error:
            if self._death:
                raise EngineDead(self._death) from error
            raise DeadlineExceeded(late) from error

    def _check(self) -> None:
        status = self._engine.status()
        engine_requests.labels("running").set(status.running)
        engine_requests.labels("waiting").set(status.waiting + self._places.waiting)
        if status.dead:
            self._die(f"the engine died: {status.dead}; the process restarts: try again in a moment")
        now = time.monotonic()
        seen = (status.steps, self._pieces)
        if self.in_hand == 0 or seen != self._seen or not self.describe().supervised:
            self._seen, self._progress_at, self._worked_at = seen, now, None
            return
        # Read only where nothing moves: it costs a look at every process of the machine.
        worked = children_seconds()
        if self._worked_at is None:
            self._worked_at = worked
        waited = now - self._progress_at
        if is_stalled(waited=waited, worked=worked - self._worked_at, limit=self._stall_seconds):
            self._die(f"the engine has made no progress for {waited:.3g} s with {self.in_hand} generations in hand "
                      "(on a machine with much other work, SOURCIER_GENERATE_STALL_SECONDS allows more); the process "
                      "restarts: try again in a moment")

    def _die(self, why: str) -> None:
        """Remember why, and end every generation that waits for the engine."""
        if self._death:
            return
        self._death = why
        logger.error("the engine is dead: %s", why)
        for wait in tuple(self._waits):
            wait.give_up()


def _cost(asked: Generation | Scoring) -> float:
    """Return about how many tokens the engine reads and writes for it."""
    prompt = sum(len(message.content) for message in asked.messages) / CHARACTERS_PER_TOKEN
    return prompt + (asked.sampling.tokens_max if isinstance(asked, Generation) else 1)


def _count(usage: Usage) -> None:
    tokens_total.labels("prompt").inc(usage.prompt_tokens)
    tokens_total.labels("cached").inc(usage.cached_tokens)
    tokens_total.labels("completion").inc(usage.completion_tokens)
