"""How many documents have which values: of the tenant, the collections and the filter alone."""

from __future__ import annotations

from typing import Any

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.filtering.compiling import compiled
from sourcier.services.index.filtering.conditions import Negated, Test
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.value_counts import ValueCounts, count_values
from tests.integration.index.writer import Writer


async def counted(
    database: Database, *fields: str, limit: int = 0, collections: tuple[str, ...] = ("default",),
    filters: Filters = Filters(), tenant: str = "acme",  # noqa: B008 — frozen
) -> ValueCounts:
    async with database.transaction(tenant=tenant, read_only=True) as connection:
        return await count_values(
            connection, tenant=tenant, collections=collections, filters=filters, fields=fields, limit=limit
        )


def told(counts: ValueCounts) -> dict[str, Any]:
    return {each.field: (each.documents, each.value_count, each.values) for each in counts.fields}


async def test_values_are_counted_by_document_under_the_filter(database: Database) -> None:
    writer = Writer(database)
    for place, (category, metadata) in enumerate([
        ("rh", {"type": "avenant", "date": "2024-03-12", "tags": ["paie", "paie", "congés"], "source": "x"}),
        ("rh", {"type": "avenant", "date": "2023", "archived": True}),
        ("it", {"type": "contrat", "date": "12/03/2024", "tags": [], "étage": 3}),
    ]):
        await writer.index(f"{place}.md", ["Texte."], title="T", category=category, metadata=metadata)
    await writer.index("other.md", ["Texte."], title="T", collection="other", metadata={"type": "note"})
    await Writer(database, tenant="globex").index("a.md", ["Texte."], title="T", metadata={"type": "secret"})

    everything = await counted(database)
    assert everything.documents == 3
    assert told(everything) == {
        "category": (3, 2, (("rh", 2), ("it", 1))), "type": (3, 2, (("avenant", 2), ("contrat", 1))),
        "date": (3, 2, (("2024", 2), ("2023", 1))), "tags": (1, 2, (("congés", 1), ("paie", 1))),
        "archived": (1, 1, (("true", 1),)), "metadata.source": (1, 1, (("x", 1),)), "étage": (1, 1, (("3", 1),)),
    }
    under = await counted(database, "type", "tags", filters=Filters(
        categories=("rh",), where=compiled(Negated(Test("archived", "eq", (True,)))),
    ))
    assert (under.documents, told(under)["type"]) == (1, (1, 1, (("avenant", 1),)))
    both = await counted(database, "collection", "type", collections=("default", "other"), limit=1)
    assert told(both) == {"collection": (4, 2, (("default", 3),)), "type": (4, 3, (("avenant", 2),))}
    nothing = await counted(database, "absent")
    assert (nothing.documents, told(nothing)) == (3, {"absent": (0, 0, ())})
    assert await counted(database, collections=("absent",)) == ValueCounts(0, ())
