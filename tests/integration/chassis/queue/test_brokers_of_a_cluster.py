"""Brokers as a cluster has them: late, limited to what is reserved, several by name, with a credentials file."""

from __future__ import annotations

import asyncio
import base64
import json
import re
import time
from pathlib import Path
from typing import Any

import nkeys
import pytest
from nacl.signing import SigningKey
from nkeys import PREFIX_BYTE_ACCOUNT, PREFIX_BYTE_OPERATOR, PREFIX_BYTE_USER

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.durables import durables, figures
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.stack.processes.ports import free_ports
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings
from tests.integration.chassis.fix_jetstream import ready

ROOT = Path(__file__).parents[4]
GIBIBYTE = 1024**3
FILE_STORE_BYTES = sum(4 * GIBIBYTE for stream, _ in subjects.streams() if not stream.in_memory)
"""What the streams reserve."""


def settings_of(folder: Path, **limits: Any) -> NatsServerSettings:
    return NatsServerSettings(folder=folder / "nats", log=folder / "nats.log", **limits)


async def test_every_service_starts_at_the_limits_that_the_documentation_names(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path, file_store_bytes_max=FILE_STORE_BYTES, memory_store_bytes_max=128 * 1024**2
    )
    async with NatsServer(settings) as server, JetStream(url=server.url, prefix="test.", name="first") as first:
        async with JetStream(url=server.url, prefix="test.", name="second") as second:
            await second.ensure_streams()
        await asyncio.gather(*(first.ensure_streams() for _ in range(8)))


def test_the_documentation_names_what_the_streams_reserve() -> None:
    told = (ROOT / "docs" / "running" / "install.md").read_text("utf-8")
    reserved = FILE_STORE_BYTES // GIBIBYTE
    assert f"{reserved} GiB of `max_file_store`" in told
    # The examples for clusters have room to spare.
    examples = ROOT / "deploy" / "k8s" / "examples"
    for file, size in (("nats.yaml", r"size: (\d+)Gi"), ("servers.yaml", r"max_file_store: (\d+)GB")):
        [found] = re.findall(size, (examples / file).read_text("utf-8"))
        assert int(found) > reserved, file


async def test_services_that_start_together_at_these_limits_all_start(tmp_path: Path) -> None:
    settings = settings_of(
        tmp_path, file_store_bytes_max=FILE_STORE_BYTES, memory_store_bytes_max=128 * 1024**2
    )

    async def start(url: str, number: int) -> None:
        async with JetStream(url=url, prefix="test.", name=f"service-{number}"):
            pass

    async with NatsServer(settings) as server:
        await asyncio.gather(*(start(server.url, number) for number in range(6)))


async def test_a_broker_that_comes_late_is_waited_for(tmp_path: Path) -> None:
    [port] = free_ports(1)
    server = NatsServer(settings_of(tmp_path, port=port))
    await server.prepare()
    # The first of the cluster's servers never comes.
    url = f"nats://sourcier:wrong@127.0.0.1:1, {server.url}"
    opened: asyncio.Future[JetStream] = asyncio.get_running_loop().create_future()

    async def use() -> None:
        async with JetStream(url=url, prefix="test.", name="early", wait_seconds=60) as jetstream:
            opened.set_result(jetstream)
            await jetstream.ensure_streams()

    using = asyncio.create_task(use(), name="early service")
    await asyncio.sleep(0)
    async with server:
        await using
    assert opened.done()


async def test_a_cluster_that_cannot_make_streams_yet_is_asked_again(
    nats_url: str, subject_prefix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensured: list[int] = []
    ensure = JetStream.ensure_streams

    async def no_leader_yet(self: JetStream) -> None:
        ensured.append(1)
        if len(ensured) < 3:
            raise Unavailable("JetStream has no leader")
        await ensure(self)

    monkeypatch.setattr(JetStream, "ensure_streams", no_leader_yet)
    monkeypatch.setattr("sourcier.services.chassis.queue.jetstream.LOOK_SECONDS", 0.01)
    async with JetStream(url=nats_url, prefix=subject_prefix, name="early"):
        assert len(ensured) == 3
    ensured.clear()
    monkeypatch.setattr("sourcier.services.chassis.queue.jetstream.LOOK_SECONDS", 100.0)
    with pytest.raises(Unavailable, match="no leader"):
        async with JetStream(url=nats_url, prefix=subject_prefix, name="early", wait_seconds=10):
            pass


async def test_a_credentials_file_opens_the_door(tmp_path: Path) -> None:
    credentials, configuration = decentralised(tmp_path)
    [port] = free_ports(1)
    server = WithAccounts(settings_of(tmp_path, port=port), configuration)
    async with server:
        async with JetStream(
            url=f"nats://127.0.0.1:{port}", prefix="test.", name="known", credentials=credentials
        ) as jetstream:
            await jetstream.ensure_streams()
        with pytest.raises(Unavailable, match="cannot connect to NATS"):
            async with JetStream(url=f"nats://127.0.0.1:{port}", prefix="test.", name="unknown", wait_seconds=1):
                pass


def test_every_durable_has_one_name_for_each_lane_and_every_figure_one_for_each_space_too() -> None:
    named = durables("test.v1.")
    by_stage = {
        stage: {each.name for each in named if each.stage == stage} for stage in {each.stage for each in named}
    }
    assert by_stage["parse"] == {"parse_interactive", "parse_bulk"}
    assert by_stage["ocr"] == {"ocr_interactive", "ocr_bulk"}
    assert by_stage["intake"] == {"intake"}
    assert by_stage["failures_embed"] == {"failures_embed"}
    assert {each.stream for each in named if each.stage == "parse"} == {"TEST_V1_RECEIVED"}
    counted = figures("test.v1.", space_ids=["space-a", "space-b"])
    tokens = [subjects.space_token(space) for space in ("space-a", "space-b")]
    assert {each.name for each in counted} == {f"embed_{lane}_{token}" for lane in subjects.LANES for token in tokens}
    assert {each.stream for each in counted} == {"TEST_V1_READY"}
    # What is scaled by is what a work queue holds.
    scaled_by = [each.stage for each in named if each.work_queue] + [each.stage for each in counted]
    assert set(scaled_by) == set(subjects.DEAD_BY_STAGE)


async def test_durables_are_made_as_the_list_says_and_figures_are_counted_so(
    nats_url: str, subject_prefix: str
) -> None:
    async with JetStream(url=nats_url, prefix=subject_prefix, name="test") as jetstream:
        token = subjects.space_token("space-a")
        counted = figures(subject_prefix, space_ids=["space-a"])
        for lane in subjects.LANES:
            made = await jetstream.ensure_durable(subjects.DOCUMENT_SCANNED, stage="ocr", lane=lane)
            assert made in {(each.stream, each.name) for each in durables(subject_prefix)}
            for tenant in ("acme", "other"):
                await jetstream.publish(subjects.CHUNKS_READY, ready(1), tenant=tenant, lane=lane, suffix=token,
                                        message_id=f"{lane}-{tenant}")
                _, own = await jetstream.ensure_durable(
                    subjects.CHUNKS_READY, stage="embed", lane=lane, suffix=token, tenant=tenant
                )
                # Made while a tenant is at work: nobody can be told its name ahead.
                assert own not in {each.name for each in durables(subject_prefix)} | {each.name for each in counted}
        depths = await jetstream.queues.depths()
        assert {name: depths.get(name) for name in (each.name for each in counted)} == dict.fromkeys(
            (each.name for each in counted), 2
        )
        for stream, _ in subjects.streams():
            await jetstream.context.delete_stream(subjects.stream_name(subject_prefix, stream))


class WithAccounts(NatsServer):
    """A broker whose users show tokens that an operator signed, as managed ones do."""

    def __init__(self, settings: NatsServerSettings, accounts: str) -> None:
        super().__init__(settings)
        self._accounts = accounts

    def _authorization(self) -> str:
        return self._accounts

    async def probe(self) -> bool:
        """Only look whether it listens: the probe of the stack has a password."""
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            return False
        writer.close()
        return True


def decentralised(folder: Path) -> tuple[Path, str]:
    """Write a user's credentials file; return it, and what the server is configured with to believe it."""
    operator, account, system, user = (
        new_key(kind)
        for kind in (PREFIX_BYTE_OPERATOR, PREFIX_BYTE_ACCOUNT, PREFIX_BYTE_ACCOUNT, PREFIX_BYTE_USER)
    )
    unlimited = {"subs": -1, "conn": -1, "leaf": -1, "imports": -1, "exports": -1, "data": -1, "payload": -1,
                 "wildcards": True, "mem_storage": -1, "disk_storage": -1, "streams": -1, "consumer": -1}
    operator_token = token(operator, operator, {"type": "operator", "version": 2}, name="operator")
    account_token = token(operator, account, {"type": "account", "version": 2, "limits": unlimited}, name="account")
    system_token = token(operator, system, {"type": "account", "version": 2}, name="system")
    user_token = token(
        account, user, {"type": "user", "version": 2, "subs": -1, "data": -1, "payload": -1, "pub": {}, "sub": {}},
        name="sourcier",
    )
    path = folder / "sourcier.creds"
    path.write_text(
        f"-----BEGIN NATS USER JWT-----\n{user_token}\n------END NATS USER JWT------\n\n"
        f"-----BEGIN USER NKEY SEED-----\n{bytes(user.seed).decode()}\n------END USER NKEY SEED------\n"
    )
    account_name, system_name = account.public_key.decode(), system.public_key.decode()
    return path, f"""
operator: {operator_token}
system_account: {system_name}
resolver: MEMORY
resolver_preload: {{ {account_name}: {account_token}, {system_name}: {system_token} }}
"""


def new_key(kind: int) -> Any:
    """Make a key of an operator, an account or a user."""
    return nkeys.from_seed(nkeys.encode_seed(bytes(SigningKey.generate()), kind))


def token(issuer: Any, subject: Any, claims: dict[str, object], *, name: str) -> str:
    """Return a token of NATS: what it says, signed by who says it."""
    said = {"jti": name, "iat": int(time.time()), "iss": issuer.public_key.decode(),
            "sub": subject.public_key.decode(), "name": name, "nats": claims}
    head = {"typ": "JWT", "alg": "ed25519-nkey"}
    signed = ".".join(base64url(json.dumps(part).encode()) for part in (head, said))
    return f"{signed}.{base64url(issuer.sign(signed.encode()))}"


def base64url(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")
