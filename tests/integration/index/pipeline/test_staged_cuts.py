"""Which cut a version is made of: pinned by its release, and never mixed with another one's batches."""

from __future__ import annotations

from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta

import pytest

from sourcier.services.chassis.errors import InvalidArgument, Superseded
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.collections import collections
from sourcier.services.index.collections.chunking_digest import chunking_digest
from sourcier.services.index.collections.collections import Chunking
from sourcier.services.index.collections.versions import VersionReference
from sourcier.services.index.pipeline import releases
from sourcier.services.index.pipeline.batches import Cut, Staging
from sourcier.services.index.pipeline.releases import WaitingVersion
from tests.integration.index.pipeline.test_index_pipeline import release
from tests.integration.index.writer import CHUNKING, Writer

LINES = replace(CHUNKING, method="lines", unit="characters")
BEGAN = datetime(2026, 1, 31, tzinfo=UTC)
OLD, NEW = Cut("old", BEGAN), Cut("new", BEGAN + timedelta(seconds=1))


async def change(database: Database, chunking: Chunking) -> None:
    async with database.transaction(tenant="acme") as connection:
        await collections.update_collection(
            connection, tenant="acme", name="default", chunking=chunking, retention_days=0,
            configuration_digest=chunking_digest(**asdict(chunking)),
        )


async def stalled(database: Database) -> list[WaitingVersion]:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        return await releases.stalled(connection, older_than_seconds=0, limit=10)


async def recorded(writer: Writer) -> str:
    """Return the digest that the one version bears."""
    async with writer.database.transaction(tenant="acme") as connection:
        cursor = await connection.execute("select configuration_digest from document_versions")
        ((digest,),) = await cursor.fetchall()
    return str(digest)


def chunking_of(version: WaitingVersion) -> Chunking:
    return Chunking(
        method=version.chunking_method, unit=version.chunking_unit, target=version.chunking_target,
        overlap=version.chunking_overlap, maximum=version.chunking_maximum,
    )


async def test_a_release_pins_the_chunking_and_labels_the_version(database: Database, writer: Writer) -> None:
    await writer.accept("a.txt", "a", configuration_digest=chunking_digest(**asdict(CHUNKING)))
    await change(database, LINES)
    await require_pinned(writer, await release(database, in_flight_max=1))
    await change(database, CHUNKING)
    await require_pinned(writer, await stalled(database))


async def test_what_a_service_before_released_is_pinned_when_it_is_released_again(
    database: Database, writer: Writer
) -> None:
    await writer.accept("a.txt", "a")
    await release(database, in_flight_max=1)
    async with database.transaction(tenant="acme") as connection:
        await connection.execute("update document_versions set chunking = null")
    await change(database, LINES)
    await require_pinned(writer, await stalled(database))
    await change(database, CHUNKING)
    await require_pinned(writer, await stalled(database))


async def require_pinned(writer: Writer, released: list[WaitingVersion]) -> None:
    """Require that the one version is to be cut into lines, and that it says so."""
    assert [chunking_of(version) for version in released] == [LINES]
    assert await recorded(writer) == released[0].configuration_digest == chunking_digest(**asdict(LINES))


async def stage(
    writer: Writer, version: VersionReference, cut: Cut | None, number: int, count: int = 2
) -> tuple[str, int]:
    """Stage a batch of one passage, which names its cut; return what became of it, and how many are staged."""
    staging: Staging = await writer.stage(
        version, [f"{'any' if cut is None else cut.digest} {number}"], batch_no=number, batch_count=count,
        first_index=number, cut=cut,
    )
    return staging.outcome, staging.staged


@pytest.mark.parametrize("count", [2, 1])
async def test_a_later_cut_takes_the_place_of_what_is_staged(writer: Writer, count: int) -> None:
    version = (await writer.accept("a.txt", "one")).version
    assert [await stage(writer, version, OLD, number, 3) for number in (0, 1)] == [("staged", 1), ("staged", 2)]
    staged = [await stage(writer, version, NEW, number, count) for number in range(count)]
    assert staged == [*[("staged", number) for number in range(1, count)], ("committed", count)]
    assert await writer.texts(version.document_id) == [f"new {number}" for number in range(count)]
    assert (await writer.count("staged_chunks"), await writer.count("staged_batches")) == (0, 0)
    assert (await stage(writer, version, OLD, 2, 3))[0] == "duplicate"


async def test_batches_of_an_earlier_cut_that_come_late_change_nothing(writer: Writer) -> None:
    version = (await writer.accept("a.txt", "one")).version
    assert await stage(writer, version, NEW, 0) == ("staged", 1)
    assert [await stage(writer, version, OLD, number) for number in (0, 1)] == [("duplicate", 1)] * 2
    # A whole document in one batch, too.
    assert await stage(writer, version, OLD, 0, 1) == ("duplicate", 1)
    assert await stage(writer, version, NEW, 1) == ("committed", 2)
    assert await writer.texts(version.document_id) == ["new 0", "new 1"]


async def test_a_cut_that_is_made_again_alike_goes_on_where_it_was(writer: Writer) -> None:
    version = (await writer.accept("a.txt", "one")).version
    again = replace(OLD, made_at=NEW.made_at + timedelta(seconds=1))
    assert await stage(writer, version, OLD, 0, 3) == ("staged", 1)
    assert await stage(writer, version, again, 0, 3) == ("duplicate", 1)
    assert await stage(writer, version, again, 1, 3) == ("staged", 2)
    # It is the later one now, whichever of its batches come.
    assert await stage(writer, version, NEW, 2, 3) == ("duplicate", 2)
    assert await stage(writer, version, OLD, 2, 3) == ("committed", 3)


async def test_batches_that_name_no_cut_belong_to_any(writer: Writer) -> None:
    """Those of a service before, and of one that embeds and hands on less than it was given."""
    version = (await writer.accept("a.txt", "one")).version
    assert await stage(writer, version, None, 0, 3) == ("staged", 1)
    assert await stage(writer, version, NEW, 1, 3) == ("staged", 2)
    with pytest.raises(InvalidArgument, match="has 3 batches, not 2"):
        await stage(writer, version, None, 1, 2)
    assert await stage(writer, version, None, 2, 3) == ("committed", 3)


async def test_an_overtaken_version_takes_no_cut_however_late(writer: Writer) -> None:
    older = (await writer.accept("a.txt", "one")).version
    await stage(writer, older, OLD, 0)
    newer = (await writer.accept("a.txt", "two")).version
    await stage(writer, newer, OLD, 0, 1)
    with pytest.raises(Superseded):
        await stage(writer, older, NEW, 0)
    assert await writer.texts(newer.document_id) == ["old 0"]
