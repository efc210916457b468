"""Fill the product's own schema with the grown corpus, as its own role, row-level security on; kept between runs."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import aclosing, asynccontextmanager, contextmanager
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from psycopg import sql

from bench.scale import rows as scale_rows
from bench.scale.corpus import BLOCK
from bench.scale.passages import RealTexts
from bench.texts import ROOT
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database, DatabaseSettings
from sourcier.services.chassis.postgres.migrating import migrate
from sourcier.services.index.collections import collections
from sourcier.services.index.collections.collections import Chunking, Collection
from sourcier.services.index.spaces import partitions, spaces
from sourcier.services.index.spaces.partitions import partition_name
from sourcier.services.index.spaces.spaces import EmbeddingSpace, StoredSpace
from sourcier.services.stack.servers.postgres import PostgresServer

TENANT, COLLECTION = "bench", "default"
CHUNKING = Chunking(method="hybrid", unit="tokens", target=300, overlap=0, maximum=480)
AHEAD = 3
"""Blocks made while one is sent."""
CONNECTIONS_MAX = 20


@dataclass(frozen=True, slots=True)
class Loading:
    """What it took to fill a database, and what is in it."""

    size: int
    rows_seconds: float
    """Without the two indexes below."""
    gin_seconds: float
    hnsw_seconds: float
    """0 where so few are scanned exactly."""
    lexemes: int
    bytes: dict[str, int]
    """By what they hold."""


@dataclass(frozen=True)
class LoadedIndex:
    """A filled database."""

    url: str
    database: Database
    loading: Loading
    space: StoredSpace
    vectors: npt.NDArray[np.float16]
    """Shape (size, dimension), in the order of the chunks' numbers."""

    @property
    def partition(self) -> str:
        """The table of the tenant's vectors."""
        return partition_name(self.space.vectors_table, TENANT)


@asynccontextmanager
async def loaded_index(server: PostgresServer, real: RealTexts, *, size: int, kept: Path) -> AsyncIterator[LoadedIndex]:
    """Yield a database with `size` chunks; one that a run before has filled is taken as it is."""
    url = await server.create_database(f"grown_{size}")
    await migrate(url, ROOT / "sourcier" / "services" / "index" / "migrations")
    vectors_file, figures = kept / f"grown-{size}-vectors.npy", kept / f"grown-{size}-loading.json"
    settings = DatabaseSettings(
        url=url, connections_max=CONNECTIONS_MAX, statement_timeout_seconds=600, idle_transaction_timeout_seconds=600
    )
    async with Database(settings) as database:
        space, collection = await _prepare(database, real)
        if not figures.exists():
            loading = await _load(database, real, space, collection, size=size, kept=kept)
            figures.write_text(json.dumps(asdict(loading)))
        loading = Loading(**json.loads(figures.read_text()))
        yield LoadedIndex(url, database, loading, space, np.load(vectors_file, mmap_mode="r"))


async def _prepare(database: Database, real: RealTexts) -> tuple[StoredSpace, Collection]:
    space = EmbeddingSpace(
        space_id=real.space_id, model="bench", revision="1", dimension=real.dimension, query_prefix="query: ",
        passage_prefix="passage: ", pooling="mean", token_mean_sha256="0" * 64, token_weights="unigram",
    )
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        stored = await spaces.ensure_space(connection, space)
    async with database.transaction(tenant=TENANT) as connection:
        await partitions.ensure_partition(
            connection, vectors_table=stored.vectors_table, tenant=TENANT, rows=partitions.SHARED_ROWS_MAX + 1
        )
        collection = await collections.ensure_collection(
            connection, tenant=TENANT, name=COLLECTION, space_id=space.space_id, chunking=CHUNKING
        )
    return stored, collection


async def _load(
    database: Database, real: RealTexts, space: StoredSpace, collection: Collection, *, size: int, kept: Path
) -> Loading:
    """Fill what is missing: a run that was cut off goes on where it was."""
    seconds = _Seconds(kept / f"grown-{size}-seconds.json")
    async with database.transaction(tenant=TENANT) as connection:
        cursor = await connection.execute(SELECT_LOADED)
        row = await cursor.fetchone()
        assert row is not None
        done, lexemes = int(row[0]) // BLOCK, int(row[1])
    if not lexemes:
        await _load_rows(database, real, space, collection, size=size, done=done, kept=kept, seconds=seconds)
        async with database.transaction(tenant=TENANT) as connection:
            await connection.execute(INSERT_STATISTICS)
            cursor = await connection.execute(INSERT_FREQUENCIES)
            lexemes = cursor.rowcount
            await connection.execute("delete from lexical_changes")
    async with database.autocommit(tenant=TENANT) as connection:
        await connection.execute("set statement_timeout = 0")
        await connection.execute("set maintenance_work_mem = '1GB'")
        with seconds.measured("gin"):
            await connection.execute(CREATE_GIN)
        await connection.execute("reset maintenance_work_mem")
        await connection.execute("vacuum analyze")
        await connection.execute("set statement_timeout = '600s'")
    with seconds.measured("hnsw"):
        await spaces.build_indexes(database)
    return Loading(
        size=size, rows_seconds=seconds.of("rows"), gin_seconds=seconds.of("gin"),
        hnsw_seconds=seconds.of("hnsw") if size > spaces.EXACT_ROWS_MAX else 0.0,
        lexemes=lexemes, bytes=await _sizes(database, space),
    )


async def _load_rows(
    database: Database, real: RealTexts, space: StoredSpace, collection: Collection, *, size: int, done: int,
    kept: Path, seconds: _Seconds,
) -> None:
    shape = (size, real.dimension)
    path = kept / f"grown-{size}-vectors.npy"
    vectors = np.lib.format.open_memmap(path, "r+" if done else "w+", np.float16, shape)
    async with database.autocommit(tenant=TENANT) as connection:
        await connection.execute("drop index if exists lexical_entries_by_lexeme")
    blocks = _made(real, collection, first=done, size=size)
    async with aclosing(blocks):
        while True:
            with seconds.measured("rows"):
                made = await anext(blocks, None)
                if made is None:
                    break
                number, rows = made
                vectors[number * BLOCK : number * BLOCK + len(rows.vectors)] = rows.vectors
                async with database.transaction(tenant=TENANT) as connection:
                    await _insert(connection, rows, space, collection)
    vectors.flush()


class _Seconds:
    """Time spent by part, over all runs that it took."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: dict[str, float] = json.loads(path.read_text()) if path.exists() else {}

    @contextmanager
    def measured(self, part: str) -> Iterator[None]:
        """Add the time of the block to a part."""
        started = time.perf_counter()
        yield
        self._known[part] = self.of(part) + time.perf_counter() - started
        self._path.write_text(json.dumps(self._known))

    def of(self, part: str) -> float:
        """Return the seconds spent on a part."""
        return self._known.get(part, 0.0)


async def _made(
    real: RealTexts, collection: Collection, *, first: int, size: int
) -> AsyncGenerator[tuple[int, scale_rows.Rows], None]:
    """Give the corpus's blocks as they are made in another process, a few ahead."""
    loop = asyncio.get_running_loop()
    with ProcessPoolExecutor(1, get_context("spawn"), scale_rows.open_corpus, (real,)) as pool:
        waiting: list[tuple[int, asyncio.Future[scale_rows.Rows]]] = []
        for number in range(first, -(-size // BLOCK)):
            chunks = min(BLOCK, size - number * BLOCK)
            future = loop.run_in_executor(pool, scale_rows.rows_of, number, collection.number, chunks)
            waiting.append((number, future))
            if len(waiting) > AHEAD:
                number, made = waiting.pop(0)
                yield number, await made
        for number, made in waiting:
            yield number, await made


async def _insert(connection: Connection, rows: scale_rows.Rows, space: StoredSpace, collection: Collection) -> None:
    values: dict[str, Any] = {
        "tenant": TENANT, "collection_id": collection.collection_id, "version_id": new_id(),
        "stems": list(rows.frequencies), "counts": list(rows.frequencies.values()),
    } | rows.documents | rows.chunks
    table = sql.Identifier(space.vectors_table)
    async with connection.pipeline():
        await connection.execute(INSERT_DOCUMENTS, values)
        await connection.execute(INSERT_CHUNKS, values)
        await connection.execute(INSERT_ENTRIES, values)
        await connection.execute(sql.SQL(INSERT_VECTORS).format(table=table), values)
        await connection.execute(INSERT_CHANGE, values)


async def _sizes(database: Database, space: StoredSpace) -> dict[str, int]:
    sizes: dict[str, int] = {}
    async with database.transaction(tenant=TENANT) as connection:
        for table in ("chunks", "lexical_entries", partition_name(space.vectors_table, TENANT), "documents",
                      "lexeme_frequencies"):
            cursor = await connection.execute(SELECT_SIZES, {"table": table})
            name = "vectors" if table.startswith(space.vectors_table) else table
            for kind, size in await cursor.fetchall():
                sizes[f"{name}, {kind}"] = sizes.get(f"{name}, {kind}", 0) + int(size)
    return sizes


CREATE_GIN = """
create index if not exists lexical_entries_by_lexeme on lexical_entries using gin (lexemes) with (fastupdate = off)
"""

INSERT_DOCUMENTS = """
insert into documents (document_id, tenant, collection_id, source, current_version, current_generation, title, filename,
                       content_type, size_bytes, content_sha256, metadata, category, chunk_count)
select document_id, %(tenant)s, %(collection_id)s::uuid, source, %(version_id)s::uuid, 1, source, source, 'text/plain',
       1, ''::bytea, metadata, category, 20
from unnest(%(document_ids)s::uuid[], %(sources)s::text[], %(metadata)s::jsonb[], %(categories)s::text[])
     as document (document_id, source, metadata, category)
"""

INSERT_CHUNKS = """
insert into chunks (chunk_id, tenant, collection_id, document_id, version_id, chunk_index, kind, method, language, page,
                    start_character, end_character, token_count, heading_path, text)
select chunk_id, %(tenant)s, %(collection_id)s::uuid, document_id, %(version_id)s::uuid, chunk_index, 'text', 'hybrid',
       language, 1, 0, length(text), token_count, '[]', text
from unnest(%(chunk_ids)s::uuid[], %(chunk_documents)s::uuid[], %(indexes)b::integer[], %(languages)s::text[],
            %(token_counts)b::integer[], %(texts)s::text[])
     as chunk (chunk_id, document_id, chunk_index, language, token_count, text)
"""

INSERT_ENTRIES = """
insert into lexical_entries (tenant, collection_id, document_id, chunk_id, lexemes, terms)
select %(tenant)s, %(collection_id)s::uuid, document_id, chunk_id, lexemes, terms
from unnest(%(chunk_ids)s::uuid[], %(chunk_documents)s::uuid[], %(lexemes)b::tsvector[], %(terms)b::sparsevec[])
     as entry (chunk_id, document_id, lexemes, terms)
"""

INSERT_VECTORS = """
insert into {table} (tenant, collection_id, document_id, chunk_id, embedding, token_codes)
select %(tenant)s, %(collection_id)s::uuid, document_id, chunk_id, embedding, token_codes
from unnest(%(chunk_ids)s::uuid[], %(chunk_documents)s::uuid[], %(vectors)b::halfvec[], %(token_codes)b::bytea[])
     as vector (chunk_id, document_id, embedding, token_codes)
"""

# As a commit notes it; added up at once, where the product's refresh goes in steps.
INSERT_CHANGE = """
insert into lexical_changes (tenant, collection_id, passages, lexemes, counts)
values (%(tenant)s, %(collection_id)s::uuid, cardinality(%(chunk_ids)s::uuid[]), %(stems)s::text[],
        %(counts)b::integer[])
"""

INSERT_STATISTICS = """
insert into collection_statistics (collection_id, tenant, passages)
select collection_id, tenant, sum(passages) from lexical_changes group by collection_id, tenant
"""

INSERT_FREQUENCIES = """
insert into lexeme_frequencies (collection_id, lexeme, tenant, passages)
select collection_id, lexeme, tenant, sum(count)
from lexical_changes
cross join lateral unnest(lexemes, counts) as change (lexeme, count)
group by collection_id, lexeme, tenant
"""

SELECT_LOADED = """
select (select count(*) from chunks), (select count(*) from lexeme_frequencies)
"""

# Of the vectors' table, what is stored apart from its rows (TOAST) are token codes.
SELECT_SIZES = """
select 'table', pg_table_size(oid) - coalesce(pg_total_relation_size(nullif(reltoastrelid, 0)), 0)
from pg_class
where oid = to_regclass(quote_ident(%(table)s))
union all
select 'TOAST', pg_total_relation_size(reltoastrelid)
from pg_class
where oid = to_regclass(quote_ident(%(table)s)) and pg_relation_size(nullif(reltoastrelid, 0)) > 0
union all
select case amname when 'hnsw' then 'HNSW' when 'gin' then 'GIN' else 'B-trees' end, pg_relation_size(index.oid)
from pg_index
join pg_class as index on index.oid = indexrelid
join pg_am on pg_am.oid = index.relam
where indrelid = to_regclass(quote_ident(%(table)s))
"""
