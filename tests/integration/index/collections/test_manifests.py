"""Build manifests: written when something changed, read as of now, the same for the same corpus and settings."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import datetime

import pytest

from sourcier.services.chassis.errors import NotFound
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.collections import build_manifest as manifests
from sourcier.services.index.collections import collections
from sourcier.services.index.collections.build_manifest import BuildManifest
from sourcier.services.index.collections.chunking_digest import chunking_digest
from sourcier.services.index.moves import builds as space_builds
from sourcier.services.index.spaces import spaces
from tests.integration.index.writer import CHUNKING, SPACE, Writer

TEXTS = ["Le pont fut ouvert en automne.", "Le tunnel reste fermé."]


async def record(database: Database, parser_version: str = "1.2") -> int:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        return await manifests.record_changed(connection, parser_version=parser_version, limit=10)


async def get(database: Database, collection: str = "default", *, tenant: str = "acme") -> BuildManifest:
    async with database.transaction(tenant=tenant, read_only=True) as connection:
        return await manifests.get_manifest(connection, tenant=tenant, collection=collection)


async def test_a_manifest_says_what_the_index_was_made_of_and_with(database: Database, writer: Writer) -> None:
    await writer.index("a.txt", TEXTS)
    assert await record(database) == 1
    manifest = await get(database)
    assert (manifest.document_count, manifest.chunk_count, manifest.parser_version) == (1, 2, "1.2")
    assert (manifest.space_id, manifest.model, manifest.revision, manifest.dimension) == (
        SPACE.space_id, SPACE.model, SPACE.revision, SPACE.dimension
    )
    assert (manifest.chunking_method, manifest.chunking_target) == (CHUNKING.method, CHUNKING.target)
    assert len(manifest.corpus_sha256) == 64
    with pytest.raises(NotFound):
        await get(database, "unknown")
    with pytest.raises(NotFound):
        await get(database, tenant="other")


async def test_a_manifest_that_is_not_written_yet_is_read_all_the_same(database: Database, writer: Writer) -> None:
    """Nobody waits for the record: neither for the first one nor for the one after a change."""
    await writer.collection()
    assert (await get(database)).document_count == 0
    for sources in (["a.txt"], ["b.txt", "c.txt"]):
        for source in sources:
            await writer.index(source, TEXTS)
        early = await get(database)
        await record(database)
        assert replace(early, built_at=datetime.min, parser_version="1.2") == replace(
            await get(database), built_at=datetime.min
        )
    assert (early.document_count, early.parser_version) == (3, "1.2"), "what recorded last stands for what is not said"


async def test_it_is_written_anew_only_when_something_changed(database: Database, writer: Writer) -> None:
    await writer.index("a.txt", TEXTS)
    assert [await record(database), await record(database)] == [1, 0]
    first = await get(database)
    await writer.index("a.txt", [TEXTS[0], "Le tunnel est ouvert."])
    assert [await record(database), await record(database)] == [1, 0]
    second = await get(database)
    assert second.corpus_sha256 != first.corpus_sha256
    assert [await record(database, "1.3"), await record(database, "1.3")] == [1, 0]
    assert (await get(database)).corpus_sha256 == second.corpus_sha256


async def test_it_names_what_read_the_documents(database: Database, writer: Writer) -> None:
    async def index(source: str, parser_version: str) -> None:
        version = (await writer.accept(source, source + parser_version)).version
        await writer.stage(version, [source], parser_version=parser_version)

    await writer.index("not-known.txt", TEXTS)
    await index("a.txt", "1.1")
    await index("b.txt", "2.1")
    await index("c.txt", "2.1")
    assert await record(database, "3.1") == 1
    assert (await get(database)).parser_version == "1.1, 2.1, 3.1"
    # Read by a service of another version, the corpus is what it was, but for what is not known.
    assert await record(database, "4.1") == 1
    assert (await get(database)).parser_version == "1.1, 2.1, 4.1"
    await index("a.txt", "4.1")
    assert await record(database, "4.1") == 1
    assert (await get(database)).parser_version == "2.1, 4.1"


async def test_a_commit_that_began_before_the_one_that_ended_last_is_not_missed(
    database: Database, writer: Writer
) -> None:
    await writer.index("a.txt", TEXTS)
    await writer.index("b.txt", TEXTS)
    async with database.transaction(tenant="acme") as connection:
        await connection.execute("update documents set updated_at = now() + interval '1 second' where source = 'a.txt'")
    await record(database)
    version = (await writer.accept("b.txt", "as many passages")).version
    await writer.stage(version, TEXTS, parser_version="2.1")
    assert await record(database) == 1
    assert (await get(database)).parser_version == "1.2, 2.1"


async def test_the_same_corpus_has_the_same_digest_in_whatever_order_it_came(
    database: Database, writer: Writer
) -> None:
    sources = ("a.txt", "b.txt", "é.txt")
    for collection, order in (("one", sources), ("two", sources[::-1])):
        for source in order:
            await writer.index(source, TEXTS, collection=collection)
    await writer.collection("empty")
    assert await record(database) == 3
    assert (await get(database, "one")).corpus_sha256 == (await get(database, "two")).corpus_sha256
    assert (await get(database, "empty")).document_count == 0
    assert (await get(database, "empty")).corpus_sha256 != (await get(database, "one")).corpus_sha256


async def test_documents_that_were_cut_otherwise_are_counted(database: Database, writer: Writer) -> None:
    digest = chunking_digest(**asdict(CHUNKING))
    await writer.index("a.txt", TEXTS, configuration_digest=digest)
    await writer.index("b.txt", TEXTS, configuration_digest=digest)
    await writer.index("c.txt", TEXTS, collection="other")
    await record(database)
    assert (await get(database)).outdated_count == 0
    lines = replace(CHUNKING, method="lines", unit="characters")
    async with database.transaction(tenant="acme") as connection:
        updated = await collections.update_collection(
            connection, tenant="acme", name="default", chunking=lines, retention_days=0,
            configuration_digest=chunking_digest(**asdict(lines)),
        )
    for _ in range(2):
        manifest = await get(database)
        assert (manifest.chunking_method, manifest.outdated_count) == ("lines", updated.outdated_count) == ("lines", 2)
        await record(database)
    await writer.index("a.txt", [TEXTS[0]], configuration_digest=chunking_digest(**asdict(lines)))
    assert (await get(database)).outdated_count == 1


async def test_models_that_are_not_loaded_are_named(database: Database, writer: Writer) -> None:
    await writer.index("a.txt", TEXTS)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await manifests.models_not_loaded(connection, space_ids=[SPACE.space_id]) == []
        assert await manifests.models_not_loaded(connection, space_ids=["other"]) == [
            (SPACE.model, SPACE.revision, SPACE.space_id, 1)
        ]


async def test_a_switch_is_in_the_manifest_at_once(database: Database, writer: Writer) -> None:
    await writer.collection()
    await record(database)
    wide = replace(SPACE, space_id="wide-space", model="wide", dimension=24)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        await spaces.ensure_space(connection, wide)
    async with database.transaction(tenant="acme") as connection:
        await space_builds.begin(connection, tenant="acme", collection="default", space_id=wide.space_id)
        await space_builds.switch(connection, tenant="acme", collection="default", force=True)
    manifest = await get(database)
    assert (manifest.space_id, manifest.model, manifest.dimension) == (wide.space_id, "wide", 24)
    assert await record(database) == 0
