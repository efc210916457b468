"""Typed filters over real gRPC and PostgreSQL: what is found, counted and refused, and for whom."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import grpc
import grpc.aio
import pytest
import pytest_asyncio

from sourcier.client import Client
from sourcier.filters import condition
from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.access import READ, Access, enter_access
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.gateway.history import DEFAULT_LANGUAGE
from sourcier.services.gateway.retrieval.query import Mode, Query
from sourcier.services.gateway.retrieval.scoping import COLLECTIONS_MAX, Scoping
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.spaces import spaces
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway
from tests.integration.gateway.retrieval.test_retrieval_service import settle
from tests.integration.index.writer import SPACE, Writer

QUESTION = "Combien de jours de télétravail ?"
DOCUMENTS: dict[str, dict[str, Any]] = {
    "contrats/2023/a.md": {"type": "contrat", "date": "2023-05-02", "year": "2023", "archived": "true",
                           "tags": "rh, paie"},
    "contrats/2024/b.md": {"type": "avenant", "date": "2024-03-12", "year": "2024", "archived": "oui"},
    "contrats/2024/c.md": {"type": "contrat", "date": "12/07/2024", "year": "2024", "tags": ["rh", "congés"]},
    "notes/d.md": {"type": "note de service", "year": "2025", "archived": "false"},
}
A, B, C, D = DOCUMENTS


@pytest_asyncio.fixture(loop_scope="session")
async def office(database: Database) -> Database:
    """Return a database with a few documents in the default collection, and one in another one."""
    writer = Writer(database)
    for source, metadata in DOCUMENTS.items():
        await writer.index(source, ["Deux jours de télétravail."], title=source, category="rh", metadata=metadata)
    await writer.index("e.md", ["Trois jours de télétravail."], title="e.md", collection="other",
                       metadata={"type": "accord"})
    await writer.collection("empty")
    async with database.transaction(tenant="acme") as connection:
        # Two were indexed before languages were kept with documents; of whose chunks they are then.
        await connection.execute("update chunks set language = 'fr'")
        await connection.execute(
            "update documents set language = case when source like 'contrats/%' then 'fr' end"
        )
    return database


async def sources(served: Gateway, expression: str, **where: Any) -> list[str]:
    found = await served.search(QUESTION, limit=50, candidates=50, filter=answer_pb2.SearchFilter(
        where=condition(expression) if expression else None, **where,
    ))
    return sorted(passage.source for passage in found.passages)


EXPRESSIONS: dict[str, list[str]] = {
    "date >= 2024 and (type = avenant or not archived)": [B, C],
    "date = 2024": [B, C], "date = 2024-03": [B], "date < 2024": [A], "date > 2024-03-12": [C], "not date exists": [D],
    "year > 2023 and year <= 2024": [B, C], "year in (2023, 2025)": [A, D], "year != 2024": [A, D],
    "archived": [A, B], "archived = false": [D], "not archived": [C, D],
    "type = \"note de service\"": [D], "type prefix note": [D],
    "type in (avenant, contrat) and path prefix contrats/2024/": [B, C],
    "tags contains rh": [A, C], "tags = rh": [C], "tags contains paie": [A],
    "language = fr and category = rh and size >= 0": [A, B, C, D], "collection = other": [],
    "created_at >= 2020": [A, B, C, D], "author exists": [], "metadata.type = avenant": [B],
}


async def test_a_filter_narrows_a_search_and_an_answer(office: Database) -> None:
    async with gateway(office, Scenario()) as served:
        for expression, wanted in EXPRESSIONS.items():
            assert await sources(served, expression) == wanted, expression
        events, error = await served.ask(QUESTION, filter={"where": condition("type = avenant")})
    assert error is None
    passages = next(event.reranked.passages for event in events if event.HasField("reranked"))
    assert [passage.source for passage in passages] == [B]


async def test_several_collections_or_all_are_searched_together(office: Database) -> None:
    await Writer(office, tenant="globex").index("f.md", ["Deux jours de télétravail."], title="F")
    async with gateway(office, Scenario()) as served:
        assert await sources(served, "", collections=["default", "other"]) == sorted([*DOCUMENTS, "e.md"])
        assert await sources(served, "", collection="other", collections=["other"]) == ["e.md"]
        assert await sources(served, "", all_collections=True) == sorted([*DOCUMENTS, "e.md"])
        assert await sources(served, "collection = other", all_collections=True) == ["e.md"]
        assert await sources(served, "type in (accord, avenant)", all_collections=True) == [B, "e.md"]
        events, error = await served.ask(QUESTION, passages=20, filter={"all_collections": True})
        assert error is None
        passages = next(event.reranked.passages for event in events if event.HasField("reranked"))
        assert len(passages) == 5
        assert {passage.collection for passage in passages} == {"default", "other"}
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await sources(served, "", collections=["default", "absent"])
    assert (refused.value.code(), "absent" in str(refused.value.details())) == (grpc.StatusCode.NOT_FOUND, True)


async def test_several_collections_are_searched_as_none_of_them_says(office: Database) -> None:
    await Writer(office).index("g.md", ["Quatre jours de télétravail."], title="g.md", collection="third")
    await settle(office, limit=1, candidates=1)
    async with gateway(office, Scenario()) as served:
        alone = await served.search(QUESTION)
        together = await served.search(QUESTION, filter=answer_pb2.SearchFilter(collections=["other", "third"]))
    assert len(alone.passages) == 1
    assert sorted(passage.source for passage in together.passages) == ["e.md", "g.md"]


@pytest.mark.parametrize(("expression", "words"), [
    ("tpye = avenant", ["no field 'tpye'", "Did you mean 'type'?", "archived, date", "every document has title"]),
    ("year = avenant", ["'year' with 'avenant'", "numbers and dates", "'2023'", "2024-03-12"]),
    ("archived = 5", ["'archived' with 5", "true or false", "'false', 'oui', 'true'", "write true or false"]),
    ("type > 5", ["'type' with 5 by >", "texts there, such as 'avenant'", "texts are compared by ="]),
    ("type = 5", ["put 5 in quotes"]), ("type", ["'type' with true"]),
    ("date >= mars", ["'date' with 'mars'", "write a date as 2024, 2024-03 or 2024-03-12"]),
    ("date >= 2024-02-30", ["no day of the calendar"]), ("size > gros", ["'size' with 'gros'", "write a number"]),
    ("metadata.title = x", ["no field 'metadata.title'"]),
])
async def test_a_field_that_is_not_there_and_a_value_of_another_type_are_told(
    office: Database, expression: str, words: list[str]
) -> None:
    async with gateway(office, Scenario()) as served:
        for call in (served.search, _asked(served)):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await call(QUESTION, filter={"where": condition(expression)})
            assert refused.value.code() == grpc.StatusCode.INVALID_ARGUMENT
            for each in words:
                assert each in str(refused.value.details())


def _asked(served: Gateway) -> Any:
    async def ask(question: str, **fields: Any) -> None:
        _, error = await served.ask(question, **fields)
        assert error is not None
        raise error

    return ask


async def test_where_there_is_no_document_no_filter_is_wrong(office: Database) -> None:
    async with gateway(office, Scenario()) as served:
        assert await sources(served, "tpye = avenant", collection="empty") == []


async def test_facets_are_counted_under_a_filter(office: Database) -> None:
    async with gateway(office, Scenario()) as served, Client(
        f"127.0.0.1:{served.server.port}", tenant="acme"
    ) as client:
        found = await client.facets(["type", "date"], filter="year >= 2024")
        assert found.document_count == 3
        counts = {facet.field: [(each.value, each.document_count) for each in facet.values] for facet in found.facets}
        assert counts == {"type": [("avenant", 1), ("contrat", 1), ("note de service", 1)], "date": [("2024", 2)]}
        everything = await client.facets(all_collections=True, limit=1)
        assert everything.document_count == 5
        assert {facet.field: facet.value_count for facet in everything.facets}["type"] == 4
        for fields, where, words in (
            (["tpye"], {}, "Did you mean 'type'"), (["type"] * 21, {}, "at most 20 fields"),
            ([f"unknown{number}" for number in range(21)], {}, "at most 20 fields"),
            ([], {"kinds": ["text"]}, "about passages"), ([], {"filter": "type > 5"}, "texts there"),
        ):
            with pytest.raises(Exception, match=words):
                await client.facets(fields, **where)
        with pytest.raises(Exception, match="limit is 1001"):
            await client.facets(limit=1_001)


async def test_what_a_caller_may_not_read_is_neither_found_nor_counted_nor_told(office: Database) -> None:
    """All collections are those of the caller; the fields of others are as if they were not there."""
    async with office.transaction(tenant="acme", read_only=True) as connection:
        row = await (await connection.execute("select collection_id::text from collections where name = 'other'")
                     ).fetchone()
    assert row is not None
    enter_access(Access(tenant="acme", name="user:bob", names=("user:bob",), right=READ, everything=False))
    try:
        scoping = Scoping(office, seconds_max=20)
        query = Query(tenant="acme", question="", collection="default", filters=Filters(), mode=Mode.DENSE, limit=5,
                      candidates=5, language=DEFAULT_LANGUAGE)
        deadline = Deadline.after(20)
        nothing = await scoping.scoped(query, others=(), everything=True, deadline=deadline)
        assert nothing.collections == ("default",)
        assert (await scoping.count_values(nothing, fields=(), limit=5, deadline=deadline)).documents == 0
    finally:
        enter_access(None)
    async with office.transaction(tenant="acme") as connection:
        await connection.execute(
            "insert into grants (tenant, grant_id, grantee, collection_id, access_right, granted_by) values ('acme', "
            "gen_random_uuid(), 'user:bob', %s, 'read', 'test')", (row[0],),
        )
    enter_access(Access(tenant="acme", name="user:bob", names=("user:bob",), right=READ, everything=False))
    try:
        granted = await scoping.scoped(query, others=(), everything=True, deadline=deadline)
        assert granted.collections == ("other",)
        counts = await scoping.count_values(granted, fields=("type",), limit=5, deadline=deadline)
        assert [each.values for each in counts.fields] == [(("accord", 1),)]
    finally:
        enter_access(None)


async def test_more_collections_than_are_searched_together_are_refused(office: Database) -> None:
    async with gateway(office, Scenario()) as served:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await sources(served, "", collections=[f"c{number}" for number in range(COLLECTIONS_MAX + 1)])
    assert "At most 100 collections" in str(refused.value.details())


async def test_collections_of_different_spaces_are_told(office: Database) -> None:
    async with office.transaction(tenant=ALL_TENANTS) as connection:
        await spaces.ensure_space(connection, another := replace(SPACE, space_id="other-space"))
    await Writer(office, space=another).index("g.md", ["Texte."], title="G", collection="elsewhere")
    async with gateway(office, Scenario()) as served:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await sources(served, "", all_collections=True)
    assert "different embedding spaces" in str(refused.value.details())



