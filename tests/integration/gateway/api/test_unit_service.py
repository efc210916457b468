"""Knowledge units over gRPC: listed, shown, edited; and how far an agent's index is."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from sourcier.gateway.v1 import answer_pb2, curation_pb2
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.units import builds as unit_builds
from sourcier.services.index.units import work as unit_work
from sourcier.services.index.units.work import Settlement
from tests.integration.gateway.api.test_curation_service import OTHER_TENANT, call, refused
from tests.integration.gateway.conftest import TELEWORK
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway

QUESTION, ANSWER = "Combien de jours de télétravail par semaine ?", "Deux jours par semaine."


@asynccontextmanager
async def enriched(database: Database) -> AsyncIterator[Gateway]:
    """Serve a gateway with an agent whose chunks have units: one with a pair, one that failed, one that waits."""
    async with gateway(database, Scenario()) as served:
        await call(served, "CreateAgent", name="support", categories=["Travail", "Paie"])
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            (wanted,) = await unit_builds.wanting(connection)
        async with database.transaction(tenant="acme") as connection:
            build = await unit_builds.begin(
                connection, tenant="acme", collection_id=wanted.collection_id, methods=wanted.methods
            )
            await unit_builds.plan(connection, build, limit=10)
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            released = await unit_work.release(connection, in_flight_max=8, limit=8, stalled_seconds=60)
        async with database.transaction(tenant="acme") as connection:
            for unit in released:
                task = await unit_work.load(connection, tenant="acme", unit_id=unit.unit_id)
                assert task is not None
                assert list(task.categories) == ["Paie", "Travail"]
                made = Settlement(
                    state="enriched", summary="Deux jours.", pairs=((QUESTION, ANSWER),), model="m", prompt_tokens=9
                ) if task.text == TELEWORK else Settlement(state="failed", reason="BAD_OUTPUT", message="no JSON")
                if task.text == TELEWORK or "écrit" in task.text:
                    await unit_work.settle(
                        connection, tenant="acme", document_id=task.document_id, unit_id=unit.unit_id,
                        fingerprint=task.fingerprint, settlement=made,
                    )
        yield served


async def test_chunks_are_listed_with_their_state(handbook: Database) -> None:
    async with enriched(handbook) as served:
        listed = (await call(served, "ListUnits", agent="support")).units
        assert sorted((each.state, each.reason) for each in listed) == [
            (curation_pb2.UNIT_STATE_WAITING, ""), (curation_pb2.UNIT_STATE_ENRICHED, ""),
            (curation_pb2.UNIT_STATE_FAILED, "BAD_OUTPUT"),
        ]
        (failed,) = (await call(served, "ListUnits", state=curation_pb2.UNIT_STATE_FAILED)).units
        shown = (await call(served, "GetUnit", unit_id=failed.chunk_id)).unit
        assert shown == failed
        # Nobody judged it: where chunks are sorted by their use, it comes last.
        assert (shown.message, shown.title, shown.usefulness) == ("no JSON", "Télétravail", 0.0)
        of_document = (await call(served, "ListUnits", document_id=failed.document_id)).units
        assert [each.chunk_index for each in of_document] == [0, 1]
        assert not (await call(served, "ListUnits", metadata=OTHER_TENANT)).units
        live = (await call(served, "GetAgentIndex", name="support")).live
        assert (live.enriched, live.failed, live.waiting, live.prompt_tokens) == (1, 1, 1, 9)
        assert list(live.methods) == [curation_pb2.INDEXING_METHOD_QA_ATOMIC]


async def test_what_is_known_of_a_chunk_is_edited(handbook: Database) -> None:
    async with enriched(handbook) as served:
        (unit,) = (await call(served, "ListUnits", state=curation_pb2.UNIT_STATE_ENRICHED)).units
        edited = (await call(
            served, "UpdateUnit", unit_id=unit.unit_id, category="Travail", usefulness=0.0, edited_by="Ana",
            keywords=curation_pb2.KeywordList(words=["jours"]),
        )).unit
        assert (edited.category, edited.usefulness, list(edited.keywords), edited.summary) == (
            "Travail", 0.0, ["jours"], "Deux jours.",
        )
        assert edited.edited_by == "Ana"
        assert edited.HasField("edited_at")
        added = (await call(
            served, "AddPair", unit_id=unit.chunk_id, question="Qui ?", answer="Le chef.", edited_by="Bea"
        )).unit
        pair = added.pairs[-1]
        assert (pair.question, pair.edited_by) == ("Qui ?", "Bea")
        changed = (await call(served, "UpdatePair", pair_id=pair.pair_id, answer="La cheffe.", edited_by="Ana")).unit
        assert (changed.pairs[-1].question, changed.pairs[-1].answer) == ("Qui ?", "La cheffe.")
        for each in changed.pairs:
            left = (await call(served, "DeletePair", pair_id=each.pair_id, edited_by="Ana")).unit
        assert (left.state, left.reason) == (curation_pb2.UNIT_STATE_NO_PAIRS, "BY_HAND")
        found = await served.search(TELEWORK, mode=answer_pb2.SEARCH_MODE_DENSE, limit=1)
        assert (found.passages[0].category, found.passages[0].summary) == ("Travail", "Deux jours.")


async def test_a_rebuild_begins_goes_on_and_is_accepted(handbook: Database) -> None:
    async with enriched(handbook) as served:
        retried = await call(served, "RebuildAgentIndex", name="support", failed_only=True)
        assert retried.retried_count == 1
        assert not retried.HasField("building")
        code, details = await refused(served, "RebuildAgentIndex", name="support", accept_failed=True)
        assert code is grpc.StatusCode.FAILED_PRECONDITION
        assert "nothing to accept" in details
        begun = await call(served, "RebuildAgentIndex", name="support")
        assert begun.building.regenerated
        assert (await call(served, "RebuildAgentIndex", name="support")).building.build_id == begun.building.build_id
        await call(served, "RebuildAgentIndex", name="support", accept_failed=True)


@pytest.mark.parametrize(("method", "fields", "code", "words"), [
    ("GetUnit", {"unit_id": "x"}, grpc.StatusCode.NOT_FOUND, "x"),
    ("UpdateUnit", {"unit_id": "0199aaaa-0000-7000-8000-000000000000", "edited_by": "Ana"}, grpc.StatusCode.NOT_FOUND,
     "chunks list"),
    ("UpdateUnit", {"unit_id": "x", "usefulness": 1.5}, grpc.StatusCode.INVALID_ARGUMENT, "usefulness"),
    ("UpdateUnit", {"unit_id": "x", "category": "x" * 201}, grpc.StatusCode.INVALID_ARGUMENT, "category"),
    ("UpdateUnit", {"unit_id": "x", "category": "a"}, grpc.StatusCode.INVALID_ARGUMENT, "edited_by"),
    ("UpdateUnit", {"unit_id": "x", "keywords": curation_pb2.KeywordList(words=["a"] * 21)},
     grpc.StatusCode.INVALID_ARGUMENT, "keywords"),
    ("AddPair", {"unit_id": "x", "question": " ", "answer": "a"}, grpc.StatusCode.INVALID_ARGUMENT, "question"),
    ("UpdatePair", {"pair_id": "x", "question": "a", "edited_by": "Ana"}, grpc.StatusCode.NOT_FOUND, "x"),
    ("DeletePair", {"pair_id": "x", "edited_by": "Ana"}, grpc.StatusCode.NOT_FOUND, "x"),
    ("ListUnits", {"state": 9}, grpc.StatusCode.INVALID_ARGUMENT, "9"),
    ("ListUnits", {"agent": "nobody"}, grpc.StatusCode.NOT_FOUND, "nobody"),
    ("ListUnits", {"page_token": "!"}, grpc.StatusCode.INVALID_ARGUMENT, "page token"),
    ("ListUnits", {"document_id": "x"}, grpc.StatusCode.NOT_FOUND, "x"),
    ("GetAgentIndex", {"name": "nobody"}, grpc.StatusCode.NOT_FOUND, "nobody"),
    ("RebuildAgentIndex", {"name": ""}, grpc.StatusCode.INVALID_ARGUMENT, "name"),
    ("CreateAgent", {"name": "a", "categories": [" "]}, grpc.StatusCode.INVALID_ARGUMENT, "categories"),
    ("CreateAgent", {"name": "a", "categories": ["c"] * 101}, grpc.StatusCode.INVALID_ARGUMENT, "101"),
])
async def test_a_request_about_units_that_cannot_be_met_says_why(
    handbook: Database, method: str, fields: dict[str, Any], code: grpc.StatusCode, words: str
) -> None:
    async with gateway(handbook, Scenario()) as served:
        found, details = await refused(served, method, **fields)
    assert found is code
    assert words in details


async def test_kinds_that_cannot_be_found_are_refused(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        for kinds, mode in (([9], 0), ([0], 0), ([answer_pb2.PASSAGE_KIND_QA_PAIR], answer_pb2.SEARCH_MODE_LEXICAL)):
            with pytest.raises(grpc.aio.AioRpcError, match=r"filter\.kinds"):
                await served.search("a", mode=mode, filter=answer_pb2.SearchFilter(kinds=kinds))
