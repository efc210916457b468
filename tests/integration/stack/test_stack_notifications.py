"""The stack's own store tells of its documents: to a receiver, and through the gateway's webhook to the stream."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import obstore
import pytest
from aiohttp import web

from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.subjects import OBJECTS
from sourcier.services.gateway.api import webhook
from sourcier.services.gateway.api.webhook import Webhook
from sourcier.services.ingest.buckets.notifications import ObjectEvent, read_notification
from sourcier.services.stack.compose import compose
from sourcier.services.stack.servers.s3 import READY_KEY, S3Notifications, S3Server, S3ServerSettings
from sourcier.services.stack.settings import StackSettings
from tests.integration.chassis.fix_jetstream import connected

TOKEN = 'a "token"\\'
KEY = "dossier/été a+b %41.txt"


class Receiver:
    """Keeps what it is sent."""

    def __init__(self) -> None:
        self.port = 0
        self.tokens: set[str] = set()
        self._events: asyncio.Queue[ObjectEvent] = asyncio.Queue()

    async def receive(self, request: web.Request) -> web.Response:
        """Take a notification."""
        self.tokens.add(request.headers.get("Authorization", ""))
        for event in read_notification(await request.read()):
            if event.key != READY_KEY:  # the server's own first object
                self._events.put_nowait(event)
        return web.Response(status=202)

    async def event(self) -> ObjectEvent:
        """Return the next event."""
        async with asyncio.timeout(20):
            return await self._events.get()


@asynccontextmanager
async def receiving() -> AsyncIterator[Receiver]:
    """Run a receiver on a free port."""
    receiver = Receiver()
    application = web.Application()
    application.router.add_post("/here", receiver.receive)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        receiver.port = runner.addresses[0][1]
        yield receiver
    finally:
        await runner.cleanup()


@asynccontextmanager
async def notifying_store(folder: Path, url: str) -> AsyncIterator[S3Server]:
    """Run a store that tells of the documents."""
    async with S3Server(S3ServerSettings(
        folder=folder / "s3", log=folder / "s3.log",
        notifications=S3Notifications(url=url, token=TOKEN, buckets=("documents",)),
    )) as server:
        yield server


def event(kind: str, content: bytes, key: str = KEY) -> ObjectEvent:
    return ObjectEvent(
        kind=kind, bucket="documents", key=key, size_bytes=len(content),  # type: ignore[arg-type]
        etag=hashlib.md5(content).hexdigest(),
    )


async def test_the_store_tells_of_documents_alone(tmp_path: Path) -> None:
    async with receiving() as receiver, notifying_store(tmp_path, f"http://127.0.0.1:{receiver.port}/here") as server:
        documents, own = server.store("documents"), server.store("sourcier")
        await obstore.put_async(own, KEY, b"an artefact")
        await obstore.put_async(documents, KEY, b"one")
        assert await receiver.event() == event("created", b"one")
        await obstore.put_async(documents, KEY, b"two, longer")
        assert await receiver.event() == event("created", b"two, longer")
        await obstore.delete_async(own, KEY)
        await obstore.delete_async(documents, KEY)
        assert await receiver.event() == event("removed", b"two, longer")
        # In parts: of the parts and of their folder nothing is heard, and the digest is not that of the whole.
        await obstore.put_async(documents, "large.bin", b"x" * (6 << 20), use_multipart=True, chunk_size=5 << 20)
        whole = await receiver.event()
        assert (whole.kind, whole.key, whole.size_bytes, whole.etag[-2:]) == ("created", "large.bin", 6 << 20, "-2")
        await obstore.copy_async(documents, "large.bin", "copy.bin")
        assert (await receiver.event()).key == "copy.bin"
    assert receiver.tokens == {f"Bearer {TOKEN}"}


async def test_an_object_stored_is_a_notification_in_the_stream(
    tmp_path: Path, nats_url: str, subject_prefix: str
) -> None:
    async with (
        connected(nats_url, subject_prefix) as jetstream,
        Webhook(jetstream, listen="127.0.0.1:0", token=TOKEN, in_hand_max=8, grace_seconds=5) as endpoint,
        notifying_store(tmp_path, f"http://127.0.0.1:{endpoint.port}{webhook.PATH}") as server,
    ):
        await obstore.put_async(server.store("documents"), "a.txt", b"content")
        subscription = await jetstream.context.subscribe(
            subjects.BUCKET_NOTIFICATION.pattern(subject_prefix), ordered_consumer=True,
            stream=subjects.stream_name(subject_prefix, OBJECTS),
        )
        found: tuple[ObjectEvent, ...] = ()
        async with asyncio.timeout(20):
            while not any(told.key == "a.txt" for told in found):
                found = read_notification((await subscription.next_msg(timeout=20)).data)
        await subscription.unsubscribe()
    assert found == (event("created", b"content", "a.txt"),)


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Leave nothing set but the data folder."""
    for name in [name for name in os.environ if name.startswith("SOURCIER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SOURCIER_DATA_DIR", str(tmp_path))
    return monkeypatch


def test_the_stack_leads_its_store_to_its_gateway(settings: pytest.MonkeyPatch) -> None:
    settings.setenv("SOURCIER_NATS_URL", "nats://broker.example:4222")
    settings.setenv("SOURCIER_POSTGRES_URL", "postgresql://database.example/sourcier")
    composition = compose(StackSettings())
    (server,) = composition.servers
    assert isinstance(server, S3Server)
    told, environment = server.settings.notifications, composition.environment()
    assert told is not None
    assert told.url == f"http://{environment['SOURCIER_GATEWAY_HTTP_LISTEN']}{webhook.PATH}"
    assert told.token == environment["SOURCIER_GATEWAY_WEBHOOK_TOKEN"]
    assert told.buckets == ("documents",)
    assert told.token not in repr(server.settings)
    again = compose(StackSettings()).environment()
    for name in ("SOURCIER_GATEWAY_HTTP_LISTEN", "SOURCIER_GATEWAY_WEBHOOK_TOKEN"):
        assert again[name] == environment[name]
    settings.setenv("SOURCIER_GATEWAY_WEBHOOK_TOKEN", "mine")
    assert compose(StackSettings()).environment()["SOURCIER_GATEWAY_WEBHOOK_TOKEN"] == "mine"


@pytest.mark.parametrize("variable", [
    ("SOURCIER_STACK_SERVICES", "ingest,embed"), ("SOURCIER_S3_BUCKET", "documents"),
])
def test_a_store_is_not_led_where_it_must_not(settings: pytest.MonkeyPatch, variable: tuple[str, str]) -> None:
    settings.setenv(*variable)
    server = next(server for server in compose(StackSettings()).servers if isinstance(server, S3Server))
    assert server.settings.notifications is None


async def test_a_store_without_a_receiver_asks_no_other_configuration(tmp_path: Path) -> None:
    server = S3Server(S3ServerSettings(folder=tmp_path / "s3", log=tmp_path / "s3.log"))
    await server.prepare()
    assert "enabled = false" in (tmp_path / "s3" / "configuration" / "notification.toml").read_text()
