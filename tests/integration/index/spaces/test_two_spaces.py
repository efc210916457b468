"""Two embedding spaces in one database, as while a collection moves to another model: neither sees the other's rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
import pytest_asyncio

from sourcier.services.chassis.errors import SpaceMismatch
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.moves import builds as space_builds
from sourcier.services.index.search import search
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.index.spaces import spaces
from sourcier.services.index.spaces.spaces import StoredSpace
from tests.integration.index.writer import SPACE, Writer, text_vector

WIDE_DIMENSION = 24
WIDE = replace(SPACE, space_id="wide-space", dimension=WIDE_DIMENSION)
NARROW_TEXTS = ["Le pont fut ouvert en automne.", "Le tunnel reste fermé."]
WIDE_TEXTS = ["Le pont fut repeint en hiver.", "La gare accueille des trains.", "Un quai suffit."]


@pytest_asyncio.fixture(loop_scope="session")
async def wide_space(database: Database) -> StoredSpace:
    """Return a second space, wider than the test's."""
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        return await spaces.ensure_space(connection, WIDE)


@pytest_asyncio.fixture(loop_scope="session")
async def wide_writer(database: Database, wide_space: StoredSpace) -> Writer:
    """Return a writer of the same tenant into the second space."""
    return Writer(database, space=WIDE)


async def write_both(writer: Writer, wide_writer: Writer) -> None:
    """Write a document into each space, in a collection each."""
    narrow = (await writer.accept("a.txt", "1", collection="narrow")).version
    wide = (await wide_writer.accept("a.txt", "1", collection="wide")).version
    assert (await writer.stage(narrow, NARROW_TEXTS)).outcome == "committed"
    vectors = [text_vector(text, WIDE_DIMENSION) for text in WIDE_TEXTS]
    assert (await wide_writer.stage(wide, WIDE_TEXTS, vectors=vectors)).outcome == "committed"
    await writer.refresh()


def request(*collections: str) -> SearchRequest:
    return SearchRequest(tenant="acme", collections=collections, limit=10)


async def test_each_space_is_searched_alone(
    database: Database, writer: Writer, wide_writer: Writer, wide_space: StoredSpace
) -> None:
    await write_both(writer, wide_writer)
    async with database.transaction(tenant="acme") as connection:
        narrow_space = await spaces.get_space(connection, SPACE.space_id)
    assert await writer.count(narrow_space.vectors_table) == len(NARROW_TEXTS)
    assert await writer.count(wide_space.vectors_table) == len(WIDE_TEXTS)

    for collection, space, texts in (("narrow", SPACE, NARROW_TEXTS), ("wide", WIDE, WIDE_TEXTS)):
        vector = QuestionVector(space.space_id, text_vector(texts[0], space.dimension))
        for found in (
            await search.dense(database, request(collection), vector=vector),
            await search.fused(database, request(collection), question="pont", vector=vector),
        ):
            assert {result.passage.text for result in found} == set(texts)
            assert found[0].passage.text == texts[0]
            assert found[0].similarity == pytest.approx(1.0, abs=1e-3)
        by_word = await search.lexical(database, request(collection), question="pont")
        assert [result.passage.text for result in by_word] == texts[:1]


async def test_a_vector_of_the_other_space_finds_nothing_but_an_error(
    database: Database, writer: Writer, wide_writer: Writer
) -> None:
    await write_both(writer, wide_writer)
    wide = QuestionVector(WIDE.space_id, text_vector("pont", WIDE_DIMENSION))
    with pytest.raises(SpaceMismatch, match=WIDE.space_id):
        await search.dense(database, request("narrow"), vector=wide)
    with pytest.raises(SpaceMismatch, match="search them apart"):
        await search.dense(database, request("narrow", "wide"), vector=wide)


@pytest.mark.parametrize(("space_id", "dimension", "match"), [
    (SPACE.space_id, SPACE.dimension, "The batch is of the space test-space, the version of wide-space"),
    (WIDE.space_id, SPACE.dimension, "wide-space has vectors of 24 dimensions"),
])
async def test_a_batch_of_the_other_space_is_refused_and_leaves_nothing(
    wide_writer: Writer, wide_space: StoredSpace, space_id: str, dimension: int, match: str
) -> None:
    version = (await wide_writer.accept("b.txt", "1", collection="wide")).version
    vectors = [text_vector(text, dimension) for text in WIDE_TEXTS]
    with pytest.raises(SpaceMismatch, match=match):
        await wide_writer.stage(version, WIDE_TEXTS, vectors=vectors, space_id=space_id)
    assert await wide_writer.texts(version.document_id) == []
    assert await wide_writer.count("staged_batches") == 0
    assert await wide_writer.count(wide_space.vectors_table) == 0


async def test_a_document_that_moves_to_the_other_space_leaves_the_first(
    writer: Writer, wide_writer: Writer, wide_space: StoredSpace
) -> None:
    await write_both(writer, wide_writer)
    async with writer.database.transaction(tenant="acme") as connection:
        await space_builds.begin(connection, tenant="acme", collection="narrow", space_id=WIDE.space_id)
    moved = (await wide_writer.accept("a.txt", "2", collection="narrow")).version
    vectors = [text_vector(text, WIDE_DIMENSION) for text in NARROW_TEXTS]
    assert (await wide_writer.stage(moved, NARROW_TEXTS, vectors=vectors)).outcome == "committed"
    async with writer.database.transaction(tenant="acme") as connection:
        narrow_space = await spaces.get_space(connection, SPACE.space_id)
    assert await writer.count(narrow_space.vectors_table) == 0
    assert await writer.count(wide_space.vectors_table) == len(WIDE_TEXTS) + len(NARROW_TEXTS)
