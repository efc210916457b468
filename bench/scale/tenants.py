"""Thousands of tenants of ten passages each: start, search, upkeep, another model, dump and restore."""

from __future__ import annotations

import asyncio
import hashlib
import random
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
from psycopg import AsyncConnection, sql
from psycopg.conninfo import make_conninfo

from bench.environment import asked_numbers
from bench.measuring import Table, percentile
from bench.scale.server import scale_server
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.chassis.postgres.migrating import migrate
from sourcier.services.index import migrations
from sourcier.services.index.collections import collections, versions
from sourcier.services.index.collections.collections import Chunking
from sourcier.services.index.collections.versions import NewVersion
from sourcier.services.index.moves import upkeep
from sourcier.services.index.pipeline import batches
from sourcier.services.index.pipeline.batches import Batch, IndexedChunk
from sourcier.services.index.search import search
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.index.spaces import growing, spaces
from sourcier.services.index.spaces.spaces import EmbeddingSpace
from sourcier.services.stack.backups import dumps
from sourcier.services.stack.servers.postgres import PostgresServer

PASSAGES, DIMENSION = 10, 384
ROUNDS, SEARCHES_A_ROUND = 20, 25
RATIO_MAX = 1.5
GROWN_PASSAGES = 2_010
SPACE = EmbeddingSpace(
    space_id="bench-before", model="bench", revision="1", dimension=DIMENSION, query_prefix="query: ",
    passage_prefix="passage: ", pooling="mean", token_mean_sha256="0" * 64, token_weights="unigram",
)
AFTER = replace(SPACE, space_id="bench-after", model="bench-2")
CHUNKING = Chunking(method="hybrid", unit="tokens", target=300, overlap=0, maximum=480)
WORDS = (
    "pont", "mairie", "fleuve", "congé", "facture", "barème", "notaire", "accord",
    "école", "relevé", "préavis", "avenant", "loyer", "permis", "cadastre",
)
QUESTION = "le préavis du notaire"


async def run(*, quick: bool) -> list[Table]:
    """Compare one tenant alone with one of many; `SOURCIER_BENCH_TENANTS` names other numbers of them."""
    numbers = asked_numbers("SOURCIER_BENCH_TENANTS", (200,) if quick else (2_000, 20_000))
    times = Table("tenants, steps", "s", higher_is_better=False)
    delays = Table("tenants, Search's dense and lexical part", "ms", higher_is_better=False)
    p95 = Table("tenants, p95 of a search, by rounds", "ms", higher_is_better=False)
    async with scale_server() as (server, folder):
        async with _filled(server, 1, times) as alone:
            for number in numbers:
                async with _filled(server, int(number), times) as many:
                    await _compare(alone, many, delays, p95)
                    await many.steps(times, folder)
    return [times, delays, p95]


class _filled:  # noqa: N801 - used as a function
    """A database of so many tenants, with what is measured of it."""

    def __init__(self, server: PostgresServer, tenants: int, times: Table) -> None:
        self.server, self.tenants, self._times = server, tenants, times
        self.name = f"{tenants:,} tenants" if tenants > 1 else "one tenant"
        self._chance = random.Random(41)

    async def __aenter__(self) -> _filled:
        self.url = await self.server.create_database(f"tenants_{self.tenants}")
        await migrate(self.url, migrations.FOLDER)
        self.database = await Database(DatabaseSettings(url=self.url, statement_timeout_seconds=600)).__aenter__()
        async with self.database.transaction(tenant=ALL_TENANTS) as connection:
            self.space = await spaces.ensure_space(connection, SPACE)
        await _index(self.database, _tenant(0), passages=PASSAGES)
        async with self.superuser() as connection:
            await _clone(connection, self.tenants)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.database.__aexit__(None, None, None)
        await self.server.drop_database(f"tenants_{self.tenants}")

    def superuser(self) -> _Superuser:
        return _Superuser(make_conninfo(self.server.superuser_url, dbname=f"tenants_{self.tenants}"))

    async def search(self) -> float:
        """Search as some tenant does; return the milliseconds."""
        tenant = _tenant(self._chance.randrange(self.tenants))
        request = SearchRequest(tenant=tenant, collections=("default",), limit=10)
        begun = time.perf_counter()
        found = await search.fused(self.database, request, question=QUESTION, vector=QuestionVector(
            self.space.space_id, _vector(QUESTION)))
        seconds = time.perf_counter() - begun
        assert found, "nothing was found"
        return 1_000 * seconds

    async def steps(self, times: Table, folder: Path) -> None:
        """Measure what is done to the whole."""
        @contextmanager
        def measured(step: str) -> Iterator[None]:
            begun = time.perf_counter()
            yield
            times.add(f"{self.name}, {step}", time.perf_counter() - begun)

        with measured("start: migrations looked at, space and its parts ensured"):
            await migrate(self.url, migrations.FOLDER)
            async with self.database.transaction(tenant=ALL_TENANTS) as connection:
                await spaces.ensure_space(connection, SPACE)
        with measured("upkeep: a look for tenants that grew, and for indexes to build"):
            await spaces.build_indexes(self.database)
        await _index(self.database, "grown", passages=GROWN_PASSAGES)
        with measured(f"a tenant of {GROWN_PASSAGES:,} passages moved to its own part"):
            assert await growing.move(self.database, vectors_table=self.space.vectors_table, tenant="grown") is not None
        await self._dump(measured, folder)
        await self._swap(measured)
        with measured("relations of the schema counted by the catalogue"):
            async with self.superuser() as connection:
                cursor = await connection.execute(RELATIONS)
                relations = (await cursor.fetchone() or (0,))[0]
        times.notes[f"{self.name}, relations of the schema counted by the catalogue"] = f"{relations} relations"

    async def _dump(self, measured: Callable[[str], object], folder: Path) -> None:
        place = folder / "dump"
        place.mkdir(exist_ok=True)
        source = make_conninfo(self.server.superuser_url, dbname=f"tenants_{self.tenants}")
        async with self.superuser() as connection:
            await connection.execute("begin isolation level repeatable read read only")
            cursor = await connection.execute("select pg_export_snapshot()")
            snapshot = str((await cursor.fetchone() or ("",))[0])
            with measured("dump"):  # type: ignore[attr-defined]
                await dumps.dump(source, schema="sourcier", snapshot=snapshot, folder=place)
            await connection.execute("commit")
        target = await self.server.create_database(f"restored_{self.tenants}")
        try:
            with measured("restore"):  # type: ignore[attr-defined]
                await dumps.restore(target, folder=place)
        finally:
            await self.server.drop_database(f"restored_{self.tenants}")
            shutil.rmtree(place)

    async def _swap(self, measured: Callable[[str], object]) -> None:
        """Give all another space, as moves of every collection would, and have the product drop what was before."""
        async with self.database.transaction(tenant=ALL_TENANTS) as connection:
            after = await spaces.ensure_space(connection, AFTER)
        async with self.superuser() as connection:
            with measured("another model: vectors written, not computed"):  # type: ignore[attr-defined]
                await connection.execute(sql.SQL("insert into {after} select * from {before}").format(
                    after=sql.Identifier(after.vectors_table), before=sql.Identifier(self.space.vectors_table)))
            await connection.execute("update collections set space_id = %s", (AFTER.space_id,))
            await connection.execute(
                "update embedding_spaces set state = 'retired', retired_at = now() - interval '1 day' "
                "where space_id = %s", (SPACE.space_id,))
        with measured("another model: the space before dropped, part by part"):  # type: ignore[attr-defined]
            await _dropped(self.database)
        async with self.superuser() as connection:
            cursor = await connection.execute("select to_regclass(%s)", (self.space.vectors_table,))
            assert await cursor.fetchone() == (None,), "its table is still there"


class _Superuser:
    """A connection that row-level security does not bind: it fills, and looks at what the product left."""

    def __init__(self, url: str) -> None:
        self._url = url

    async def __aenter__(self) -> AsyncConnection:
        self._connection = await AsyncConnection.connect(self._url, autocommit=True)
        await self._connection.execute("set search_path to sourcier, public")
        return self._connection

    async def __aexit__(self, *_: object) -> None:
        await self._connection.close()


async def _compare(alone: _filled, many: _filled, delays: Table, p95: Table) -> None:
    """Search both in turns, so that a busy machine is busy for both."""
    for warming in (alone, many):
        for _ in range(SEARCHES_A_ROUND):
            await warming.search()
    names = f"one tenant, beside {many.name}", many.name
    for _ in range(ROUNDS):
        found: dict[str, list[float]] = {name: [] for name in names}
        for _ in range(SEARCHES_A_ROUND):
            for name, side in zip(names, (alone, many), strict=True):
                found[name].append(await side.search())
        for name, values in found.items():
            for value in values:
                delays.add(name, value)
            p95.add(name, percentile(values, 0.95))
    p95.ratio(names[1], names[0], target=RATIO_MAX)


async def _dropped(database: Database) -> None:
    while True:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            if not await upkeep.drop_retired_parts(connection):
                break
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await upkeep.drop_retired_tables(connection) == [SPACE.space_id]


async def _index(database: Database, tenant: str, *, passages: int) -> None:
    """Take one document all the way, as ingest does."""
    chance = random.Random(tenant)
    texts = [f"{' '.join(chance.choices(WORDS, k=40))}. Le préavis du notaire est de {number} jours."
             for number in range(passages)]
    async with database.transaction(tenant=tenant) as connection:
        collection = await collections.ensure_collection(
            connection, tenant=tenant, name="default", space_id=SPACE.space_id, chunking=CHUNKING)
        accepted = await versions.accept(connection, NewVersion(
            tenant=tenant, collection_id=collection.collection_id, source="a.txt", original_key="originals/a.txt",
            content_sha256=hashlib.sha256(tenant.encode()).digest(), configuration_digest="1", space_id=SPACE.space_id,
            lane="bulk", filename="a.txt", size_bytes=1))
    chunks = tuple(
        IndexedChunk(
            chunk_id=_uuid(f"{tenant}/{place}"), index=place, text=text, start_character=0, end_character=len(text),
            token_count=50, vector=_vector(text), token_codes=bytes(48 * 50), page=1, heading_path=())
        for place, text in enumerate(texts))
    batch = Batch(version=accepted.version, space_id=SPACE.space_id, batch_no=0, batch_count=1, title="",
                  method="hybrid", chunks=chunks)
    prepared = await asyncio.to_thread(batches.prepare, batch, collection_number=collection.number)
    async with database.transaction(tenant=tenant) as connection:
        await batches.stage_batch(connection, prepared)


async def _clone(connection: AsyncConnection, tenants: int) -> None:
    """Copy the rows of the first tenant to the others, with ids of their own."""
    await connection.execute("set session_replication_role = replica")
    cursor = await connection.execute(TENANT_TABLES)
    for (table,) in await cursor.fetchall():
        columns = await connection.execute(COLUMNS, (table,))
        kinds = {str(name): str(kind) for name, kind in await columns.fetchall()}
        names = list(kinds)
        values = [
            sql.SQL(WRITTEN.get((str(table), name), WRITTEN.get(("", name), COPIED.get(kind, "row.{column}")))).format(
                column=sql.Identifier(name))
            for name, kind in kinds.items()
        ]
        await connection.execute(sql.SQL(CLONE).format(
            table=sql.Identifier(table), columns=sql.SQL(", ").join(map(sql.Identifier, names)),
            values=sql.SQL(", ").join(values)), {"first": _tenant(0), "last": tenants - 1})
    await connection.execute("vacuum analyze")


def _tenant(number: int) -> str:
    return f"t-{number:05d}"


def _uuid(name: str) -> str:
    digest = hashlib.sha256(name.encode()).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def _vector(text: str) -> bytes:
    seed = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    numbers = np.random.default_rng(seed).normal(size=DIMENSION)
    return (numbers / np.linalg.norm(numbers)).astype("<f2").tobytes()


RELATIONS = "select count(*) from pg_class where relnamespace = 'sourcier'::regnamespace"
TENANT_TABLES = """
select relname from pg_class
join pg_attribute on attrelid = pg_class.oid and attname = 'tenant'
where relkind in ('r', 'p') and not relispartition and relnamespace = 'sourcier'::regnamespace
order by relname
"""
COLUMNS = """
select attname, atttypid::regtype::text from pg_attribute
where attrelid = %s::regclass and attnum > 0 and not attisdropped and attgenerated = ''
order by attnum
"""
COPIED = {"uuid": "md5(row.{column}::text || other.place)::uuid"}
WRITTEN = {
    ("", "tenant"): "'t-' || lpad(other.place::text, 5, '0')",
    ("collections", "number"): "row.number + other.place",
    # Each lexeme begins with its collection's number, so that no search looks at another's.
    ("lexical_entries", "lexemes"): (
        "regexp_replace(row.lexemes::text, '''(\\d+):', "
        "'''' || ((regexp_match(row.lexemes::text, '''(\\d+):'))[1]::int + other.place) || ':', 'g')::tsvector"
    ),
}
CLONE = """
insert into {table} ({columns}) overriding system value
select {values}
from {table} as row cross join generate_series(1, %(last)s) as other (place)
where row.tenant = %(first)s
"""
