"""A back-up is all that the tables of all tenants and the bucket hold; what it is restored into goes on from there."""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
import pytest_asyncio
from psycopg import sql
from psycopg.conninfo import make_conninfo

from sourcier.services.chassis.errors import AlreadyExists, FailedPrecondition, NotFound
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database, DatabaseSettings
from sourcier.services.chassis.postgres.migrating import migrate
from sourcier.services.index.documents import file_removals
from sourcier.services.index.documents.documents import delete_document
from sourcier.services.index.migrations import FOLDER
from sourcier.services.index.spaces.spaces import ensure_space
from sourcier.services.stack.backups import dumps, manifest, restoring, taking
from sourcier.services.stack.backups.place import Place
from tests.fix_servers import S3Bucket
from tests.integration.index.writer import SPACE, Writer

KEYS = ("documents/acme/1/original", "artefacts/acme/été 2 %41.json", "big")
BIG = b"0123456789abcdef" * 400_000
"""More than an upload in one request, and than what is held in memory."""
TABLES = """
select relname from pg_class
where relnamespace = 'sourcier'::regnamespace and relkind in ('r', 'p') and not relispartition order by relname
"""
HIDDEN = ("lexical_entries", "chunks")
"""No claim shows a tenant's lexical entries beside another's; that they are compared is asserted."""
SPACE_VECTORS = "vectors_" + hashlib.sha256(SPACE.space_id.encode()).hexdigest()[:12]
SEQUENCES = "select sequencename, last_value from pg_sequences where schemaname = 'sourcier' order by 1"
SECURED = """
select relname, relrowsecurity, relforcerowsecurity, (select count(*) from pg_policy where polrelid = pg_class.oid),
       (select count(*) from pg_trigger where tgrelid = pg_class.oid and not tgisinternal),
       (select count(*) from pg_index where indrelid = pg_class.oid)
from pg_class where relnamespace = 'sourcier'::regnamespace and relkind in ('r', 'p') order by relname
"""


def store_of(bucket: S3Bucket) -> ObjectStore:
    return ObjectStore.open(
        url=bucket.url, bucket=bucket.bucket, access_key=bucket.access_key, secret_key=bucket.secret_key,
        region=bucket.region,
    )


@pytest_asyncio.fixture(loop_scope="session")
async def place(database_url: str, s3_bucket: S3Bucket, postgres_server: Any) -> Place:
    return Place(
        postgres_url=database_url, schema="sourcier", dump_url=seeing_all(postgres_server, database_url),
        buckets={"own": store_of(s3_bucket)},
    )


def seeing_all(server: Any, url: str) -> str:
    """Return the URL of a database for its superuser."""
    return make_conninfo(server.superuser_url, dbname=url.rpartition("/")[2])


@pytest_asyncio.fixture(loop_scope="session")
async def new_place(empty_database_url: str, s3_server: Any, postgres_server: Any) -> Place:
    name = f"restored-{uuid.uuid4().hex[:12]}"
    await s3_server.create_bucket(name)
    bucket = S3Bucket(s3_server.url, name, s3_server.access_key, s3_server.secret_key)
    return Place(
        postgres_url=empty_database_url, schema="sourcier", dump_url=seeing_all(postgres_server, empty_database_url),
        buckets={"own": store_of(bucket)},
    )


async def rows(database: Database, statement: str) -> list[Any]:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        return await rows_of(connection, statement)


async def rows_of(connection: Connection, statement: str) -> list[Any]:
    return await (await connection.execute(statement.encode())).fetchall()


async def contents(place: Place) -> dict[str, list[Any]]:
    """Return every row of every table as the superuser sees them, and sequences; not what is known of the broker."""
    found = {}
    async with await psycopg.AsyncConnection.connect(place.dump_url) as connection:
        await connection.execute("set search_path to sourcier, public")
        for (table,) in await (await connection.execute(TABLES.encode())).fetchall():
            if table != "broker_streams":
                query = sql.SQL("select t::text from {} as t order by 1").format(sql.Identifier(table))
                found[table] = await (await connection.execute(query)).fetchall()
        found["sequences"] = await (await connection.execute(SEQUENCES.encode())).fetchall()
    return found


def counted(tables: dict[str, list[Any]]) -> dict[str, int]:
    """Return how many rows each table has."""
    return {table: len(each) for table, each in tables.items()}


async def test_a_restore_has_every_row_and_object_and_goes_on(place: Place, new_place: Place, tmp_path: Path) -> None:
    async with Database(DatabaseSettings(url=place.postgres_url)) as database:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await ensure_space(connection, SPACE)
            await connection.execute(
                "insert into broker_streams (stream, created, last_sequence) values ('S', 'then', 7)"
            )
        for tenant in ("acme", "beta"):
            writer = Writer(database, tenant)
            await writer.index("note.md", ["Le chat dort.", "Le règlement intérieur (RI) vaut dès le 1er juin 2025."])
            await writer.accept("under way.md", "two")
        before, secured = await contents(place), await rows(database, SECURED)
    assert all(before[table] for table in (*HIDDEN, SPACE_VECTORS)), counted(before)
    for key in KEYS:
        await place.buckets["own"].put_stream(key, pieces_of(BIG if key == "big" else key.encode()))
    taken = await taking.take(place, tmp_path / "backup")
    assert (taken.counts["documents"], taken.objects) == (4, {"own": len(KEYS)})
    assert (tmp_path / "backup").stat().st_mode & 0o777 == 0o700
    assert names_in(tmp_path) == ["backup"]
    with pytest.raises(AlreadyExists, match="name a new folder"):
        await taking.take(place, tmp_path / "backup")

    await restoring.restore(new_place, tmp_path / "backup", manifest.read(tmp_path / "backup"))
    for key in KEYS:
        assert await new_place.buckets["own"].get(key) == (BIG if key == "big" else key.encode())
    assert await migrate(new_place.postgres_url, FOLDER) == []
    async with Database(DatabaseSettings(url=new_place.postgres_url)) as database:
        after = await contents(new_place)
        assert counted(after) == counted(before)
        assert after == before
        assert await rows(database, SECURED) == secured
        assert await rows(database, "select created from broker_streams") != [("then",)]
        # The next numbers are new ones, and tenants are apart.
        writer = Writer(database)
        again = await writer.index("note.md", ["Le chien mange."])
        await writer.index("more.md", ["Autre chose."])
        assert again.generation == 2
        async with database.transaction(tenant="beta", read_only=True) as connection:
            seen = await (await connection.execute("select text from chunks order by 1")).fetchall()
            assert len(seen) == 2
        with pytest.raises(FailedPrecondition, match="already"):
            await restoring.restore(new_place, tmp_path / "backup", taken)


async def test_a_role_that_rows_are_hidden_from_dumps_nothing(place: Place, tmp_path: Path) -> None:
    async with Database(DatabaseSettings(url=place.postgres_url)) as database:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await ensure_space(connection, SPACE)
        await Writer(database).index("note.md", ["Le chat dort."])
        for url in ("", place.postgres_url):
            with pytest.raises(FailedPrecondition, match="SOURCIER_BACKUP_POSTGRES_URL"):
                await taking.take(replace(place, dump_url=url), tmp_path / "backup")
        async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            (snapshot,) = await rows_of(connection, "select pg_export_snapshot()")
            with pytest.raises(FailedPrecondition, match="row-level security"):
                await dumps.dump(place.postgres_url, schema="sourcier", snapshot=snapshot[0], folder=tmp_path)
    assert "backup" not in names_in(tmp_path)


async def test_a_role_of_its_own_for_backups_sees_every_row(
    place: Place, new_place: Place, postgres_server: Any, tmp_path: Path
) -> None:
    """As the documentation makes one: neither superuser nor owner."""
    async with Database(DatabaseSettings(url=place.postgres_url)) as database:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await ensure_space(connection, SPACE)
        for tenant in ("acme", "beta"):
            await Writer(database, tenant).index("note.md", ["Le chat dort.", "Le chien mange."])
    role = f"backup_{uuid.uuid4().hex[:12]}"
    async with await psycopg.AsyncConnection.connect(postgres_server.superuser_url, autocommit=True) as connection:
        await connection.execute(f"create role {role} login bypassrls password 'secret word'".encode())
        await connection.execute(f"grant pg_read_all_data to {role}".encode())
        try:
            own = make_conninfo(place.dump_url, user=role, password="secret word")
            await taking.take(replace(place, dump_url=own), tmp_path / "backup")
        finally:
            await connection.execute(f"drop role {role}".encode())
    await restoring.restore(new_place, tmp_path / "backup", manifest.read(tmp_path / "backup"))
    assert await contents(new_place) == await contents(place)


async def test_a_restore_is_refused_where_it_would_not_be_what_was_taken(
    place: Place, new_place: Place, tmp_path: Path
) -> None:
    await place.buckets["own"].put_stream("a", pieces_of(b"a"))
    taken = await taking.take(place, tmp_path / "backup")
    for spoiled, said in (
        (replace(taken, migration=taken.migration + 1), f"later release: it has migration {taken.migration + 1}"),
        (replace(taken, schema="other"), "of the schema other"),
        (replace(taken, objects={"elsewhere": 1}), "nothing here has the bucket elsewhere"),
    ):
        with pytest.raises(FailedPrecondition, match=said):
            await restoring.restore(new_place, tmp_path / "backup", spoiled)
    await new_place.buckets["own"].put_stream("somebody's", pieces_of(b"b"))
    with pytest.raises(FailedPrecondition, match="holds somebody's, which is not of this back-up"):
        await restoring.restore(new_place, tmp_path / "backup", taken)
    with pytest.raises(NotFound):
        await new_place.buckets["own"].get("a")
    await new_place.buckets["own"].delete("somebody's")
    # What a restore that was cut off left is no hindrance.
    await new_place.buckets["own"].put_stream("a", pieces_of(b"half"))
    await restoring.restore(new_place, tmp_path / "backup", taken)
    assert await new_place.buckets["own"].get("a") == b"a"


async def test_files_of_what_is_deleted_stay_until_the_backup_is_done(place: Place) -> None:
    async with Database(DatabaseSettings(url=place.postgres_url)) as database:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await ensure_space(connection, SPACE)
        version = await Writer(database).index("note.md", ["Le chat dort."])
        async with database.transaction(tenant="acme") as connection:
            await delete_document(connection, tenant="acme", document_id=version.document_id)
            await connection.execute("update file_removals set not_before = now()")

        async def due() -> int:
            async with database.transaction(tenant=ALL_TENANTS) as connection:
                return len(await file_removals.due(connection, limit=10))

        async with taking._files_kept(database):
            assert await due() == 0
        assert await due() > 0
        # One that is being removed goes first.
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            assert await file_removals.due(connection, limit=10)
            keeping = asyncio.create_task(taking._files_kept(database).__aenter__())
            done, _ = await asyncio.wait([keeping], timeout=0.5)
            assert not done
        await keeping


async def test_nothing_is_left_of_a_backup_that_failed(new_place: Place, tmp_path: Path) -> None:
    with pytest.raises(FailedPrecondition, match="nothing to back up"):
        await taking.take(new_place, tmp_path / "backup")
    assert names_in(tmp_path) == []


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def pieces_of(body: bytes) -> AsyncIterator[bytes]:
    for start in range(0, len(body), 1_000_000):
        yield body[start : start + 1_000_000]
