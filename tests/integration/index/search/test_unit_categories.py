"""A passage is of its document's category, or of its own: filters, counts, lists and facets say the same."""

from __future__ import annotations

import pytest

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.curation.agents import create_agent
from sourcier.services.index.search import search
from sourcier.services.index.search import units as unit_search
from sourcier.services.index.search.facets import find_facets, list_categories, matches_any
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.scope import find_scope
from sourcier.services.index.search.search import QuestionVector, SearchRequest
from sourcier.services.index.units import indexes as unit_indexes
from tests.integration.index.units.test_units import QUESTION, TEXTS, settled
from tests.integration.index.writer import SPACE, Writer, text_vector

OTHER = "Les repas sont remboursés, congés compris."
VECTOR = QuestionVector(SPACE.space_id, text_vector("n'importe"))


async def written(database: Database, writer: Writer) -> None:
    """Index a guide without a category, one of whose two chunks is of its own, and a document that has one."""
    await settled(database, writer)
    await writer.index("frais.md", [OTHER], title="Frais", category="Finance")


async def found(
    database: Database, *categories: str, tenant: str = "acme", **conditions: object
) -> dict[str, set[str]]:
    """Return the texts that each search finds under a filter; all have to count as many as match."""
    filters = Filters(categories=categories, **conditions)  # type: ignore[arg-type]
    request = SearchRequest(tenant=tenant, collections=["default"], limit=10, filters=filters)
    exact = SearchRequest(tenant=tenant, collections=["default"], limit=10, filters=filters, exact=True)
    by = {
        "dense": await search.dense(database, request, vector=VECTOR),
        "exact": await search.dense(database, exact, vector=VECTOR),
        "lexical": await search.lexical(database, request, question="télétravail congés"),
        "fused": await search.fused(database, request, question="télétravail congés", vector=VECTOR),
    }
    async with database.transaction(tenant=tenant, read_only=True) as connection:
        scope = await find_scope(connection, tenant=tenant, collections=["default"], filters=filters)
    texts = {kind: {result.passage.text for result in results} for kind, results in by.items()}
    assert scope.matching == len(texts["exact"])
    return texts


async def test_every_search_finds_chunks_of_a_category_and_no_other(database: Database, writer: Writer) -> None:
    await written(database, writer)
    for categories, wanted in (
        (("Travail",), {TEXTS[0]}), (("Finance",), {OTHER}), (("Travail", "Finance"), {TEXTS[0], OTHER}),
        (("Nulle part",), set[str]()), ((), {*TEXTS, OTHER}),
    ):
        assert set(map(frozenset, (await found(database, *categories)).values())) == {frozenset(wanted)}, categories


async def test_the_other_conditions_hold_beside_it(database: Database, writer: Writer) -> None:
    await written(database, writer)
    await writer.index("autre.md", [TEXTS[0]], title="Autre", metadata={"team": "paie"})
    assert (await found(database, "Travail", metadata={"team": "paie"}))["dense"] == set()
    assert (await found(database, "Travail", chunk_types=("text",)))["dense"] == {TEXTS[0]}
    assert (await found(database, "Travail", chunk_types=("image",)))["dense"] == set()


@pytest.mark.parametrize("kinds", [(), ("qa_pair",)])
async def test_types_of_chunks_hold_for_what_units_find(
    database: Database, writer: Writer, kinds: tuple[str, ...]
) -> None:
    await written(database, writer)
    for indexed in (False, True):
        if indexed:
            assert len(await unit_indexes.build_unit_indexes(database, rows_min=1)) == 1
        for chunk_type, wanted in (("image", []), ("text", [TEXTS[0]])):
            filters = Filters(chunk_types=(chunk_type,))
            request = SearchRequest(
                tenant="acme", collections=["default"], limit=1, filters=filters, method="qa_atomic", kinds=kinds
            )
            vector = QuestionVector(SPACE.space_id, text_vector(QUESTION))
            by_vector = await search.dense(database, request, vector=vector)
            fused = await search.fused(database, request, question=TEXTS[0], vector=vector)
            assert [each.passage.text for each in by_vector] == wanted, (indexed, chunk_type)
            assert [each.passage.text for each in fused] == wanted, (indexed, chunk_type)
            async with database.transaction(tenant="acme", read_only=True) as connection:
                pairs = await unit_search.nearest_pairs(
                    connection, tenant="acme", collection="default", space_id=SPACE.space_id, vector=vector.values,
                    filters=filters, limit=1,
                )
            assert bool(pairs) is bool(wanted)


async def test_pairs_are_looked_up_in_the_category_alone(database: Database, writer: Writer) -> None:
    await written(database, writer)
    async with database.transaction(tenant="acme", read_only=True) as connection:
        for category, wanted in (("Travail", [QUESTION]), ("Finance", [])):
            pairs = await unit_search.nearest_pairs(
                connection, tenant="acme", collection="default", space_id=SPACE.space_id,
                vector=text_vector(QUESTION), filters=Filters(categories=(category,)), limit=5,
            )
            assert [pair.question for pair in pairs] == wanted


async def test_lists_and_facets_name_what_a_filter_finds(database: Database, writer: Writer) -> None:
    await written(database, writer)
    async with database.transaction(tenant="acme", read_only=True) as connection:
        assert await list_categories(connection, tenant="acme", collections=["default"]) == ["Finance", "Travail"]
        facets = await find_facets(connection, tenant="acme", collections=["default"], filters=Filters(), limit=5)
        assert facets.categories == ("Finance", "Travail")
        for category, wanted in (("Travail", True), ("Finance", True), ("Ailleurs", False)):
            assert await matches_any(
                connection, tenant="acme", collections=["default"], filters=Filters(categories=(category,))
            ) is wanted


@pytest.mark.parametrize("statement", [
    "update unit_builds set state = 'retired'", "update units set category = 'Autre'",
])
async def test_what_is_no_longer_known_is_no_longer_found(
    database: Database, writer: Writer, statement: str
) -> None:
    await written(database, writer)
    async with database.transaction(tenant="acme") as connection:
        await connection.execute(statement.encode())
    assert (await found(database, "Travail"))["dense"] == set()


async def test_another_tenants_categories_are_its_own(database: Database, writer: Writer) -> None:
    await written(database, writer)
    await Writer(database, tenant="globex").index("a.md", [TEXTS[0]])
    async with database.transaction(tenant="globex") as connection:
        await create_agent(connection, tenant="globex", name="support", collection="default")
        assert await list_categories(connection, tenant="globex", collections=["default"]) == []
    assert (await found(database, "Travail", tenant="globex"))["dense"] == set()
