"""When documents hold, stored with the version that says so: by the commit, and later for what was there before."""

from __future__ import annotations

import itertools
from datetime import date
from typing import Any

import pytest
from psycopg.types.json import Jsonb

from sourcier.services.chassis.postgres.database import ALL_TENANTS
from sourcier.services.index.times import storing
from sourcier.services.index.times.document import DateKind, DocumentTimes, Origin
from sourcier.services.index.times.reading import RULES
from tests.integration.index.writer import Writer

HEAD = "Note de service.\n\nElle entre en vigueur le 1er juin 2025 et annule et remplace la note du 3 mars 2020."
TAIL = "Fait à Lyon, le 12 mai 2025. Le directeur."
COLUMNS = "select dated_from, dated_to, holds_from, holds_until, times_rules from documents where document_id = %s"


async def _times(writer: Writer, document_id: str) -> DocumentTimes | None:
    async with writer.database.transaction(tenant=writer.tenant, read_only=True) as connection:
        stored = await storing.stored_times(connection, tenant=writer.tenant, document_ids=[document_id])
    return stored.get(document_id)


async def _columns(writer: Writer, document_id: str) -> tuple[Any, ...]:
    async with writer.database.transaction(tenant=writer.tenant, read_only=True) as connection:
        row = await (await connection.execute(COLUMNS, (document_id,))).fetchone()
    assert row is not None
    return tuple(row)


async def _read_more(writer: Writer, *, limit: int = 100) -> int:
    async with writer.database.transaction(tenant=ALL_TENANTS) as connection:
        return await storing.read_more(connection, limit=limit)


async def _forget(writer: Writer) -> None:
    """Leave the documents as an earlier release did."""
    async with writer.database.transaction(tenant=writer.tenant) as connection:
        await connection.execute("delete from document_times")
        await connection.execute(
            "update documents set times_rules = 0, dated_from = null, dated_to = null, holds_from = null, "
            "holds_until = null"
        )


async def test_a_commit_stores_what_a_version_says_of_when_it_holds(writer: Writer) -> None:
    version = await writer.index("note.md", [HEAD, "Autre chose.", TAIL], metadata={"date_fin": "2026-12-31"})
    times = await _times(writer, version.document_id)
    assert times is not None
    assert {each.kind: each.origin for each in times.dates} == {
        DateKind.EFFECT: Origin.TEXT, DateKind.END: Origin.METADATA, DateKind.SIGNATURE: Origin.TEXT,
    }
    assert times.relations[0].dates[0].start == date(2020, 3, 3)
    day = date(2025, 5, 12)
    assert await _columns(writer, version.document_id) == (day, day, date(2025, 6, 1), date(2026, 12, 31), RULES)
    # The next version tells its own, and a document without dates none.
    again = await writer.index("note.md", ["Rien de daté."])
    assert await _columns(writer, again.document_id) == (None, None, None, None, RULES)
    assert again.document_id == version.document_id


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
async def test_batches_in_any_order_tell_the_same(writer: Writer, order: tuple[int, ...]) -> None:
    version = (await writer.accept("note.md", "one")).version
    for number in order:
        await writer.stage(version, [(HEAD, "Au milieu.", TAIL)[number]], batch_no=number, batch_count=3,
                           first_index=number)
    day = date(2025, 5, 12)
    assert await _columns(writer, version.document_id) == (day, day, date(2025, 6, 1), None, RULES)


async def test_documents_of_before_are_read_later_and_a_few_at_a_time(writer: Writer) -> None:
    versions = [await writer.index(f"{number}.md", [HEAD, TAIL]) for number in range(3)]
    told = [await _columns(writer, version.document_id) for version in versions]
    await _forget(writer)
    assert await _times(writer, versions[0].document_id) is None
    assert [await _read_more(writer, limit=2) for _ in range(3)] == [2, 1, 0]
    assert [await _columns(writer, version.document_id) for version in versions] == told
    assert await _times(writer, versions[2].document_id) is not None


async def test_dates_that_somebody_set_outlast_versions(writer: Writer) -> None:
    version = await writer.index("note.md", [HEAD])
    async with writer.database.transaction(tenant=writer.tenant) as connection:
        await connection.execute("update documents set set_dates = %s", (
            Jsonb({"effect": ["2026-01-01", "2026-01-31"]}),
        ))
    await writer.index("note.md", [f"{HEAD} Bis."])
    assert (await _columns(writer, version.document_id))[2] == date(2026, 1, 1)
    times = await _times(writer, version.document_id)
    assert times is not None
    effect = times.date_of(DateKind.EFFECT)
    assert effect is not None
    assert effect.origin is Origin.USER


async def test_new_metadata_is_read_without_a_new_version(writer: Writer) -> None:
    version = await writer.index("note.md", ["Rien de daté."])
    await writer.accept("note.md", "Rien de daté.", metadata={"date": "2024-02-01"})
    assert await _read_more(writer) == 1
    assert (await _columns(writer, version.document_id))[:3] == (date(2024, 2, 1),) * 3
