"""What documents can be narrowed by: categories and facts that exist, of the tenant and the filter alone."""

from __future__ import annotations

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.search.facets import Facets, find_facets, matches_any, texts_of
from sourcier.services.index.search.filters import Filters
from tests.integration.index.writer import Writer


async def facets(database: Database, *, tenant: str = "acme", limit: int = 10, **conditions: object) -> Facets:
    async with database.transaction(tenant=tenant, read_only=True) as connection:
        return await find_facets(
            connection, tenant=tenant, collections=["default"], limit=limit,
            filters=Filters(**conditions),  # type: ignore[arg-type]
        )


async def test_categories_and_facts_that_tell_documents_apart(database: Database) -> None:
    writer = Writer(database)
    for number, (category, team) in enumerate([("rh", "paie"), ("rh", "paie"), ("rh", "achats"), ("it", "achats")]):
        await writer.index(f"{number}.md", ["Texte."], title="T", category=category, metadata={
            "team": team, "id": f"n{number}", "site": "Brest"})
    found = await facets(database)
    assert found.categories == ("rh", "it")
    assert found.facts == (("team", "achats"), ("team", "paie"))
    assert (await facets(database, limit=1)).categories == ("rh",)
    assert (await facets(database, categories=("it",))) == Facets(("it",), ())
    assert await facets(database, tenant="globex") == Facets()


async def test_whether_any_document_meets_a_filter(database: Database) -> None:
    await Writer(database).index("a.md", ["Texte."], title="T", category="rh", metadata={"team": "paie"})
    async with database.transaction(tenant="acme", read_only=True) as connection:
        for filters, wanted in (
            (Filters(categories=("rh",), metadata={"team": "paie"}), True),
            (Filters(categories=("it",), metadata={"team": "paie"}), False),
        ):
            assert await matches_any(connection, tenant="acme", collections=["default"], filters=filters) is wanted


def test_facts_are_written_as_people_write_them() -> None:
    facts = (("team", "paie"), ("urgent", True), ("year", 2026))
    assert texts_of(facts) == {"team=paie": facts[0], "urgent=true": facts[1], "year=2026": facts[2]}
