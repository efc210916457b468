"""Answers when their gateway, their broker or their readers fail: one end for each, and nothing that waits for ever."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import grpc
import grpc.aio
import psutil
import pytest

from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.live import copied_answer
from sourcier.services.gateway.live.copying import AnswerCopy
from sourcier.services.gateway.live.live_answer import LiveAnswer
from sourcier.services.stack.processes import ports
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings
from tests.chaos.proxy import Proxy
from tests.integration.gateway.answering.test_answer_service import QUESTION, check_stream
from tests.integration.gateway.fix_gateway import TENANT, Gateway, Scenario, gateway, read
from tests.integration.gateway.live.test_resume import SENTENCE, first_events, text
from tests.waiting import eventually, until

# nats-py leaves the transport of a refused reconnection to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

REPOSITORY = Path(__file__).parents[4]
LEFT_BYTES_MAX = 4 * 1024**2
"""For forty answers."""


def degraded(events: list[answer_pb2.AskEvent]) -> list[str]:
    return [event.degraded.stage for event in events if event.HasField("degraded")]


def degradations() -> float:
    return telemetry.degradations_total.labels("resume", "BROKER_UNAVAILABLE")._value.get()


def following(stub: Any, answer_id: str, *, after: int = 0) -> Any:
    """Return the call of a reader that follows an answer."""
    request = answer_pb2.ResumeRequest(answer_id=answer_id, after_sequence=after)
    return stub.Resume(request, timeout=60, metadata=TENANT)


@asynccontextmanager
async def behind_proxy(nats_url: str) -> AsyncIterator[tuple[Proxy, str]]:
    """Yield a way to the broker that can be cut, and its URL."""
    parts = urlsplit(nats_url)
    assert parts.port is not None
    proxy = Proxy(target_port=parts.port)
    async with proxy.running():
        yield proxy, nats_url.replace(f":{parts.port}", f":{proxy.port}")


async def test_without_the_broker_an_answer_goes_on_and_says_what_is_missing(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    scenario = Scenario(deltas=SENTENCE * 16, pace_seconds=0.02)
    async with (
        behind_proxy(nats_url) as (proxy, cut_url),
        gateway(handbook, scenario, nats_url=cut_url, subject_prefix=subject_prefix) as first,
        gateway(handbook, scenario, nats_url=nats_url, subject_prefix=subject_prefix) as second,
    ):
        before = degradations()
        call = first.start(QUESTION)
        begun = await first_events(call, 6)
        proxy.become("refuse")
        rest, error = await read(call)
        assert error is None
        whole = begun + rest
        check_stream(whole)
        assert text(whole).strip() == "".join(SENTENCE * 16).strip()
        assert degraded(whole) == ["resume"]
        assert degradations() == before + 1
        # Once the broker can be reached again, the copy becomes whole although the answer has ended.
        proxy.become("open")

        async def copied() -> bool:
            events, _ = await second.resume(whole[0].answer_id, timeout=5)
            return events == whole

        await eventually(copied, seconds=25)


async def test_a_broker_that_was_never_there_is_said_and_answers_come(handbook: Database) -> None:
    scenario = Scenario(deltas=SENTENCE)
    url = f"nats://127.0.0.1:{ports.free_ports(1)[0]}"
    async with gateway(handbook, scenario, nats_url=url) as served:
        events, error = await served.ask(QUESTION)
        # Its own gateway has it until the copy is given up.
        again, _ = await served.resume(events[0].answer_id, after=2, timeout=10)
        _, refused = await served.resume(new_id(), timeout=10)
    assert error is None
    check_stream(events)
    assert again == events[2:]
    assert degraded(events) == ["resume"]
    assert refused is not None
    assert refused.code() is grpc.StatusCode.UNAVAILABLE
    assert "NATS cannot be reached" in str(refused.details())


async def test_a_broker_that_lost_everything_gets_the_copy_again(
    handbook: Database, tmp_path: Path, subject_prefix: str
) -> None:
    scenario = Scenario(deltas=SENTENCE * 30, pace_seconds=0.03)
    server = NatsServer(NatsServerSettings(folder=tmp_path / "nats", log=tmp_path / "nats.log"))
    await server.start()
    try:
        async with (
            gateway(handbook, scenario, nats_url=server.url, subject_prefix=subject_prefix) as first,
            gateway(handbook, scenario, nats_url=server.url, subject_prefix=subject_prefix) as second,
        ):
            call = first.start(QUESTION)
            begun = await first_events(call, 1)
            answer_id = begun[0].answer_id
            elsewhere = asyncio.ensure_future(second.resume(answer_id))
            begun += await first_events(call, 40)
            await server.stop()
            await server.start()
            rest, error = await read(call)
            assert error is None
            followed, error = await elsewhere
            assert error is None
            late, error = await second.resume(answer_id)
            assert error is None
    finally:
        await server.stop()
    check_stream(begun + rest)
    assert followed == begun + rest
    assert late == begun + rest


async def test_a_gateway_that_was_away_too_long_does_not_get_its_answer_back(
    handbook: Database, nats_url: str, subject_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copied_answer, "LEASE_SECONDS", 1.0)
    scenario = Scenario(deltas=SENTENCE * 4, hang=True)
    async with (
        behind_proxy(nats_url) as (proxy, cut_url),
        gateway(handbook, scenario, nats_url=cut_url, subject_prefix=subject_prefix) as first,
        gateway(handbook, scenario, nats_url=nats_url, subject_prefix=subject_prefix) as second,
        gateway(handbook, scenario, nats_url=nats_url, subject_prefix=subject_prefix) as third,
    ):
        call = first.start(QUESTION)
        begun = await first_events(call, 6)
        await scenario.generating.wait()
        answer_id = begun[0].answer_id
        readers = [following(served.answers, answer_id) for served in (second, third, second)]
        heads = [await first_events(reader, 6) for reader in readers]
        proxy.become("refuse")
        async with asyncio.timeout(20):
            told = [head + (await read(reader))[0] for head, reader in zip(heads, readers, strict=True)]
        assert told[0] == told[1] == told[2]
        check_stream(told[0])
        assert told[0][-1].failed.reason == "GATEWAY_LOST"
        proxy.become("open")
        # What the gateway makes from now on, its log refuses; so its own reader is told the same end.
        async with asyncio.timeout(20):
            rest, error = await read(call)
            await scenario.generation_ended.wait()
        again, _ = await second.resume(answer_id)
    assert error is not None
    check_stream(begun + rest)
    assert rest[-1].failed.reason == "GATEWAY_LOST"
    assert again == told[0]


@asynccontextmanager
async def gateway_process(
    beside: Gateway, *, database_url: str, nats_url: str, prefix: str, folder: Path, **settings: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, Any]]:
    """Run a gateway as a process of its own with another's peers; yield it and a stub."""
    port = ports.free_ports(1)[0]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SOURCIER_")}
    environment = kept | {f"SOURCIER_{name.upper()}": url for name, url in beside.peer_urls.items()} | {
        "SOURCIER_POSTGRES_URL": database_url, "SOURCIER_NATS_URL": nats_url, "SOURCIER_SUBJECT_PREFIX": prefix,
        "SOURCIER_GATEWAY_LISTEN": f"127.0.0.1:{port}", "SOURCIER_GATEWAY_REFUSAL_THRESHOLD": "0.2",
        "SOURCIER_GATEWAY_RESULT_THRESHOLD": "-1", "SOURCIER_GATEWAY_ANSWERABILITY_THRESHOLD": "0",
        "SOURCIER_GATEWAY_RANKING": "service",  # which is scripted
        "PYTHONPATH": str(REPOSITORY),
    } | settings
    with (folder / "gateway.log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sourcier.services.gateway", env=environment, stdout=log, stderr=log
        )
    channel = open_channel(f"127.0.0.1:{port}")
    try:
        async with asyncio.timeout(60):
            await channel.channel_ready()
        yield process, answer_pb2_grpc.AnswerServiceStub(channel)
    finally:
        await channel.close()
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_another_gateway_tells_the_end_of_one_that_was_killed(
    handbook: Database, database_url: str, nats_url: str, subject_prefix: str, tmp_path: Path
) -> None:
    scenario = Scenario(deltas=SENTENCE * 4, hang=True)
    async with (
        gateway(handbook, scenario, nats_url=nats_url, subject_prefix=subject_prefix) as beside,
        gateway_process(
            beside, database_url=database_url, nats_url=nats_url, prefix=subject_prefix, folder=tmp_path
        ) as (process, stub),
    ):
        call = stub.Ask(answer_pb2.AskRequest(question=QUESTION), timeout=60, metadata=TENANT)
        begun = await first_events(call, 10)
        answer_id = begun[0].answer_id
        await scenario.generating.wait()
        readers = [following(beside.answers, answer_id, after=after) for after in (0, 5)]
        heads = [await first_events(reader, 5) for reader in readers]
        killed_at = time.monotonic()
        process.kill()
        async with asyncio.timeout(1.0):
            await scenario.generation_ended.wait()
        _, broken = await read(call)
        assert broken is not None
        assert broken.code() is grpc.StatusCode.UNAVAILABLE
        async with asyncio.timeout(20):
            told = []
            for head, reader in zip(heads, readers, strict=True):
                rest, error = await read(reader)
                told.append((head + rest, error))
        seconds = time.monotonic() - killed_at
        again, _ = await beside.resume(answer_id, after=10)
    for events, error in told:
        assert error is not None
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "ask again" in str(error.details())
        assert events[-1].failed.reason == "GATEWAY_LOST"
    check_stream(told[0][0])
    assert told[0][0][: len(begun)] == begun
    assert told[1][0] == told[0][0][5:]
    assert again == told[0][0][10:]
    assert copied_answer.LEASE_SECONDS < seconds < copied_answer.LEASE_SECONDS + 5, f"{seconds:.1f} s"


async def test_a_gateway_that_is_stopped_tells_the_end_of_what_is_not_whole(
    handbook: Database, database_url: str, nats_url: str, subject_prefix: str, tmp_path: Path
) -> None:
    scenario = Scenario(deltas=SENTENCE * 4, hang=True)
    async with (
        gateway(handbook, scenario, nats_url=nats_url, subject_prefix=subject_prefix) as beside,
        gateway_process(
            beside, database_url=database_url, nats_url=nats_url, prefix=subject_prefix, folder=tmp_path,
            SOURCIER_GATEWAY_GRACE_SECONDS="2",
        ) as (process, stub),
    ):
        call = stub.Ask(answer_pb2.AskRequest(question=QUESTION), timeout=60, metadata=TENANT)
        begun = await first_events(call, 10)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(10):
            rest, error = await read(call)
            code = await process.wait()
        events, _ = await beside.resume(begun[0].answer_id)
    assert code == 0, (tmp_path / "gateway.log").read_text()
    assert error is not None
    check_stream(begun + rest)
    assert (rest[-1].failed.reason, "stopped" in rest[-1].failed.message) == ("UNAVAILABLE", True)
    assert events == begun + rest


async def test_a_gateway_that_is_stopped_finishes_what_it_can(
    handbook: Database, database_url: str, nats_url: str, subject_prefix: str, tmp_path: Path
) -> None:
    scenario = Scenario(deltas=SENTENCE * 8, pace_seconds=0.02)
    async with (
        gateway(handbook, scenario, nats_url=nats_url, subject_prefix=subject_prefix) as beside,
        gateway_process(
            beside, database_url=database_url, nats_url=nats_url, prefix=subject_prefix, folder=tmp_path
        ) as (process, stub),
    ):
        call = stub.Ask(answer_pb2.AskRequest(question=QUESTION), timeout=60, metadata=TENANT)
        left, _ = await read(stub.Ask(answer_pb2.AskRequest(question=QUESTION), timeout=60, metadata=TENANT),
                             events_max=1)
        begun = await first_events(call, 10)
        process.send_signal(signal.SIGTERM)
        async with asyncio.timeout(15):
            rest, error = await read(call)
            code = await process.wait()
        resumed, _ = await beside.resume(left[0].answer_id, after=1)
    assert (code, error) == (0, None)
    check_stream(begun + rest)
    assert rest[-1].HasField("finished")
    # Nobody read the other one, and somebody may still come for it.
    assert resumed[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED


@pytest.mark.timeout(600)
async def test_dozens_of_cancelled_streams_leave_nothing_behind(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    scenario = Scenario(deltas=SENTENCE * 4, hang=True)
    process = psutil.Process()

    async def some(served: Gateway, count: int) -> None:
        for _ in range(count // 20):
            calls = [served.start(QUESTION) for _ in range(20)]
            for place, call in enumerate(calls):
                # Half of them before a word came, half in the middle.
                await first_events(call, 1 if place % 2 else 8)
                call.cancel()

    async with gateway(
        handbook, scenario, nats_url=nats_url, subject_prefix=subject_prefix, answer_linger_seconds=0, answers_max=40,
    ) as served:
        await some(served, 60)
        grown = []
        # What is left behind by each answer grows every time; what is filled once, or late, does not.
        while not grown or (grown[-1] > LEFT_BYTES_MAX and len(grown) < 3):
            before = process.memory_info().rss
            await some(served, 40)
            grown.append(process.memory_info().rss - before)
        await until(lambda: not any(
            task.get_name().startswith(("answer 0", "copying")) for task in asyncio.all_tasks()
        ), seconds=20)
        # The broker keeps the copies.
        await until(lambda: living(LiveAnswer, AnswerCopy) == 0, seconds=20)
        scenario.hang = False
        events, error = await served.ask(QUESTION)
    assert error is None
    check_stream(events)
    # What else an answer may leave behind: the first of them fill what is filled once.
    assert grown[-1] <= LEFT_BYTES_MAX, f"{grown} bytes for 40 answers each"


def living(*kinds: type) -> int:
    """Return how many objects of these kinds anybody holds."""
    gc.collect()
    return sum(isinstance(each, kinds) for each in gc.get_objects())


async def test_a_reader_who_does_not_read_slows_nobody(
    handbook: Database, nats_url: str, subject_prefix: str
) -> None:
    # More than what gRPC takes in before it waits for the reader.
    long_words = tuple(f"{'m' * 4000}{number} [1]. " for number in range(60))
    scenario = Scenario(deltas=long_words)
    async with (
        gateway(handbook, scenario, nats_url=nats_url, subject_prefix=subject_prefix) as first,
        gateway(handbook, scenario, nats_url=nats_url, subject_prefix=subject_prefix) as second,
    ):
        idle = [first.start(QUESTION) for _ in range(3)]
        answer_ids = [(await first_events(call, 1))[0].answer_id for call in idle]
        idle.append(following(second.answers, answer_ids[0]))
        await until(lambda: len(scenario.generations) == 3, seconds=15)
        async with asyncio.timeout(30):
            readings = [await second.resume(answer_id) for answer_id in answer_ids]
        for call in idle:
            call.cancel()
    for events, error in readings:
        assert error is None
        check_stream(events)
        assert events[-1].HasField("finished")
