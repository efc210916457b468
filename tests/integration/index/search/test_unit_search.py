"""A search by units finds as many chunks as it is asked for, however many pairs of one chunk lie together."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.postgres.types import half_vector
from sourcier.services.index.search import search
from sourcier.services.index.search import units as unit_search
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.index.units import builds as unit_builds
from sourcier.services.index.units import indexes as unit_indexes
from tests.integration.index.writer import DIMENSION, SPACE, Writer, unit_vector

CHUNKS = 40
APART = 0.02
"""How far the pairs of a chunk lie from one another, beside chunks that lie 1 apart."""
INSERT = """
with pair as (
    insert into unit_pairs (pair_id, unit_id, tenant, place, question, answer)
    select pair_id, %(unit_id)s, 'acme', place, 'Quoi ?', 'Ceci.'
    from unnest(%(pair_ids)s::uuid[]) with ordinality as given (pair_id, place)
)
insert into unit_points (space_id, kind, subject_id, unit_id, build_id, document_id, tenant, embedding)
select %(space_id)s, 'qa_pair', point.pair_id, unit_id, build_id, document_id, 'acme', point.embedding
from units, unnest(%(pair_ids)s::uuid[], %(vectors)b::halfvec[]) as point (pair_id, embedding)
where unit_id = %(unit_id)s
"""


@pytest.fixture
def generator() -> random.Random:
    """Return what makes the vectors."""
    return random.Random(3)


def direction(generator: random.Random) -> list[float]:
    return [generator.gauss(0, 1) for _ in range(DIMENSION)]


async def written(database: Database, writer: Writer, generator: random.Random, *, pairs: int) -> None:
    """Index chunks with so many pairs each, which lie together."""
    await writer.index("a.md", [f"texte {number}" for number in range(CHUNKS)])
    collection = await writer.collection()
    async with database.transaction(tenant="acme") as connection:
        build = await unit_builds.begin(
            connection, tenant="acme", collection_id=collection.collection_id, methods=["qa_atomic"]
        )
        await unit_builds.plan(connection, build, limit=10)
        await connection.execute("update units set state = 'enriched'")
        for (unit_id,) in await (await connection.execute("select unit_id from units order by chunk_index")).fetchall():
            middle = direction(generator)
            vectors = [
                half_vector(unit_vector([value + generator.gauss(0, APART) for value in middle])) for _ in range(pairs)
            ]
            await connection.execute(INSERT, {
                "unit_id": unit_id, "pair_ids": [new_id() for _ in range(pairs)], "vectors": vectors,
                "space_id": SPACE.space_id,
            })


async def found(database: Database, vector: bytes, *, limit: int, exact: bool = False) -> list[str]:
    """Return the texts that a search by pairs finds."""
    request = SearchRequest(tenant="acme", collections=["default"], limit=limit, kinds=("qa_pair",), exact=exact)
    results = await search.dense(database, request, vector=QuestionVector(SPACE.space_id, vector))
    return [result.passage.text for result in results]


async def closest(database: Database, vector: bytes) -> list[str]:
    """Return the texts of all chunks, those first that the closest pairs are of."""
    async with database.transaction(tenant="acme") as connection:
        cursor = await connection.execute(
            "select chunk.text from unit_points join units using (unit_id) join chunks as chunk using (chunk_id) "
            "group by chunk.text order by min(embedding <=> %(vector)b)", {"vector": half_vector(vector)},
        )
        return [text for (text,) in await cursor.fetchall()]


@pytest.mark.parametrize("pairs", [10, 30])
async def test_as_many_chunks_are_found_as_are_asked_for(
    database: Database, writer: Writer, generator: random.Random, pairs: int
) -> None:
    await written(database, writer, generator, pairs=pairs)
    vector = unit_vector(direction(generator))
    wanted = await closest(database, vector)
    for indexed in (False, True):
        if indexed:
            assert len(await unit_indexes.build_unit_indexes(database, rows_min=1)) == 1
        for limit in (1, 5, 10, 20):
            assert await found(database, vector, limit=limit, exact=True) == wanted[:limit]
            # Of so few points the index finds all.
            assert await found(database, vector, limit=limit) == wanted[:limit], (indexed, limit)
        assert len(await found(database, vector, limit=CHUNKS + 1)) == CHUNKS


async def test_an_index_is_asked_once_more_before_all_points_are_scanned(
    database: Database, writer: Writer, generator: random.Random, monkeypatch: pytest.MonkeyPatch
) -> None:
    await written(database, writer, generator, pairs=10)
    assert len(await unit_indexes.build_unit_indexes(database, rows_min=1)) == 1
    monkeypatch.setattr(unit_search, "NEAREST_UNITS", replace(unit_search.NEAREST_UNITS, exact="no statement"))
    vector = unit_vector(direction(generator))
    assert await found(database, vector, limit=5) == (await closest(database, vector))[:5]
    with pytest.raises(ServiceError):
        await found(database, vector, limit=5, exact=True)
