"""Filters whose passages lie far from the question: the index comes to few of them, and the search sees it (R5)."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.search import dense, search
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.search import QuestionVector, SearchRequest, SearchResult
from sourcier.services.index.spaces import spaces
from tests.integration.index.writer import DIMENSION, SPACE, Writer, unit_vector

CLUSTERS, COPIES, QUESTIONS, LIMIT = 25, 40, 30, 10
CANDIDATES = 100
"""What the index is asked to look at, at most: as small a share of the passages as 1,000 are of many."""


def around(center: Sequence[float], generator: random.Random) -> bytes:
    return unit_vector([value + generator.gauss(0, 0.05) for value in center])


def centers(axis: int, generator: random.Random) -> list[list[float]]:
    """Return what passages are about, all of them about the same field."""
    return [
        [generator.gauss(0, 0.5) + (2.0 if place == axis else 0.0) for place in range(DIMENSION)]
        for _ in range(CLUSTERS)
    ]


class Fields:
    """A collection about two fields, indexed; questions are about the first."""

    def __init__(self, database: Database, writer: Writer) -> None:
        self.database = database
        self.writer = writer
        self.generator = random.Random(23)
        self.near, self.far = centers(0, self.generator), centers(1, self.generator)

    async def fill(self, *, far_in: str = "default") -> None:
        """Write a document for each thing that passages are about, every second one of an even year."""
        for field, topics, collection in (("near", self.near, "default"), ("far", self.far, far_in)):
            for number, topic in enumerate(topics):
                acceptance = await self.writer.accept(
                    f"{field}{number}.txt", f"{field}{number}", category=field, collection=collection,
                    metadata={"even": number % 2 == 0},
                )
                texts = [f"{field} {number} {place}" for place in range(COPIES)]
                await self.writer.stage(
                    acceptance.version, texts, vectors=[around(topic, self.generator) for _ in texts]
                )
        await self.writer.refresh()
        async with self.database.autocommit(tenant="acme") as connection:
            await connection.execute("analyze")
        assert len(await spaces.build_indexes(self.database, rows_min=500)) == 1

    def questions(self) -> list[bytes]:
        """Return vectors near to passages of the first field."""
        return [around(self.near[number % CLUSTERS], self.generator) for number in range(QUESTIONS)]

    async def found(
        self, question: bytes, filters: Filters, *, exact: bool = False, collection: str = "default", limit: int = LIMIT
    ) -> list[SearchResult]:
        """Search by a vector."""
        request = SearchRequest(tenant="acme", collections=[collection], limit=limit, exact=exact, filters=filters)
        return await search.dense(self.database, request, vector=QuestionVector(SPACE.space_id, question))

    async def recall(self, filters: Filters, *, collection: str = "default") -> float:
        """Return the share of the closest that searches find, each of which has to be filled."""
        agreed = 0
        for question in self.questions():
            exact = await self.found(question, filters, exact=True, collection=collection)
            found = await self.found(question, filters, collection=collection)
            assert len(exact) == len(found) == LIMIT, "so many exist"
            agreed += len({hit.passage.chunk_id for hit in exact} & {hit.passage.chunk_id for hit in found})
        return agreed / (QUESTIONS * LIMIT)


@pytest.fixture
def fields(database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch) -> Fields:
    monkeypatch.setattr(dense, "EXACT_ROWS_MAX", 0)
    monkeypatch.setattr(dense, "EXACT_FILTERED_ROWS_MAX", 0)
    monkeypatch.setattr(dense, "HNSW_CANDIDATES_MAX", CANDIDATES)
    return Fields(database, writer)


async def test_what_lies_far_from_the_question_is_found_whole(
    fields: Fields, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fields.fill()
    far = Filters(categories=("far",))
    assert await fields.recall(far) == 1.0
    assert not any(hit.incomplete for hit in await fields.found(fields.questions()[0], far))
    monkeypatch.setattr(dense, "EXACT_FAR_ROWS_MAX", 0)
    assert await fields.recall(far) < 0.9, "the index alone misses some, or this shows nothing"
    assert all(hit.incomplete for hit in await fields.found(fields.questions()[0], far)), "and it says so"


async def test_filters_that_pass_through_all_fields_are_not_scanned(
    fields: Fields, monkeypatch: pytest.MonkeyPatch
) -> None:
    await fields.fill()
    questions = fields.questions()
    near = Filters(categories=("near",))
    exact = [await fields.found(question, near, exact=True) for question in questions]
    monkeypatch.setattr(dense, "EXACT", "select no_such_column from {table} where true {condition}")
    for filters in (near, Filters(chunk_types=("text",))):
        agreed = 0
        for question, expected in zip(questions, exact, strict=True):
            found = await fields.found(question, filters)
            assert not any(hit.incomplete for hit in found)
            agreed += len({hit.passage.chunk_id for hit in found} & {hit.passage.chunk_id for hit in expected})
        assert agreed >= 0.85 * QUESTIONS * LIMIT, filters
    # More than were looked at, of what is near: the index goes on where it was.
    assert len(await fields.found(questions[0], near, limit=CANDIDATES + 50)) == CANDIDATES + 50


async def test_a_collection_that_shares_its_tenants_index_is_searched_as_well(fields: Fields) -> None:
    await fields.fill(far_in="other")
    assert await fields.recall(Filters(chunk_types=("text",)), collection="other") == 1.0
    assert await fields.recall(Filters(metadata={"even": True}), collection="other") == 1.0
