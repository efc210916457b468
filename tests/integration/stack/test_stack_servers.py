"""The launchers of the three servers: ready means usable, limits hold, a second start finds what the first one left."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from pathlib import Path

import httpx
import nats
import psutil
import psycopg
import pytest

from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.stack import programs
from sourcier.services.stack.processes import ports, users
from sourcier.services.stack.processes.component import StartFailed
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings
from sourcier.services.stack.servers.postgres import PostgresServer, PostgresServerSettings
from sourcier.services.stack.servers.s3 import PORT_NAMES, S3Server, S3ServerSettings
from tests import strangers
from tests.fix_servers import S3Bucket


def nats_settings(folder: Path) -> NatsServerSettings:
    return NatsServerSettings(folder=folder / "nats", log=folder / "logs" / "nats.log")


async def test_nats_keeps_messages_over_a_restart(tmp_path: Path) -> None:
    server = NatsServer(nats_settings(tmp_path))
    async with server:
        connection = await nats.connect(server.url)
        await connection.jetstream().add_stream(name="KEPT", subjects=["kept.>"])
        await connection.jetstream().publish("kept.one", b"1")
        await connection.close()
    async with server:
        connection = await nats.connect(server.url)
        state = await connection.jetstream().stream_info("KEPT")
        await connection.close()
    assert state.state.messages == 1


async def test_nats_refuses_strangers(nats_server: NatsServer) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", nats_server.ports["nats"])
    writer.write(b'CONNECT {"user": "sourcier", "pass": "wrong"}\r\nPING\r\n')
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    assert b"Authorization Violation" in answer


async def test_nats_has_no_port_but_the_clients(nats_server: NatsServer) -> None:
    """Its monitoring tells clients, subjects and streams to whoever asks."""
    [process] = [found for found in psutil.process_iter(["name", "cmdline"])
                 if found.info["name"] == "nats-server"
                 and str(nats_server.settings.folder.absolute()) in " ".join(found.info["cmdline"] or ())]
    listening = {entry.laddr.port for entry in process.net_connections("inet") if entry.status == psutil.CONN_LISTEN}
    assert listening == {nats_server.ports["nats"]}


async def test_nats_on_a_taken_port_says_why(tmp_path: Path, nats_server: NatsServer) -> None:
    settings = NatsServerSettings(
        folder=tmp_path / "nats", log=tmp_path / "nats.log", port=nats_server.ports["nats"]
    )
    with pytest.raises(StartFailed) as failure:
        await NatsServer(settings).start()
    assert any("address already in use" in line for line in failure.value.log_lines)


async def test_the_store_takes_other_ports_where_one_of_its_own_choice_was_taken_meanwhile(
    tmp_path: Path, nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices: list[list[int]] = []
    free_ports = ports.free_ports

    def chosen(count: int) -> list[int]:
        choices.append(free_ports(count))
        if len(choices) == 1:
            choices[0][PORT_NAMES.index("admin")] = nats_server.ports["nats"]
        return choices[-1]

    monkeypatch.setattr(ports, "free_ports", chosen)
    async with S3Server(S3ServerSettings(folder=tmp_path / "s3", log=tmp_path / "s3.log", buckets=())) as server:
        assert sorted(server.ports.values()) == sorted(choices[1])
    assert len(choices) == 2


async def test_the_application_role_is_ordinary_and_has_pgvector(empty_database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_database_url) as connection:
        role = await connection.execute(
            "select rolsuper, rolbypassrls, rolcreatedb from pg_roles where rolname = current_user"
        )
        assert await role.fetchone() == (False, False, False)
        await connection.execute("create table vectors (embedding halfvec(3))")
        distance = await connection.execute("select '[1,0,0]'::halfvec <=> '[0,1,0]'::halfvec")
        assert await distance.fetchone() == (1.0,)


async def test_french_stems_survive_accents_and_capitals(empty_database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(empty_database_url) as connection:
        stems = await connection.execute("select to_tsvector('french', 'École ÉCOLES écoles')::text")
        assert await stems.fetchone() == ("'écol':1,2,3",)


async def test_each_test_has_a_migrated_database(database_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(database_url) as connection:
        applied = await connection.execute("select count(*) from sourcier.migrations")
        assert await applied.fetchone() is not None


def test_passwords_are_private(postgres_server: PostgresServer) -> None:
    for name in ("password", "superuser-password"):
        mode = (postgres_server.settings.folder / name).stat().st_mode
        assert stat.S_IMODE(mode) == 0o600
    assert not (postgres_server.settings.folder / "initdb-password").exists()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root drops privileges")
def test_postgres_does_not_run_as_root(postgres_server: PostgresServer) -> None:
    assert postgres_server.child is not None
    assert Path(f"/proc/{postgres_server.child.pid}").stat().st_uid != 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root drops privileges")
async def test_postgres_moves_where_its_user_can_reach_and_says_so(tmp_path: Path) -> None:
    # pytest's folders are root's alone, like a checkout in root's home.
    package = programs.postgres_installation().parent
    for name in (f"{package.name}/pginstall18", f"{package.name}.libs"):
        shutil.copytree(package.parent / name, tmp_path / name)
    installation = tmp_path / package.name / "pginstall18"
    settings = PostgresServerSettings(
        folder=tmp_path / "postgres", log=tmp_path / "postgres.log", durable=False, installation=installation,
        configuration={"shared_buffers": "16MB"},
    )
    server = PostgresServer(settings)
    try:
        async with server:
            assert server.folder.is_relative_to("/var/tmp")
            assert str(server.folder) in server.note
            assert str(settings.folder) in server.note
    finally:
        shutil.rmtree(server.folder)
        shutil.rmtree(users.fallback_folder(installation))


async def test_objects_go_in_and_out(s3_bucket: S3Bucket) -> None:
    store = ObjectStore.open(
        url=s3_bucket.url, bucket=s3_bucket.bucket, access_key=s3_bucket.access_key,
        secret_key=s3_bucket.secret_key, region=s3_bucket.region,
    )
    await store.put("folder/name é.txt", b"contenu")
    assert await store.get("folder/name é.txt") == b"contenu"


@pytest.mark.timeout(300)
async def test_the_inner_ports_of_the_store_refuse_who_has_no_key(s3_bucket: S3Bucket, s3_server: S3Server) -> None:
    """S3 asks for a key; the filer and the volumes behind it gave, took and deleted any object without one."""
    store = ObjectStore.open(
        url=s3_bucket.url, bucket=s3_bucket.bucket, access_key=s3_bucket.access_key,
        secret_key=s3_bucket.secret_key, region=s3_bucket.region,
    )
    await store.put("original.txt", b"for one tenant alone")
    path = f"/buckets/{s3_bucket.bucket}/original.txt"
    # Without its certificate there is no connection, whatever is asked for.
    async with httpx.AsyncClient(trust_env=False, verify=False) as client:
        for part in ("filer", "volume", "master", "admin"):
            for method in ("GET", "PUT", "DELETE"):
                with pytest.raises((httpx.HTTPError, OSError)):
                    await client.request(method, f"https://127.0.0.1:{s3_server.ports[part]}{path}", content=b"forged")
    # Whatever is behind a port: a later release may have more of them.
    told = {part: answers for part, port in s3_server.ports.items() if (answers := await strangers.answers(port))}
    assert not told
    assert await store.get("original.txt") == b"for one tenant alone"
