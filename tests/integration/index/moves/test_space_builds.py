"""A collection's move to another space, on the tables: what is missing, what is written, what a switch may do."""

from __future__ import annotations

from dataclasses import replace

import pytest
import pytest_asyncio

from sourcier.services.chassis.errors import AlreadyExists, FailedPrecondition, NotFound, SpaceMismatch
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.collections import collections
from sourcier.services.index.collections.versions import VersionReference
from sourcier.services.index.moves import builds as space_builds
from sourcier.services.index.moves import rebuilding
from sourcier.services.index.moves import upkeep as space_upkeep
from sourcier.services.index.moves.builds import SpaceBuild
from sourcier.services.index.moves.rebuilding import ChunkVectors
from sourcier.services.index.pagination import FIRST_KEY
from sourcier.services.index.search import search
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.index.spaces import spaces
from sourcier.services.index.spaces.partitions import SHARED_ROWS_MAX, ensure_partition
from sourcier.services.index.spaces.spaces import StoredSpace
from tests.integration.index.writer import CHUNKING, SPACE, Writer, text_vector

TENANT = "acme"
WIDE = replace(SPACE, space_id="wide-space", model="wide", dimension=24)
TEXTS = ["Le pont fut ouvert en automne.", "Le tunnel reste fermé."]


@pytest_asyncio.fixture(loop_scope="session")
async def wide(database: Database) -> StoredSpace:
    """Return a second space."""
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        return await spaces.ensure_space(connection, WIDE)


async def begin(database: Database, space_id: str = WIDE.space_id) -> SpaceBuild:
    async with database.transaction(tenant=TENANT) as connection:
        return await space_builds.begin(connection, tenant=TENANT, collection="default", space_id=space_id)


async def lacking(database: Database, build: SpaceBuild, table: str) -> list[str]:
    async with database.transaction(tenant=TENANT, read_only=True) as connection:
        page = await rebuilding.document_ids(
            connection, tenant=TENANT, collection_id=build.collection_id, after=FIRST_KEY, limit=100
        )
        return await rebuilding.missing(
            connection, tenant=TENANT, vectors_table=table, document_ids=page, limit=1000
        )


async def fill(database: Database, space: StoredSpace, chunk_ids: list[str]) -> int:
    """Give chunks vectors in a space, as the builder and the index stage do."""
    written = 0
    async with database.transaction(tenant=TENANT, read_only=True) as connection:
        documents = await rebuilding.documents_of(connection, tenant=TENANT, chunk_ids=chunk_ids)
    for document in documents:
        vectors = [
            ChunkVectors(chunk.chunk_id, text_vector(chunk.text, space.dimension), b"\x01" * (space.dimension // 8))
            for chunk in document.chunks
        ]
        async with database.transaction(tenant=TENANT) as connection:
            written += await rebuilding.write_vectors(
                connection, version=document.version, space_id=space.space_id, chunks=vectors
            )
    return written


async def finish(database: Database, build: SpaceBuild, space: StoredSpace) -> None:
    await fill(database, space, await lacking(database, build, space.vectors_table))
    async with database.transaction(tenant=TENANT) as connection:
        assert await space_upkeep.finish_building(connection, build_id=build.build_id)


async def change(database: Database, name: str, **options: bool) -> SpaceBuild:
    async with database.transaction(tenant=TENANT) as connection:
        changed: SpaceBuild = await getattr(space_builds, name)(
            connection, tenant=TENANT, collection="default", **options
        )
        return changed


async def found(database: Database, space: StoredSpace, text: str, **fields: str) -> list[str]:
    request = SearchRequest(tenant=TENANT, collections=["default"], limit=10, **fields)  # type: ignore[arg-type]
    vector = QuestionVector(space.space_id, text_vector(text, space.dimension))
    return [result.passage.text for result in await search.dense(database, request, vector=vector)]


async def narrow(database: Database) -> StoredSpace:
    async with database.transaction(tenant=TENANT) as connection:
        return await spaces.get_space(connection, SPACE.space_id)


async def test_a_collection_moves_and_comes_back(database: Database, writer: Writer, wide: StoredSpace) -> None:
    await writer.index("a.txt", TEXTS)
    build = await begin(database)
    assert (build.state, build.from_space_id, build.space_id) == ("building", SPACE.space_id, WIDE.space_id)
    assert len(await lacking(database, build, wide.vectors_table)) == 2
    await finish(database, build, wide)
    assert await lacking(database, build, wide.vectors_table) == []
    # Beside the one that answers: each is searched by its own vectors alone.
    before = await narrow(database)
    assert (await found(database, before, TEXTS[0]))[0] == TEXTS[0]
    assert (await found(database, wide, TEXTS[1], space_id=WIDE.space_id))[0] == TEXTS[1]

    assert (await change(database, "switch")).state == "live"
    assert (await change(database, "switch")).state == "live"
    assert (await found(database, wide, TEXTS[1]))[0] == TEXTS[1]
    with pytest.raises(SpaceMismatch):
        await found(database, before, TEXTS[0])

    assert (await change(database, "roll_back")).state == "ready"
    assert (await found(database, before, TEXTS[0]))[0] == TEXTS[0]


async def test_nothing_is_switched_before_it_is_whole(database: Database, writer: Writer, wide: StoredSpace) -> None:
    await writer.index("a.txt", TEXTS)
    with pytest.raises(NotFound, match="build one first"):
        await change(database, "switch")
    build = await begin(database)
    with pytest.raises(FailedPrecondition, match="building"):
        await change(database, "switch")
    with pytest.raises(FailedPrecondition, match="was not switched"):
        await change(database, "roll_back")
    await finish(database, build, wide)
    with pytest.raises(FailedPrecondition, match="was not switched"):
        await change(database, "roll_back")
    late = await writer.index("b.txt", ["Une gare de plus."])
    with pytest.raises(FailedPrecondition, match="1 of 3 chunks"):
        await change(database, "switch")
    assert (await gap_documents(database)) == [late.document_id]
    async with database.transaction(tenant=TENANT) as connection:
        await connection.execute("delete from space_gaps")
    assert (await change(database, "switch", force=True)).state == "live"
    # Only what lacks vectors in the space that answers now.
    assert (await gap_documents(database)) == [late.document_id]


async def test_what_is_committed_meanwhile_is_noted_as_a_gap(
    database: Database, writer: Writer, wide: StoredSpace
) -> None:
    await writer.index("before.txt", TEXTS)
    assert await gap_documents(database) == []
    build = await begin(database)
    version = await writer.index("during.txt", ["Une gare."])
    assert await gap_documents(database) == [version.document_id]
    async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
        noted = await rebuilding.gaps(connection, limit=10)
        held = await rebuilding.held_spaces(connection, tenant=TENANT, collection_id=build.collection_id)
    assert {space_id for space_id, _ in held} == {SPACE.space_id, WIDE.space_id}
    # Noted anew after it was read, it stays.
    await writer.index("during.txt", ["Une autre gare."])
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        await rebuilding.close_gaps(connection, noted)
    assert await gap_documents(database) == [version.document_id]


async def gap_documents(database: Database) -> list[str]:
    async with database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
        return [gap.document_id for gap in await rebuilding.gaps(connection, limit=10)]


async def test_a_version_accepted_before_a_switch_and_committed_after_it(
    database: Database, writer: Writer, wide: StoredSpace
) -> None:
    await writer.index("a.txt", TEXTS)
    late = (await writer.accept("late.txt", "1")).version
    build = await begin(database)
    await finish(database, build, wide)
    await change(database, "switch")
    assert (await writer.stage(late, ["Une gare."])).outcome == "committed"
    assert await gap_documents(database) == [late.document_id]
    assert len(await lacking(database, build, wide.vectors_table)) == 1
    assert await lacking(database, build, (await narrow(database)).vectors_table) == []


async def test_a_version_of_a_space_that_was_given_up_leaves_no_vectors_there(
    database: Database, writer: Writer, wide: StoredSpace
) -> None:
    await writer.index("a.txt", TEXTS)
    late = (await writer.accept("late.txt", "1")).version
    await finish(database, await begin(database), wide)
    await change(database, "switch")
    assert (await change(database, "drop")).state == "retired"
    assert (await writer.stage(late, ["Une gare."])).outcome == "committed"
    assert await gap_documents(database) == [late.document_id]
    async with database.transaction(tenant=TENANT) as connection:
        _, vectors = await space_builds.count_vectors(
            connection, tenant=TENANT, collection_id=late.collection_id, space_id=SPACE.space_id
        )
    assert vectors == 2


async def test_vectors_of_what_is_gone_are_not_written(database: Database, writer: Writer, wide: StoredSpace) -> None:
    version = await writer.index("a.txt", TEXTS)
    build = await begin(database)
    chunk_ids = await lacking(database, build, wide.vectors_table)
    other = replace(version, version_id="00000000-0000-7000-8000-000000000000")
    for stale, expected in ((other, 0), (version, 2), (version, 0)):
        assert await write(database, stale, chunk_ids) == expected
    await writer.index("a.txt", ["Un seul passage."])
    assert await write(database, version, chunk_ids) == 0
    # The commit took the old vectors out of every space.
    assert await writer.count(wide.vectors_table) == 0
    with pytest.raises(SpaceMismatch, match="24 dimensions"):
        async with database.transaction(tenant=TENANT) as connection:
            await rebuilding.write_vectors(
                connection, version=version, space_id=WIDE.space_id,
                chunks=[ChunkVectors(chunk_ids[0], text_vector("x", 16), b"")],
            )


async def write(database: Database, version: VersionReference, chunk_ids: list[str]) -> int:
    vectors = [ChunkVectors(chunk_id, text_vector(chunk_id, WIDE.dimension), b"abc") for chunk_id in chunk_ids]
    async with database.transaction(tenant=TENANT) as connection:
        return await rebuilding.write_vectors(
            connection, version=version, space_id=WIDE.space_id, chunks=vectors
        )


async def test_a_dropped_space_is_cleared_and_retired_when_nobody_needs_it(
    database: Database, writer: Writer, wide: StoredSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await writer.index("a.txt", TEXTS)
    build = await begin(database)
    await finish(database, build, wide)
    await ensure(database, "third-space")
    with pytest.raises(AlreadyExists, match="drop it first"):
        await begin(database, "third-space")
    assert (await change(database, "drop")).state == "dropped"
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        (entry,) = await space_upkeep.dropped(connection)
    async with database.transaction(tenant=TENANT) as connection:
        values = {"tenant": TENANT, "collection_id": entry.collection_id, "vectors_table": entry.vectors_table}
        assert await rebuilding.delete_vectors(connection, limit=1, **values) == 1
        assert await rebuilding.delete_vectors(connection, limit=10, **values) == 1
        await space_upkeep.note_cleared(connection, build_id=entry.build_id)
    monkeypatch.setattr(space_upkeep, "TABLE_KEPT_SECONDS", -1.0)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await space_upkeep.dropped(connection) == []
        assert await space_upkeep.retire_unused(connection, kept=[WIDE.space_id]) == []
        assert await space_upkeep.retire_unused(connection, kept=[]) == [WIDE.space_id]
        assert await space_upkeep.drop_retired_tables(connection) == [WIDE.space_id]
        assert not await space_upkeep.anything_to_do(connection)
    # Documents come and go without the table, and a service that starts takes the space up again.
    await writer.index("a.txt", ["Encore."])
    await ensure(database, WIDE.space_id)
    assert (await begin(database)).state == "building"


async def left(database: Database) -> None:
    """Have the collection leave the second space, after a build there."""
    await begin(database)
    dropped = await change(database, "drop")
    async with database.transaction(tenant=TENANT) as connection:
        await space_upkeep.note_cleared(connection, build_id=dropped.build_id)


async def retired(database: Database) -> None:
    """Have the second space given up, by a process that does not serve its model."""
    await left(database)
    assert await retire(database) == [WIDE.space_id]


async def retire(database: Database) -> list[str]:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        return await space_upkeep.retire_unused(connection, kept=[SPACE.space_id])


async def remove_tables(database: Database) -> list[str]:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        return await space_upkeep.drop_retired_tables(connection)


async def test_a_table_of_many_parts_is_dropped_part_by_part(
    database: Database, writer: Writer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One statement would need the locks of all of them at once, of which the server has so many."""
    await writer.index("a.txt", ["Le pont fut ouvert en automne."])
    await ensure(database, WIDE.space_id)
    await retired(database)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        table = (await spaces.get_space(connection, WIDE.space_id)).vectors_table
        for tenant in ("one", "two", "three"):
            await ensure_partition(connection, vectors_table=table, tenant=tenant, rows=SHARED_ROWS_MAX + 1)
        cursor = await connection.execute("select count(*) from pg_inherits where inhparent = %s::regclass", (table,))
        parts = (await cursor.fetchone() or (0,))[0]
    monkeypatch.setattr(space_upkeep, "TABLE_KEPT_SECONDS", -1.0)
    monkeypatch.setattr(space_upkeep, "PARTS_AT_ONCE", 2)
    dropped = []
    while not dropped or dropped[-1]:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            dropped.append(await space_upkeep.drop_retired_parts(connection))
    assert parts >= 4, "the tenants' own, and the shared one"
    assert dropped == [2] * (parts // 2) + [1] * (parts % 2) + [0]
    assert await remove_tables(database) == [WIDE.space_id]


async def state_of(database: Database, space_id: str = WIDE.space_id) -> str:
    async with database.transaction(tenant=TENANT) as connection:
        return (await spaces.get_space(connection, space_id)).state


async def test_a_retired_space_that_a_build_needs_again_keeps_its_table(
    database: Database, writer: Writer, wide: StoredSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_upkeep, "TABLE_KEPT_SECONDS", -1.0)
    await writer.index("a.txt", TEXTS)
    await retired(database)
    build = await begin(database)
    assert await state_of(database) == "live"
    assert await remove_tables(database) == []
    await finish(database, build, wide)
    await change(database, "switch")
    assert await remove_tables(database) == []
    assert (await found(database, wide, TEXTS[1]))[0] == TEXTS[1]


async def test_a_space_that_a_build_began_to_need_by_an_earlier_process_is_live_after_the_switch(
    database: Database, writer: Writer, wide: StoredSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_upkeep, "TABLE_KEPT_SECONDS", -1.0)
    await writer.index("a.txt", TEXTS)
    build = await begin(database)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        await connection.execute(
            "update embedding_spaces set state = 'retired', retired_at = now() where space_id = %s", (WIDE.space_id,)
        )
    assert await remove_tables(database) == []
    await finish(database, build, wide)
    await change(database, "switch")
    assert await state_of(database) == "live"


async def test_a_new_collection_takes_a_retired_space_up_again(
    database: Database, writer: Writer, wide: StoredSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_upkeep, "TABLE_KEPT_SECONDS", -1.0)
    await writer.index("a.txt", TEXTS)
    await retired(database)
    async with database.transaction(tenant=TENANT) as connection:
        # One that is there already, in another space, needs nothing of this one.
        await collections.ensure_collection(
            connection, tenant=TENANT, name="default", space_id=WIDE.space_id, chunking=CHUNKING
        )
    assert await state_of(database) == "retired"
    async with database.transaction(tenant=TENANT) as connection:
        await collections.create_collection(
            connection, tenant=TENANT, name="new", space_id=WIDE.space_id, chunking=CHUNKING
        )
    assert await state_of(database) == "live"
    assert (await retire(database), await remove_tables(database)) == ([], [])
    other = Writer(database, space=WIDE)
    version = (await other.accept("b.txt", "1", collection="new")).version
    texts = ["Une gare."]
    await other.stage(version, texts, vectors=[text_vector(text, WIDE.dimension) for text in texts])
    assert await writer.count(wide.vectors_table) == 1


async def test_a_space_is_not_given_up_while_somebody_begins_to_need_it(
    database: Database, writer: Writer, wide: StoredSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    await writer.index("a.txt", TEXTS)
    await left(database)
    async with database.transaction(tenant=TENANT) as connection:
        await space_builds.begin(connection, tenant=TENANT, collection="default", space_id=WIDE.space_id)
        assert await retire(database) == []
    assert await retire(database) == []
    await change(database, "drop")
    assert await retire(database) == [WIDE.space_id]
    monkeypatch.setattr(space_upkeep, "TABLE_KEPT_SECONDS", -1.0)
    async with database.transaction(tenant=TENANT) as connection:
        await space_builds.begin(connection, tenant=TENANT, collection="default", space_id=WIDE.space_id)
        assert await remove_tables(database) == []
    assert await remove_tables(database) == []


async def test_who_needs_a_space_whose_table_is_gone_is_told_the_way_out(
    database: Database, writer: Writer, wide: StoredSpace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(space_upkeep, "TABLE_KEPT_SECONDS", -1.0)
    await writer.index("a.txt", TEXTS)
    await retired(database)
    assert await remove_tables(database) == [WIDE.space_id]
    with pytest.raises(FailedPrecondition, match="its table removed; name its model"):
        await begin(database)
    with pytest.raises(FailedPrecondition, match="its table removed; name its model"):
        async with database.transaction(tenant=TENANT) as connection:
            await collections.create_collection(
                connection, tenant=TENANT, name="new", space_id=WIDE.space_id, chunking=CHUNKING
            )
    assert await writer.count("collections") == 1
    assert await state_of(database) == "retired"


async def test_a_model_names_its_live_space_rather_than_one_that_was_given_up(
    database: Database, writer: Writer, wide: StoredSpace
) -> None:
    await ensure(database, "earlier-space")
    await writer.index("a.txt", TEXTS)
    await retired(database)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        await connection.execute(
            "update embedding_spaces set created_at = now() + interval '1 hour' where space_id = %s", (WIDE.space_id,)
        )
        assert await spaces.find_space_id(connection, name=WIDE.model) == "earlier-space"
        assert await spaces.find_space_id(connection, name=WIDE.model, preferred=[WIDE.space_id]) == WIDE.space_id


async def ensure(database: Database, space_id: str) -> None:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert (await spaces.ensure_space(connection, replace(WIDE, space_id=space_id))).state == "live"


async def test_a_build_is_another_tenants_secret(database: Database, writer: Writer, wide: StoredSpace) -> None:
    await writer.index("a.txt", TEXTS)
    build = await begin(database)
    async with database.transaction(tenant="other") as connection:
        with pytest.raises(NotFound):
            await space_builds.get_build(connection, tenant="other", build_id=build.build_id)
        assert await space_builds.list_builds(connection, tenant="other") == []
    async with database.transaction(tenant=TENANT) as connection:
        (listed,) = await space_builds.list_builds(connection, tenant=TENANT)
        assert listed == build
        assert await spaces.find_space_id(connection, name="wide") == WIDE.space_id
        with pytest.raises(NotFound, match="SOURCIER_EMBED_MODELS"):
            await spaces.find_space_id(connection, name="unknown")
