"""The webhook over real HTTP and a real broker: 202 means stored, and nobody is trusted without limit."""

from __future__ import annotations

import asyncio
import base64
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from sourcier.services.chassis import settings as chassis_settings
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ResourceExhausted
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import BUCKET_NOTIFICATION, OBJECTS
from sourcier.services.gateway.api import webhook
from sourcier.services.gateway.api.webhook import Webhook
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings
from tests.integration.chassis.fix_jetstream import connected, stream_messages
from tests.waiting import eventually

ROOT = Path(__file__).parents[4]
BODY = '{"Records": [{"eventName": "ObjectCreated:Put", "é": "€"}]}\n'.encode()
TOKEN = "a token"


@pytest_asyncio.fixture(loop_scope="session")
async def jetstream(nats_url: str, subject_prefix: str) -> AsyncIterator[JetStream]:
    """Yield a connection to streams of the test's own."""
    async with connected(nats_url, subject_prefix) as opened:
        yield opened


@asynccontextmanager
async def serving(
    jetstream: JetStream, *, token: str = "", in_hand_max: int = 8, stopping: asyncio.Event | None = None
) -> AsyncIterator[tuple[Webhook, httpx.AsyncClient]]:
    """Run the endpoint as the service does; yield it with a client."""
    stopping = stopping or asyncio.Event()
    async with (
        Webhook(jetstream, listen="127.0.0.1:0", token=token, in_hand_max=in_hand_max, grace_seconds=10) as endpoint,
        asyncio.TaskGroup() as tasks,
        httpx.AsyncClient(base_url=f"http://127.0.0.1:{endpoint.port}", trust_env=False) as client,
    ):
        tasks.create_task(endpoint.run(stopping))
        try:
            yield endpoint, client
        finally:
            stopping.set()


async def send(client: httpx.AsyncClient, body: bytes = BODY, **headers: str) -> httpx.Response:
    return await client.post(webhook.PATH, content=body, headers=headers)


async def stored(jetstream: JetStream) -> list[bytes]:
    """Return what the stream holds, oldest first."""
    name = subjects.stream_name(jetstream.prefix, OBJECTS)
    info = await jetstream.context.stream_info(name)
    if not info.state.messages:
        return []
    messages = [
        await jetstream.context.get_msg(name, sequence)
        for sequence in range(info.state.first_seq, info.state.last_seq + 1)
    ]
    return [message.data or b"" for message in messages]


def counted(outcome: str) -> float:
    return float(telemetry.notifications_total.labels(outcome)._value.get())


async def slow_request(port: int, length: int) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Begin a notification whose body is still to come."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"POST {webhook.PATH} HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode())
    await writer.drain()
    return reader, writer


async def test_what_is_accepted_is_stored_as_it_came(jetstream: JetStream) -> None:
    before = counted("accepted")
    async with serving(jetstream) as (_, client):
        assert (await send(client)).status_code == 202
        assert await stored(jetstream) == [BODY]
        assert (await client.get("/healthz")).text == "ok"
        assert (await client.get(webhook.PATH)).status_code == 405
        assert (await client.post("/elsewhere")).status_code == 404
    assert counted("accepted") == before + 1


async def test_two_changes_told_in_the_same_words_are_two(jetstream: JetStream) -> None:
    async with serving(jetstream) as (_, client):
        answers = [await send(client) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [202] * 3
    assert await stored(jetstream) == [BODY] * 3


@pytest.mark.parametrize(("headers", "status"), [
    ({}, 401), ({"Authorization": f"Bearer {TOKEN}x"}, 401), ({"Authorization": TOKEN}, 401),
    ({"Authorization": "Bearer"}, 401), ({"X-Sourcier-Token": ""}, 401), ({"Authorization": "Basic &"}, 401),
    ({"Authorization": "Basic " + base64.b64encode(f"{TOKEN}:x".encode()).decode()}, 401),
    ({"Authorization": "Bearer é"}, 401),
    ({"Authorization": f"Bearer {TOKEN}"}, 202), ({"authorization": f"bearer {TOKEN}"}, 202),
    ({"X-Sourcier-Token": TOKEN}, 202),
    ({"Authorization": "Basic " + base64.b64encode(f"sns:{TOKEN}".encode()).decode()}, 202),
])
async def test_the_token_lets_in(jetstream: JetStream, headers: dict[str, str], status: int) -> None:
    async with serving(jetstream, token=TOKEN) as (_, client):
        raw = {name: value.encode() for name, value in headers.items()}
        answer = await client.post(webhook.PATH, content=BODY, headers=raw)  # type: ignore[arg-type]
        assert answer.status_code == status
        assert ("WWW-Authenticate" in answer.headers) == (status == 401)
        assert (await client.get("/healthz")).status_code == 200
    assert await stored(jetstream) == ([BODY] if status == 202 else [])


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_body_that_is_too_large_is_refused(jetstream: JetStream, chunked: bool) -> None:
    body = b"[" + b"1," * (webhook.BODY_BYTES_MAX // 2) + b"1]"

    async def chunks() -> AsyncIterator[bytes]:
        yield body

    async with serving(jetstream) as (_, client):
        answer = await client.post(webhook.PATH, content=chunks() if chunked else body)
    assert answer.status_code == 413
    assert await stored(jetstream) == []


async def test_the_largest_body_is_stored(jetstream: JetStream) -> None:
    body = b'"' + b"x" * (webhook.BODY_BYTES_MAX - 2) + b'"'
    async with serving(jetstream) as (_, client):
        assert (await send(client, body)).status_code == 202
    assert await stored(jetstream) == [body]


@pytest.mark.parametrize("body", [b"", b"{", b"\xff\xfe\x00", b"a=b", b"[" * 100_000])
async def test_what_is_no_json_is_refused(jetstream: JetStream, body: bytes) -> None:
    async with serving(jetstream) as (_, client):
        assert (await send(client, body)).status_code == 400
    assert await stored(jetstream) == []


async def test_a_subscription_is_told_to_people_and_never_fetched(
    jetstream: JetStream, caplog: pytest.LogCaptureFixture
) -> None:
    fetched = asyncio.Event()
    async with await asyncio.start_server(lambda reader, writer: fetched.set(), "127.0.0.1", 0) as trap:
        address = f"http://127.0.0.1:{trap.sockets[0].getsockname()[1]}/confirm"
        document = {"Type": "SubscriptionConfirmation", "TopicArn": "arn:topic", "SubscribeURL": address}
        async with serving(jetstream) as (_, client):
            with caplog.at_level(logging.WARNING):
                answer = await send(client, json.dumps(document).encode())
    assert answer.status_code == 202
    assert not fetched.is_set()
    assert await stored(jetstream) == []
    told = next(entry for entry in caplog.records if "confirm a subscription" in entry.message)
    assert address in told.__dict__["address"]


async def test_a_lost_broker_is_waited_for_and_then_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = NatsServer(NatsServerSettings(folder=tmp_path / "nats", log=tmp_path / "nats.log"))
    async with (
        server, JetStream(url=server.url, prefix="test.", name="test") as jetstream,
        serving(jetstream) as (endpoint, client), asyncio.TaskGroup() as tasks,
    ):
        assert (await send(client)).status_code == 202
        await server.stop()

        async def disconnected() -> bool:
            return not jetstream.connected

        async def in_hand() -> bool:
            return endpoint._in_hand == 1

        await eventually(disconnected, seconds=15)
        monkeypatch.setattr(webhook, "PUBLISH_SECONDS_MAX", 0.1)
        answer = await send(client)
        assert answer.status_code == 503
        assert int(answer.headers["Retry-After"]) > 0
        monkeypatch.setattr(webhook, "PUBLISH_SECONDS_MAX", 60)
        waiting = tasks.create_task(client.post(webhook.PATH, content=BODY, timeout=60))
        await eventually(in_hand, seconds=15)
        await server.start()
        assert (await waiting).status_code == 202
        assert await stored(jetstream) == [BODY, BODY]


async def test_a_stream_that_is_gone_is_told(jetstream: JetStream) -> None:
    await jetstream.context.delete_stream(subjects.stream_name(jetstream.prefix, OBJECTS))
    async with serving(jetstream) as (_, client):
        answer = await send(client)
    assert answer.status_code == 503
    assert "Retry-After" in answer.headers


async def test_more_at_once_than_allowed_are_sent_away(jetstream: JetStream) -> None:
    async with serving(jetstream, in_hand_max=1) as (endpoint, client):
        reader, writer = await slow_request(endpoint.port, len(BODY))

        async def full() -> bool:
            return endpoint._in_hand == 1

        await eventually(full, seconds=15)
        answer = await send(client)
        assert answer.status_code == 503
        assert "Retry-After" in answer.headers
        writer.write(BODY)
        assert b" 202 " in await reader.readline()
        assert (await send(client)).status_code == 202
        writer.close()
    assert len(await stored(jetstream)) == 2


async def test_a_body_that_does_not_come_frees_its_place(
    jetstream: JetStream, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhook, "BODY_SECONDS_MAX", 0.1)
    async with serving(jetstream, in_hand_max=1) as (endpoint, client):
        reader, writer = await slow_request(endpoint.port, len(BODY))
        assert b" 408 " in await reader.readline()
        assert (await send(client)).status_code == 202
        writer.close()
        await writer.wait_closed()  # the server would linger for the rest of the body


async def test_stopping_takes_no_more_and_finishes_what_is_in_hand(jetstream: JetStream) -> None:
    stopping = asyncio.Event()
    async with serving(jetstream, stopping=stopping) as (endpoint, client):
        port = endpoint.port
        reader, writer = await slow_request(port, len(BODY))
        kept = await client.get(webhook.HEALTH_PATH)  # on a connection that lives on
        assert kept.status_code == 200

        async def in_hand() -> bool:
            return endpoint._in_hand == 1

        async def closed() -> bool:
            with socket.socket() as probe:
                return probe.connect_ex(("127.0.0.1", port)) != 0

        await eventually(in_hand, seconds=15)
        stopping.set()
        await eventually(closed, seconds=15)
        assert (await send(client)).status_code == 503
        writer.write(BODY)
        assert b" 202 " in await reader.readline()
        writer.close()
    assert await stored(jetstream) == [BODY]


async def test_a_taken_port_is_told(jetstream: JetStream) -> None:
    with socket.create_server(("127.0.0.1", 0)) as holder:
        listen = f"127.0.0.1:{holder.getsockname()[1]}"
        with pytest.raises(ResourceExhausted, match=f"{listen}.*SOURCIER_GATEWAY_HTTP_LISTEN"):
            async with Webhook(jetstream, listen=listen, token="", in_hand_max=1, grace_seconds=1):
                pass


async def test_an_open_door_is_told(jetstream: JetStream, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with Webhook(jetstream, listen="0.0.0.0:0", token="", in_hand_max=1, grace_seconds=1):
            assert any("SOURCIER_GATEWAY_WEBHOOK_TOKEN" in message for message in caplog.messages)


GATEWAY = {
    "SOURCIER_POSTGRES_URL": "postgresql://user@127.0.0.1:1/db", "SOURCIER_INGEST_URL": "127.0.0.1:1",
    "SOURCIER_EMBED_URL": "127.0.0.1:1", "SOURCIER_RERANK_URL": "127.0.0.1:1", "SOURCIER_GENERATE_URL": "127.0.0.1:1",
}


@pytest.fixture
def gateway_environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Set what every gateway needs."""
    for name in [name for name in os.environ if name.startswith("SOURCIER_")]:
        monkeypatch.delenv(name)
    for name, value in GATEWAY.items():
        monkeypatch.setenv(name, value)
    return monkeypatch


def test_the_queue_is_needed_for_the_endpoint_alone(
    gateway_environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert chassis_settings.load(GatewaySettings).http_listen == ""
    gateway_environment.setenv("SOURCIER_GATEWAY_HTTP_LISTEN", "127.0.0.1:0")
    with pytest.raises(SystemExit):
        chassis_settings.load(GatewaySettings)
    assert capsys.readouterr().err.startswith("error: SOURCIER_NATS_URL is not set")


@pytest.mark.parametrize("address", ["here", ":8080", "[]:8080", "0.0.0.0:70000", "0.0.0.0:5²"])
def test_an_address_that_is_none_is_refused_as_every_other_one(
    gateway_environment: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], address: str
) -> None:
    gateway_environment.setenv("SOURCIER_NATS_URL", "nats://127.0.0.1:1")
    gateway_environment.setenv("SOURCIER_GATEWAY_HTTP_LISTEN", address)
    with pytest.raises(SystemExit):
        chassis_settings.load(GatewaySettings)
    assert capsys.readouterr().err == (
        f"error: SOURCIER_GATEWAY_HTTP_LISTEN={address}: write host:port, the port at most 65535, for example "
        "0.0.0.0:8080\n"
    )


@pytest.mark.skipif(not socket.has_dualstack_ipv6(), reason="this machine speaks no IPv6")
async def test_it_listens_on_ipv6(jetstream: JetStream, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        async with (
            Webhook(jetstream, listen="[::1]:0", token="", in_hand_max=1, grace_seconds=1) as endpoint,
            httpx.AsyncClient(base_url=f"http://[::1]:{endpoint.port}", trust_env=False) as client,
        ):
            assert (await client.get(webhook.HEALTH_PATH)).status_code == 200
    assert not any("SOURCIER_GATEWAY_WEBHOOK_TOKEN" in message for message in caplog.messages)


async def test_the_service_serves_it_and_stops_in_order(
    nats_url: str, subject_prefix: str, database_url: str, jetstream: JetStream
) -> None:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sourcier.services.gateway", cwd=ROOT, stderr=asyncio.subprocess.PIPE,
        env={**GATEWAY, "PATH": os.environ["PATH"], "SOURCIER_POSTGRES_URL": database_url,
             "SOURCIER_NATS_URL": nats_url, "SOURCIER_SUBJECT_PREFIX": subject_prefix,
             "SOURCIER_GATEWAY_HTTP_LISTEN": "127.0.0.1:0", "SOURCIER_GATEWAY_WEBHOOK_TOKEN": TOKEN},
    )
    try:
        async with asyncio.timeout(60):
            port = await _said_port(process)
            async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
                assert (await send(client)).status_code == 401
                assert (await send(client, Authorization=f"Bearer {TOKEN}")).status_code == 202
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    assert await stream_messages(jetstream, OBJECTS) == 1
    assert await stored(jetstream) == [BODY]
    assert BUCKET_NOTIFICATION.address(subject_prefix, tenant="") == f"{subject_prefix}bucket.notification"


async def _said_port(process: asyncio.subprocess.Process) -> int:
    """Read the log until the service is ready; return the endpoint's port."""
    assert process.stderr is not None
    port, entry = 0, dict[str, Any]()
    while entry.get("message") != "ready":
        entry = json.loads(await process.stderr.readline())
        port = entry.get("http_port", port)
    return port
