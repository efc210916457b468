"""Exact search and the index agree within a stated recall, with and without filters, and filters lose nothing (R5)."""

from __future__ import annotations

import random

import pytest

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.search import dense, search
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.index.spaces import hnsw, spaces
from tests.integration.index.writer import DIMENSION, SPACE, Writer, unit_vector

RECALL_MIN = 0.95
"""What the index is stated to find of the ten closest (docs/using/asking.md)."""
ROWS, QUESTIONS, LIMIT = 2_000, 60, 10


def vector(generator: random.Random) -> bytes:
    return unit_vector([generator.gauss(0, 1) for _ in range(DIMENSION)])


async def found(database: Database, question: bytes, *, exact: bool, filters: Filters) -> list[str]:
    request = SearchRequest(
        tenant="acme", collections=["default"], limit=LIMIT, exact=exact, filters=filters
    )
    results = await search.dense(database, request, vector=QuestionVector(SPACE.space_id, question))
    return [result.passage.chunk_id for result in results]


async def test_the_index_finds_what_exact_search_finds(
    database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = random.Random(11)
    # One document in twenty is of the category that is filtered by: few enough for an index to lose them.
    for number in range(20):
        acceptance = await writer.accept(f"{number}.txt", str(number), category="rare" if number == 7 else "")
        texts = [f"passage {number} {place}" for place in range(ROWS // 20)]
        await writer.stage(acceptance.version, texts, vectors=[vector(generator) for _ in texts])
    await writer.refresh()
    async with database.autocommit(tenant="acme") as connection:
        await connection.execute("analyze")
    assert len(await spaces.build_indexes(database, rows_min=500)) == 1
    monkeypatch.setattr(dense, "EXACT_ROWS_MAX", 0)
    for filters in (Filters(), Filters(categories=("rare",)), Filters(chunk_types=("text",))):
        agreed = 0
        for _ in range(QUESTIONS):
            question = vector(generator)
            exact = await found(database, question, exact=True, filters=filters)
            approximate = await found(database, question, exact=False, filters=filters)
            assert len(exact) == len(approximate) == LIMIT, "so many exist"
            agreed += len(set(exact) & set(approximate))
        assert agreed >= RECALL_MIN * QUESTIONS * LIMIT, filters


async def test_exact_search_uses_no_index(
    database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = random.Random(5)
    version = (await writer.accept("a.txt", "a")).version
    vectors = [vector(generator) for _ in range(600)]
    await writer.stage(version, [str(number) for number in range(600)], vectors=vectors)
    await writer.refresh()
    await spaces.build_indexes(database, rows_min=500)
    monkeypatch.setattr(dense, "EXACT_ROWS_MAX", 0)
    # An index that is asked for one candidate and no more cannot find ten: exact search must not notice.
    monkeypatch.setattr(dense, "CONFIGURE_HNSW", "select set_config('hnsw.ef_search', '1', true), %s")
    for number in range(0, 600, 60):
        exact = await found(database, vectors[number], exact=True, filters=Filters())
        scores = sorted(range(600), key=lambda each: -_cosine(vectors[each], vectors[number]))[:LIMIT]
        texts = await _texts(database, exact)
        assert texts == [str(each) for each in scores]


def _cosine(one: bytes, other: bytes) -> float:
    import numpy as np

    return float(np.frombuffer(one, "<f2").astype("<f4") @ np.frombuffer(other, "<f2").astype("<f4"))


async def _texts(database: Database, chunk_ids: list[str]) -> list[str]:
    return [passage.text for passage in await search.passages(database, tenant="acme", chunk_ids=chunk_ids)]


async def test_an_index_is_built_in_the_memory_it_takes_and_without_workers_where_shared_memory_is_short(
    database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    generator = random.Random(3)
    version = (await writer.accept("a.txt", "a")).version
    vectors = [vector(generator) for _ in range(600)]
    await writer.stage(version, [str(number) for number in range(600)], vectors=vectors)
    async with database.autocommit(tenant="acme") as connection:
        await connection.execute("analyze")
    # What PostgreSQL says where /dev/shm is full, for as long as it may use workers; and the memory that it was given.
    monkeypatch.setattr(spaces, "CREATE_INDEX", """
        do $$
        begin
            if current_setting('max_parallel_maintenance_workers')::int > 0 then
                raise exception 'could not resize shared memory segment' using errcode = 'disk_full';
            end if;
            execute format('create index {index} on {partition} using hnsw (embedding halfvec_cosine_ops)');
            execute format('comment on index {index} is %L', current_setting('maintenance_work_mem'));
        end
        $$
    """)
    monkeypatch.setattr(hnsw, "BUILD_MEMORY_BYTES_MIN", 0)
    assert len(await spaces.build_indexes(database, rows_min=500)) == 1
    async with database.autocommit(tenant="acme") as connection:
        cursor = await connection.execute(
            "select obj_description(oid), current_setting('maintenance_work_mem'), "
            "current_setting('max_parallel_maintenance_workers') from pg_class where relname like 'hnsw_%'"
        )
        ((given, afterwards, workers),) = await cursor.fetchall()
    assert given == f"{hnsw.build_memory(rows=600, dimension=DIMENSION) // 1024}kB"
    assert afterwards == "256MB"
    assert workers == "2"
