"""What the way from the language model's tokens to a client adds: delay, CPU, and how much passes at all.

A scripted engine in a process of its own says when it began, so that each token is known to be due. Its tokens go
through the gateway's own server, client, ownership and copy (`bench/streaming/token_relay.py`), beside an engine and
a relay of bare grpc.aio (`bench/peers/relay.py`). The sentence check is not on this way:
`bench/streaming/asking.py` has it.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc.aio
import psutil

from bench.environment import opened_together
from bench.measuring import Curve, Table, percentile
from bench.streaming.streams import Processes, Reading, read_all, running, scripted_generate
from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings

TOKENS_PER_SECOND = 50
TOKENS, TOKENS_QUICK, TOKENS_SLOW = 256, 64, 96
SPREAD_SECONDS = 0.5
DELAY_MS_MAX = {50: 10.0, 200: 50.0}
LOG_COST_MAX = 1.15
FAST_PER_SECOND, FAST_TOKENS, FAST_STREAMS = 2_000, 3_000, 32
LONG_WORD = " " + "m" * 4_000
"""What a slow reader leaves fills the windows of its connection within the first half of a round."""
SLOW_READERS, SLOW_OTHERS = 10, 190
SLOW_READ_SECONDS = 1.0
"""Between two messages of a slow reader."""
SLOW_ROUNDS, SLOW_ROUNDS_QUICK = 9, 1
"""Of each kind, shorter than the others: one pause of the machine decides the p99 of the round that it falls into, and
the median of two rounds is their mean."""
OLDER_POLLER = {"GRPC_EXPERIMENTS": "-event_engine_client,-event_engine_listener"}
"""What our services set for themselves (sourcier/services/__init__.py); the bare relay is as it comes."""
GATHERED = (1_000_000, 11_000, 8_000, 6_500, 5_000)
"""Messages a second from which on the generate service gathers tokens; the first is never reached."""


@dataclass(frozen=True)
class Way:
    """One way of a stream."""

    method: Any
    processes: Processes
    target: str
    bare: bool = False

    def request(self, tokens: int, rate: int, *, words: str = "short") -> Any:
        """Return the request for so many tokens at so many a second."""
        if self.bare:
            return f"{tokens} {rate}".encode()
        return answer_pb2.AskRequest(question=f"{words} {tokens} {rate}")

    def text(self, response: Any) -> str:
        """Return the text of a message."""
        return str(response.decode() if self.bare else response.event.token.text)

    async def read(self, streams: int, *, tokens: int, rate: int = TOKENS_PER_SECOND, words: str = "short",
                   over_seconds: float = SPREAD_SECONDS) -> list[Reading]:
        """Read so many streams at once; each has to be whole."""
        request = self.request(tokens, rate, words=words)
        readings = await read_all(self.method, [request] * streams, self.text, over_seconds=over_seconds)
        assert all(reading.tokens == tokens for reading in readings), [reading.tokens for reading in readings]
        return readings


def script(*, tokens: int) -> dict[str, Any]:
    """Return the script of the answers that are asked for, `short 256 50` for example."""
    wanted = [("short", tokens, TOKENS_PER_SECOND), ("short", FAST_TOKENS, FAST_PER_SECOND),
              ("short", TOKENS_SLOW, TOKENS_PER_SECOND), ("long", TOKENS_SLOW, TOKENS_PER_SECOND)]
    return {"rules": [
        {"pattern": rf"{words} {count} {rate}$", "tokens_per_second": rate,
         "text": "{clock}" + (LONG_WORD if words == "long" else " mot") * (count - 1)}
        for words, count, rate in wanted
    ]}


@asynccontextmanager
async def relayed(
    folder: Path, *, tokens: int, log: bool = True, uvloop: bool = True, rules: Sequence[Mapping[str, Any]] = (),
    variables: Mapping[str, str] | None = None,
) -> AsyncIterator[Way]:
    """Open Sourcier's way, with the copy of answers in NATS or without; `rules` are further ones of the script."""
    async with AsyncExitStack() as opened:
        said = script(tokens=tokens)
        engine, address = await opened.enter_async_context(scripted_generate(
            {"rules": [*said["rules"], *rules]}, folder, uvloop=uvloop, variables=variables
        ))
        arguments, processes = [address], {"generate": engine}
        if log:
            nats = await opened.enter_async_context(NatsServer(NatsServerSettings(
                folder=folder / f"nats-{address}", log=folder / f"nats-{address}.log"
            )))
            arguments.append(nats.url)
            children = psutil.Process().children(recursive=True)
            processes["nats"] = max(
                (child for child in children if "nats-server" in child.name()), key=psutil.Process.create_time
            ).pid
        processes["gateway"], port = await opened.enter_async_context(
            running("bench.streaming.token_relay", *arguments, uvloop=uvloop, variables=variables)
        )
        channel = open_channel(f"127.0.0.1:{port}")
        opened.push_async_callback(channel.close)
        way = Way(answer_pb2_grpc.AnswerServiceStub(channel).Ask, Processes(processes), f"127.0.0.1:{port}")
        await way.read(1, tokens=FAST_TOKENS, rate=FAST_PER_SECOND)
        yield way


@asynccontextmanager
async def bare(*, uvloop: bool = True, variables: Mapping[str, str] | None = None) -> AsyncIterator[Way]:
    """Open the peer's way."""
    async with AsyncExitStack() as opened:
        engine, engine_port = await opened.enter_async_context(running(
            "bench.peers.relay", "engine", uvloop=uvloop, variables=variables
        ))
        relay, port = await opened.enter_async_context(
            running("bench.peers.relay", "relay", f"127.0.0.1:{engine_port}", uvloop=uvloop, variables=variables)
        )
        channel = open_channel(f"127.0.0.1:{port}")
        opened.push_async_callback(channel.close)
        way = Way(channel.unary_stream("/bench.Stream/Read"), Processes({"engine": engine, "relay": relay}),
                  f"127.0.0.1:{port}", bare=True)
        await way.read(1, tokens=FAST_TOKENS, rate=FAST_PER_SECOND)
        yield way


async def run(*, quick: bool) -> list[Table]:
    """Measure delay and CPU at a model's pace, then as fast as possible, the settings, and slow readers."""
    tokens = TOKENS_QUICK if quick else TOKENS
    rounds = 1 if quick else 3
    with tempfile.TemporaryDirectory(prefix="sourcier-bench-") as name:
        folder = Path(name)
        async with AsyncExitStack() as opened:
            peer, held, copied = await opened_together(
                opened, bare(), relayed(folder, tokens=tokens, log=False), relayed(folder, tokens=tokens)
            )
            ways = {"bare grpc.aio": peer, "Sourcier without log": held, "Sourcier": copied}
            tables = await _paced(ways, tokens=tokens, rounds=rounds)
            if not quick:
                tables[0].curves.append(await _curve(ways, tables[0]))
            tables.append(await _fast(ways, rounds=rounds))
            tables.append(await _slow_readers(copied, rounds=SLOW_ROUNDS_QUICK if quick else SLOW_ROUNDS))
        if not quick:
            tables += await _settings(folder)
    return tables


async def _paced(ways: Mapping[str, Way], *, tokens: int, rounds: int) -> list[Table]:
    delay = Table("added delay of a token", "ms, p99 of a round", higher_is_better=False)
    cost = Table("CPU of a token, clients apart", "µs", higher_is_better=False)
    found: dict[str, list[float]] = {}
    contestants = [(name, streams) for streams in DELAY_MS_MAX for name in ways]
    for name in ways:
        found[_label(name, 1)], _ = await _round(ways[name], 1, tokens=tokens)
        delay.add(_label(name, 1), percentile(found[_label(name, 1)], 0.99))
    for number in range(rounds):
        for name, streams in contestants[number % len(contestants):] + contestants[: number % len(contestants)]:
            label = _label(name, streams)
            delays, used = await _round(ways[name], streams, tokens=tokens)
            delay.add(label, percentile(delays, 0.99))
            cost.add(label, sum(spent for process, spent in used.items() if process != "client"))
            cost.notes[label] = ", ".join(f"{process} {spent:.0f}" for process, spent in used.items())
            found.setdefault(label, []).extend(delays)
    for label, delays in found.items():
        delay.notes[label] = f"p50 {percentile(delays, 0.5):.1f}, p95 {percentile(delays, 0.95):.1f}"
    for streams, at_most in DELAY_MS_MAX.items():
        delay.limit(f"Sourcier, {streams} streams", at_most=at_most)
        delay.ratio(f"Sourcier, {streams} streams", f"bare grpc.aio, {streams} streams")
        cost.ratio(f"Sourcier, {streams} streams", f"bare grpc.aio, {streams} streams")
        cost.ratio(f"Sourcier, {streams} streams", f"Sourcier without log, {streams} streams", target=LOG_COST_MAX)
    return [delay, cost]


def _label(name: str, streams: int) -> str:
    return f"{name}, {streams} stream{'s' if streams > 1 else ''}"


async def _round(way: Way, streams: int, *, tokens: int) -> tuple[list[float], dict[str, float]]:
    """Return the delays of all tokens in ms, and the CPU of a token by process in µs."""
    before = way.processes.cpu_seconds()
    readings = await way.read(streams, tokens=tokens)
    after = way.processes.cpu_seconds()
    delays = [1000 * delay for reading in readings for delay in reading.delays(TOKENS_PER_SECOND)]
    return delays, {name: 1e6 * (after[name] - before[name]) / len(delays) for name in after}


async def _curve(ways: Mapping[str, Way], delay: Table) -> Curve:
    series = {name: [(float(streams), delay.median(_label(name, streams))) for streams in (1, *DELAY_MS_MAX)]
              for name in ways}
    for streams in (10, 100):
        for name, way in ways.items():
            delays, _ = await _round(way, streams, tokens=TOKENS)
            series[name] = sorted([*series[name], (float(streams), percentile(delays, 0.99))])
    return Curve(f"Added delay at {TOKENS_PER_SECOND} tokens/s a stream", "streams", "ms, p99", series, log_y=True)


async def _fast(ways: Mapping[str, Way], *, rounds: int) -> Table:
    table = Table("as fast as possible", "tokens/s")
    for number in range(rounds):
        names = list(ways)
        for name in names[number % len(names):] + names[: number % len(names)]:
            started = time.monotonic()
            # One message a token takes the peer long enough for a third of them.
            tokens = FAST_TOKENS // 3 if ways[name].bare else FAST_TOKENS
            readings = await ways[name].read(FAST_STREAMS, tokens=tokens, rate=FAST_PER_SECOND, over_seconds=0)
            total = sum(reading.tokens for reading in readings)
            table.add(name, total / (time.monotonic() - started))
            messages = sum(len(reading.arrivals) for reading in readings)
            table.notes[name] = f"{total / messages:.1f} tokens a message"
    table.ratio("Sourcier", "bare grpc.aio")
    table.ratio("Sourcier", "Sourcier without log", target=1 / LOG_COST_MAX)
    return table


async def _slow_readers(way: Way, *, rounds: int) -> Table:
    table = Table(f"added delay beside others of long words, {SLOW_OTHERS} streams", "ms, p99 of a round",
                  higher_is_better=False)
    request = way.request(TOKENS_SLOW, TOKENS_PER_SECOND, words="long")
    none, fast, slow = "none", f"{SLOW_READERS} that read", f"{SLOW_READERS} that read a message a second"
    pauses = {none: None, fast: 0.0, slow: SLOW_READ_SECONDS}
    # A connection of their own, as another client has.
    async with grpc.aio.insecure_channel(way.target, options=(("grpc.use_local_subchannel_pool", 1),)) as channel:
        ask = answer_pb2_grpc.AnswerServiceStub(channel).Ask
        for number in range(rounds):
            labels = list(pauses)
            for label in labels[number % len(labels):] + labels[: number % len(labels)]:
                pause = pauses[label]
                readers = [] if pause is None else [
                    asyncio.ensure_future(_drain(ask(request, timeout=60), pause)) for _ in range(SLOW_READERS)
                ]
                delays, _ = await _round(way, SLOW_OTHERS, tokens=TOKENS_SLOW)
                for reader in readers:
                    reader.cancel()
                await asyncio.gather(*readers, return_exceptions=True)
                table.add(label, percentile(delays, 0.99))
    table.ratio(slow, fast, target=1.2)
    table.ratio(slow, none)
    return table


async def _drain(call: Any, pause: float) -> None:
    """Read a stream, with so many seconds after each message; who is cancelled cancels it."""
    try:
        async for _ in call:
            await asyncio.sleep(pause)
    finally:
        call.cancel()


async def _settings(folder: Path) -> list[Table]:
    """Compare event loops, pollers, and from how many messages a second on tokens are gathered, at the most streams."""
    streams = max(DELAY_MS_MAX)
    delay = Table(f"settings, {streams} streams", "ms, p99 of a round", higher_is_better=False)
    cost = Table(f"settings, {streams} streams, CPU of a token", "µs", higher_is_better=False)

    async def measure(label: str, way: Way) -> None:
        delays, used = await _round(way, streams, tokens=TOKENS_QUICK)
        delay.add(label, percentile(delays, 0.99))
        delay.notes[label] = f"p50 {percentile(delays, 0.5):.1f}, p95 {percentile(delays, 0.95):.1f}"
        cost.add(label, sum(spent for process, spent in used.items() if process != "client"))
        cost.notes[label] = ", ".join(f"{process} {spent:.0f}" for process, spent in used.items())

    async with bare(uvloop=False) as way:
        await measure("bare grpc.aio, asyncio's loop", way)
    async with bare(variables=OLDER_POLLER) as way:
        await measure("bare grpc.aio, gRPC's older poller", way)
    async with relayed(folder, tokens=TOKENS_QUICK, variables={"GRPC_EXPERIMENTS": ""}) as way:
        await measure("Sourcier, gRPC's own choice of poller", way)
    async with relayed(folder, tokens=TOKENS_QUICK, uvloop=False) as way:
        await measure("Sourcier, asyncio's loop", way)
    for most in GATHERED:
        limit = {"SOURCIER_GENERATE_MESSAGES_PER_SECOND_MAX": str(most)}
        async with relayed(folder, tokens=TOKENS_QUICK, variables=limit) as way:
            await measure(f"Sourcier, uvloop, gathered from {most:,} messages/s", way)
    return [delay, cost]
