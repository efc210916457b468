"""What it costs to keep answers resumable: delay of a token on its way to the client, and CPU, at 50 tokens a second.

A scripted engine tells each token with the time it was made; a client over gRPC in the same process reads it. Three
ways take turns: the events sent straight from the call, the answer owned by the process, and owned and copied to NATS.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack, aclosing
from functools import partial
from pathlib import Path
from typing import Any

import psutil

from bench.measuring import Table, interleave, percentile
from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.gateway.contract.answers import EventStream
from sourcier.services.gateway.events import Event, Finished, Outcome, Token
from sourcier.services.gateway.live.answers import Answers
from sourcier.services.gateway.live.log import AnswerLog
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings

TOKENS_PER_SECOND = 50
STREAMS = 20
SECONDS, SECONDS_QUICK = 4.0, 1.0
ROUNDS = 7


async def run(*, quick: bool) -> list[Table]:
    """Read so many answers at once in each way."""
    delay = Table("delay of a token", "ms, p95 of a round", higher_is_better=False)
    cost = Table("CPU of gateway and client", "ms per 1,000 tokens", higher_is_better=False)
    with tempfile.TemporaryDirectory(prefix="sourcier-bench-") as folder:
        settings = NatsServerSettings(folder=Path(folder) / "nats", log=Path(folder) / "nats.log")
        async with AsyncExitStack() as opened:
            nats = await opened.enter_async_context(NatsServer(settings))
            log = await opened.enter_async_context(AnswerLog(url=nats.url, prefix="bench."))
            ways: dict[str, Answers | None] = {"straight": None}
            for name, way in (("owned", None), ("owned and copied", log)):
                ways[name] = await opened.enter_async_context(
                    Answers(way, linger_seconds=60, answers_max=1_000, grace_seconds=5)
                )
            seconds = SECONDS_QUICK if quick else SECONDS
            contestants = {
                name: partial(_round, name, _Scripted(answers, seconds),  # type: ignore[abstract]  # only Ask is called
                              delay, cost)
                for name, answers in ways.items()
            }
            await interleave(delay, contestants, rounds=1 if quick else ROUNDS)
    for contestant in ways:
        cost.samples[contestant] = cost.samples[contestant][1:]  # the round that does not count
    for name in ("owned", "owned and copied"):
        for table in (delay, cost):
            table.ratio(name, "straight")
    delay.notes["straight"] = f"{STREAMS} streams at {TOKENS_PER_SECOND} tokens/s"
    return [delay, cost]


async def _round(name: str, scripted: _Scripted, delay: Table, cost: Table) -> float:
    process = psutil.Process()
    async with Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=1_000) as server:
        server.add(answer_pb2_grpc.add_AnswerServiceServicer_to_server, scripted,
                   "sourcier.gateway.v1.AnswerService")
        await server.start()
        channel = open_channel(f"127.0.0.1:{server.port}")
        stub = answer_pb2_grpc.AnswerServiceStub(channel)
        before = process.cpu_times()
        readings = await asyncio.gather(*(_read(stub, place / STREAMS) for place in range(STREAMS)))
        after = process.cpu_times()
        await channel.close()
    delays = [each for reading in readings for each in reading]
    used = after.user + after.system - before.user - before.system
    cost.add(name, used * 1000 / (len(delays) / 1000))
    return percentile(delays, 0.95) * 1000


async def _read(stub: Any, share: float) -> list[float]:
    # Real streams do not tick together.
    await asyncio.sleep(share / TOKENS_PER_SECOND)
    delays = []
    call = stub.Ask(answer_pb2.AskRequest(question="?"), timeout=60)
    async for response in call:
        if response.event.HasField("token"):
            delays.append(time.perf_counter() - float(response.event.token.text))
    return delays


class _Scripted(answer_pb2_grpc.AnswerServiceServicer):
    def __init__(self, answers: Answers | None, seconds: float) -> None:
        self._answers = answers
        self._tokens = int(seconds * TOKENS_PER_SECOND)

    async def Ask(  # noqa: N802 - named by the contract
        self, request: answer_pb2.AskRequest, context: Any
    ) -> AsyncIterator[answer_pb2.AskResponse]:
        if self._answers is None:
            stream = EventStream("straight")
            async for event in self._made(""):
                yield answer_pb2.AskResponse(event=stream.event(event))
            return
        answer = self._answers.start(self._made, tenant="default")
        async with aclosing(answer.read(after_sequence=0)) as events:
            async for each in events:
                yield answer_pb2.AskResponse(event=each)

    async def _made(self, _: str) -> AsyncGenerator[Event, None]:
        for _number in range(self._tokens):
            await asyncio.sleep(1 / TOKENS_PER_SECOND)
            yield Token(f"{time.perf_counter():.6f}")
        yield Finished(Outcome.ANSWERED, {})
