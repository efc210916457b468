"""Each service may do at the broker what the table of subjects says of it, and nothing else: asked of a real one."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

import nats
import pytest
import pytest_asyncio
import trustme
from nats.aio.client import Client

from sourcier.events.v1 import events_pb2
from sourcier.services import broker_users
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.journal import Journal
from sourcier.services.chassis.queue.permissions import STAGES, users
from sourcier.services.stack import programs
from sourcier.services.stack.processes.ports import free_ports
from sourcier.services.stack.servers import nats as stack_nats
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings
from tests.integration.chassis.fix_certificates import Holder

PREFIX = "kept.v1."
READY, ANSWERS, RECEIVED = (
    subjects.stream_name(PREFIX, each) for each in (subjects.READY, subjects.ANSWERS, subjects.RECEIVED)
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def broker(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[NatsServer]:
    """Yield a broker that knows the services by name."""
    folder = tmp_path_factory.mktemp("broker")
    async with NatsServer(NatsServerSettings(
        folder=folder / "nats", log=folder / "nats.log", subject_prefix=PREFIX
    )) as server:
        yield server


def service(broker: NatsServer, name: str) -> JetStream:
    return JetStream(url=broker.url_of(name), prefix=PREFIX, name=name)


async def test_services_work_with_what_they_are_allowed(broker: NatsServer) -> None:
    ready = events_pb2.ChunksReady(version=events_pb2.VersionReference(tenant="acme", version_id="v"))
    async with (
        service(broker, "ingest") as ingest, service(broker, "embed") as embed, service(broker, "gateway") as gateway
    ):
        await ingest.publish(subjects.CHUNKS_READY, ready, tenant="acme", lane="bulk", suffix="space", message_id="1")
        stream, durable = await embed.ensure_durable(
            subjects.CHUNKS_READY, stage="embed", lane="bulk", suffix="space", tenant="acme"
        )
        waiting = await embed.context.pull_subscribe_bind(durable, stream=stream)
        [message] = await waiting.fetch(1, timeout=10)
        await embed.publish(subjects.CHUNKS_EMBEDDED, events_pb2.ChunksEmbedded(), tenant="acme", lane="bulk",
                            message_id="2")
        await message.ack_sync(timeout=10)
        journal = Journal(gateway, subjects.ANSWER, subjects.ANSWER_LIVE)
        async with journal.follow(tenant="acme", suffix="answer") as followed:
            assert await journal.append(events_pb2.AnswerRecord(), tenant="acme", suffix="answer", after=0)
            assert await followed.next(seconds=10) is not None
        assert await journal.last(tenant="acme", suffix="answer") is not None
        assert [each async for each in journal.read(tenant="acme", suffix="answer")]
        async with gateway.replying(
            subjects.ANSWER_OWNER, lambda _: events_pb2.AnswerRecord(), tenant="acme", suffix="answer"
        ), JetStream(url=broker.url_of("gateway"), prefix=PREFIX, name="gateway other") as other:
            assert await other.inquire(
                subjects.ANSWER_OWNER, events_pb2.AnswerInquiry(), tenant="acme", suffix="answer", seconds=10
            ) is not None


Attempt = Callable[[Client], Awaitable[Any]]
REFUSED: dict[str, tuple[str, Attempt]] = {
    "embed reads no question or answer": ("embed", lambda client: client.publish(f"$JS.API.STREAM.MSG.GET.{ANSWERS}")),
    "embed hears no answer": ("embed", lambda client: client.subscribe(f"{PREFIX}answer.live.>")),
    "embed hears no reply to another service": ("embed", lambda client: client.subscribe("_INBOX.gateway.>")),
    "embed hears not everything": ("embed", lambda client: client.subscribe(">")),
    "embed brings no document in": ("embed", lambda client: client.publish(f"{PREFIX}document.received.bulk.acme")),
    "embed takes no message of another stage": (
        "embed", lambda client: client.publish(f"$JS.API.CONSUMER.MSG.NEXT.{RECEIVED}.parse_bulk")),
    "embed empties no stream": ("embed", lambda client: client.publish(f"$JS.API.STREAM.PURGE.{RECEIVED}")),
    "gateway takes no chunk": ("gateway", lambda client: client.publish(f"$JS.API.CONSUMER.CREATE.{READY}.mine")),
    "gateway reads no chunk": ("gateway", lambda client: client.publish(f"$JS.API.STREAM.MSG.GET.{READY}")),
    "gateway deletes no stream": ("gateway", lambda client: client.publish(f"$JS.API.STREAM.DELETE.{READY}")),
    "ingest deletes no stream": ("ingest", lambda client: client.publish(f"$JS.API.STREAM.DELETE.{READY}")),
    "ingest writes no answer": ("ingest", lambda client: client.publish(f"{PREFIX}answer.acme.one")),
    "nobody reaches another installation": (
        "ingest", lambda client: client.publish("sourcier.v1.document.received.bulk.acme")),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_the_broker_refuses_what_is_not_a_services_business(broker: NatsServer, case: str) -> None:
    name, attempt = REFUSED[case]
    refused: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    async def heard(error: Exception) -> None:
        if not refused.done():
            refused.set_result(str(error))

    client = await nats.connect(broker.url_of(name), error_cb=heard, allow_reconnect=False)
    try:
        await attempt(client)
        await client.flush()
        assert "permissions violation" in await asyncio.wait_for(refused, 10)
    finally:
        await client.close()


def test_every_name_of_the_table_belongs_to_one_service() -> None:
    named = {name.strip() for each in subjects.TABLE for name in (*each.publisher.split(","), *each.consumers)}
    for name in named - {"the broker"}:
        assert len([service for service, stages in STAGES.items() if name in stages]) == 1, name
    assert named >= frozenset().union(*STAGES.values())


def test_the_command_prints_an_account_that_the_broker_takes(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert broker_users.main([]) == 0
    printed = capsys.readouterr().out
    variables = {name: f"NATS_PASSWORD_{name.upper()}" for name in STAGES}
    # As the stack has them, which every test of the whole runs with.
    assert users(subjects.DEFAULT_PREFIX, {name: f"${variable}" for name, variable in variables.items()}) in printed
    assert {*stack_nats.SERVICES, "notifier"} == {*STAGES}
    (tmp_path / "nats.conf").write_text(printed)
    checked = subprocess.run(
        [programs.beside_python("nats-server"), "-t", "-c", tmp_path / "nats.conf"], capture_output=True, text=True,
        env={variable: f"secret-{name}" for name, variable in variables.items()}, check=False,
    )
    assert checked.returncode == 0, checked.stderr


async def test_a_broker_with_tls_is_shown_a_certificate_that_may_be_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    old, new = trustme.CA(), trustme.CA()
    served, shown = Holder(tmp_path, "nats", signed=old, trusts=(old, new)), Holder(tmp_path, "embed", signed=old)
    tls = f"""\
tls {{ cert_file: "{served.served.certificate}", key_file: "{served.served.key}", ca_file: "{served.served.client_ca}",
  verify: true, timeout: 5 }}
"""
    written = NatsServer._configuration
    monkeypatch.setattr(NatsServer, "_configuration", lambda self: written(self) + tls)
    monkeypatch.setattr(NatsServer, "probe", _accepts)
    settings = NatsServerSettings(
        folder=tmp_path / "nats", log=tmp_path / "nats.log", port=free_ports(1)[0], subject_prefix=PREFIX
    )
    async with NatsServer(settings) as server:
        for refused in (None, shown.trusting):
            with pytest.raises(Unavailable, match="cannot connect to NATS"):
                async with JetStream(url=server.url_of("embed"), prefix=PREFIX, name="embed", tls=refused,
                                     wait_seconds=2):
                    pass
        async with JetStream(url=server.url_of("embed"), prefix=PREFIX, name="embed", tls=shown.shown) as embed:
            shown.renew(signed=new, trusts=(old,))
            served.renew(signed=old, trusts=(new,))
            await server.stop()
            await server.start()
            async with asyncio.timeout(30):
                while not embed.connected:
                    await asyncio.sleep(0.05)
            await embed.ensure_streams()


async def _accepts(self: NatsServer) -> bool:
    try:
        _, writer = await asyncio.open_connection("127.0.0.1", self.ports["nats"])
    except OSError:
        return False
    writer.close()
    return True
