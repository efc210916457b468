"""`CurationService` and direct answers, over real gRPC and PostgreSQL."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import grpc
import grpc.aio
import numpy as np
import pytest

from sourcier.gateway.v1 import answer_pb2, curation_pb2
from sourcier.services.chassis.errors import (
    FailedPrecondition,
    InvalidArgument,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.gateway.peers.embedding import QueryEmbedding, ServedSpace
from sourcier.services.gateway.validated import learned_vectors
from sourcier.services.gateway.validated.learned_vectors import LearnedVectors
from sourcier.services.index.documents import deletions as collection_deletions
from sourcier.services.index.documents import documents, listing
from sourcier.services.index.documents.listing import Listed
from sourcier.services.index.moves import builds as space_builds
from sourcier.services.index.spaces import spaces
from sourcier.services.index.spaces.spaces import EmbeddingSpace
from tests.integration.gateway.conftest import TELEWORK
from tests.integration.gateway.fix_gateway import TENANT, Gateway, Scenario, gateway
from tests.integration.index.writer import SPACE, Writer, text_vector

pytestmark = [pytest.mark.integration, pytest.mark.asyncio(loop_scope="session")]

QUESTION = "Combien de jours de télétravail par semaine ?"
ANSWER = "Deux jours par semaine."
OTHER_TENANT = (("sourcier-tenant", "globex"),)


@asynccontextmanager
async def curated(database: Database, scenario: Scenario | None = None, **settings: Any) -> AsyncIterator[Gateway]:
    """Serve a gateway with an agent of the default collection."""
    async with gateway(database, scenario or Scenario(), **settings) as served:
        await call(served, "CreateAgent", name="support")
        yield served


async def call(served: Gateway, method: str, *, metadata: Any = TENANT, **fields: Any) -> Any:
    request = getattr(curation_pb2, f"{method}Request")(**fields)
    return await getattr(served.curation, method)(request, timeout=20, metadata=metadata)


async def refused(served: Gateway, method: str, **fields: Any) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call(served, method, **fields)
    return raised.value.code(), raised.value.details() or ""


async def add(served: Gateway, question: str = QUESTION, **fields: Any) -> curation_pb2.FaqEntry:
    response = await call(served, "AddFaqEntry", **{
        "agent": "support", "question": question, "answer": ANSWER, "validated_by": "Ana",
    } | fields)
    entry: curation_pb2.FaqEntry = response.entry
    return entry


def cosine(one: str, other: str) -> float:
    vectors = [np.frombuffer(text_vector(text), "<f2").astype(np.float32) for text in (one, other)]
    return float(vectors[0] @ vectors[1])


def kinds(events: list[answer_pb2.AskEvent]) -> list[str]:
    return [event.WhichOneof("event") or "" for event in events]


async def answered_directly(served: Gateway, question: str = QUESTION, **fields: Any) -> bool:
    events, error = await served.ask(question, **{"agent": "support"} | fields)
    assert error is None
    return "direct_answer" in kinds(events)


async def document_of(database: Database, source: str) -> documents.Document:
    async with database.transaction(tenant="acme", read_only=True) as connection:
        page = await listing.list_documents(connection, tenant="acme", listed=Listed())
    return next(document for document in page.items if document.source == source)


async def test_an_agent_is_created_shown_changed_and_deleted(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        created = (await call(served, "CreateAgent", name="support", description="RH")).agent
        assert (created.collection, created.indexing_method, created.on_document_change) == (
            "default", curation_pb2.INDEXING_METHOD_QA_ATOMIC, curation_pb2.DOCUMENT_CHANGE_FLAG,
        )
        updated = (await call(
            served, "UpdateAgent", name="support", indexing_method=curation_pb2.INDEXING_METHOD_CLASSIC
        )).agent
        assert (updated.description, updated.indexing_method) == ("RH", curation_pb2.INDEXING_METHOD_CLASSIC)
        assert (await call(served, "GetAgent", name="support")).agent == updated
        await call(served, "CreateAgent", name="ventes")
        first = await call(served, "ListAgents", page_size=1)
        rest = await call(served, "ListAgents", page_size=1, page_token=first.next_page_token)
        assert [agent.name for agent in (*first.agents, *rest.agents)] == ["support", "ventes"]
        assert (await call(served, "DeleteAgent", name="ventes")).existed
        assert not (await call(served, "DeleteAgent", name="ventes")).existed
        # Without a name it is a mistake, and not an agent that is gone already.
        code, told = await refused(served, "DeleteAgent")
        assert (code, "name is empty" in told) == (grpc.StatusCode.INVALID_ARGUMENT, True)


async def test_an_agent_says_who_searches_until_that_is_left_to_the_service_again(handbook: Database) -> None:
    tools, injection = answer_pb2.ANSWER_MODE_TOOLS, answer_pb2.ANSWER_MODE_INJECTION
    async with gateway(handbook, Scenario()) as served:
        assert (await call(served, "CreateAgent", name="support", mode=tools)).agent.mode == tools
        assert (await call(served, "UpdateAgent", name="support", description="RH")).agent.mode == tools
        (listed,) = (await call(served, "ListAgents")).agents
        assert (listed.mode, listed.description) == (tools, "RH")
        deployed = (await call(served, "CreateDeployment", name="web", agent="support")).deployment
        assert deployed.mode == tools
        deployed = (await call(served, "UpdateDeployment", name="web", overlay={"mode": "injection"})).deployment
        assert deployed.mode == injection
        left = (await call(served, "UpdateAgent", name="support", mode=answer_pb2.ANSWER_MODE_UNSPECIFIED)).agent
        assert left.mode == answer_pb2.ANSWER_MODE_UNSPECIFIED


async def test_who_creates_an_agent_is_told_how_many_chunks_the_model_reads(handbook: Database) -> None:
    none = curation_pb2.INDEXING_METHOD_NONE
    async with gateway(handbook, Scenario()) as served:
        planned = await call(served, "CreateAgent", name="support", dry_run=True)
        assert (planned.agent.name, planned.agent.agent_id, planned.chunk_count) == ("support", "", 3)
        assert not (await call(served, "ListAgents")).agents
        assert (await call(served, "CreateAgent", name="sans", indexing_method=none)).chunk_count == 0
        created = await call(served, "CreateAgent", name="support")
        assert (created.chunk_count, bool(created.agent.agent_id)) == (3, True)
        assert (await refused(served, "CreateAgent", name="support", dry_run=True))[0] is grpc.StatusCode.ALREADY_EXISTS


async def test_nothing_is_rebuilt_where_no_agent_has_a_method(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        await call(served, "CreateAgent", name="sans", indexing_method=curation_pb2.INDEXING_METHOD_NONE)
        code, details = await refused(served, "RebuildAgentIndex", name="sans")
    assert (code, "--method qa_atomic" in details) == (grpc.StatusCode.FAILED_PRECONDITION, True)


@pytest.mark.parametrize(("method", "fields", "code", "words"), [
    ("CreateAgent", {"name": "support"}, grpc.StatusCode.ALREADY_EXISTS, "support"),
    ("CreateAgent", {"name": " "}, grpc.StatusCode.INVALID_ARGUMENT, "1 to 200"),
    ("CreateAgent", {"name": "a", "collection": "nowhere"}, grpc.StatusCode.NOT_FOUND, "nowhere"),
    ("CreateAgent", {"name": "a", "indexing_method": 9}, grpc.StatusCode.INVALID_ARGUMENT, "9"),
    ("CreateAgent", {"name": "a", "mode": 9}, grpc.StatusCode.INVALID_ARGUMENT, "mode 9"),
    ("UpdateAgent", {"name": "nobody", "description": ""}, grpc.StatusCode.NOT_FOUND, "nobody"),
    ("CreateDeployment", {"name": "web", "agent": "nobody"}, grpc.StatusCode.NOT_FOUND, "nobody"),
    ("CreateDeployment", {"name": "web", "agent": "support", "overlay": {"": "x"}}, grpc.StatusCode.INVALID_ARGUMENT,
     "overlay"),
    ("GetDeployment", {"name": "nowhere"}, grpc.StatusCode.NOT_FOUND, "nowhere"),
    ("AddFaqEntry", {"agent": "nobody", "question": "a", "answer": "b", "validated_by": "c"},
     grpc.StatusCode.NOT_FOUND, "nobody"),
    ("AddFaqEntry", {"agent": "support", "question": "", "answer": "b", "validated_by": "c"},
     grpc.StatusCode.INVALID_ARGUMENT, "question"),
    ("AddFaqEntry", {"agent": "support", "question": "a", "answer": "x" * 20_001, "validated_by": "c"},
     grpc.StatusCode.INVALID_ARGUMENT, "20,000"),
    ("AddFaqEntry", {"agent": "support", "question": "a", "answer": "b", "validated_by": ""},
     grpc.StatusCode.INVALID_ARGUMENT, "validated_by"),
    ("AddFaqEntry", {"agent": "support", "question": "a", "answer": "b", "validated_by": "c",
                     "documents": [curation_pb2.FaqDocument(document_id="not an id")]},
     grpc.StatusCode.NOT_FOUND, "not an id"),
    ("ApproveAnswer", {"agent": "support", "question": "a", "answer": "b", "validated_by": "c", "answer_id": "x"},
     grpc.StatusCode.INVALID_ARGUMENT, "answer_id"),
    ("GetFaqEntry", {"entry_id": "x"}, grpc.StatusCode.NOT_FOUND, "x"),
    ("RetireFaqEntry", {"entry_id": "0199aaaa-0000-7000-8000-000000000000"}, grpc.StatusCode.NOT_FOUND, "0199aaaa"),
    ("ListFaqEntries", {"state": 7}, grpc.StatusCode.INVALID_ARGUMENT, "7"),
])
async def test_a_request_that_cannot_be_met_says_why(
    handbook: Database, method: str, fields: dict[str, Any], code: grpc.StatusCode, words: str
) -> None:
    async with curated(handbook) as served:
        found, details = await refused(served, method, **fields)
    assert found is code
    assert words in details


async def test_an_overlay_wins_and_what_is_not_known_falls_back_visibly(handbook: Database) -> None:
    async with curated(handbook) as served:
        wins = (await call(
            served, "CreateDeployment", name="web", agent="support", overlay={"indexing_method": "classic"}
        )).deployment
        assert wins.indexing_method == curation_pb2.INDEXING_METHOD_CLASSIC
        assert not wins.notices
        falls = (await call(
            served, "UpdateDeployment", name="web", overlay={"indexing_method": "legacy"}
        )).deployment
        assert falls.indexing_method == curation_pb2.INDEXING_METHOD_QA_ATOMIC
        assert "legacy" in falls.notices[0]
        assert [each.name for each in (await call(served, "ListDeployments", agent="support")).deployments] == ["web"]
        await add(served)
        events, error = await served.ask(QUESTION, deployment="web")
        assert error is None
        assert kinds(events) == ["started", "searching", "degraded", "direct_answer", "finished"]
        assert (events[2].degraded.stage, "legacy" in events[2].degraded.reason) == ("deployment", True)
        assert (await call(served, "DeleteDeployment", name="web")).existed
        _, error = await served.ask(QUESTION, deployment="web")
        assert error is not None
        assert error.code() is grpc.StatusCode.NOT_FOUND


async def test_a_question_that_was_answered_before_needs_no_model(handbook: Database) -> None:
    async with curated(handbook) as served:
        entry = await add(served, heading_path=["Temps de travail", "Télétravail"])
        assert (entry.category, entry.source, entry.state) == ("FAQ", "FAQ validée", curation_pb2.FAQ_STATE_ACTIVE)
        events, error = await served.ask(QUESTION, agent="support")
    assert error is None
    assert kinds(events) == ["started", "searching", "direct_answer", "finished"]
    assert [event.sequence for event in events] == [1, 2, 3, 4]
    direct, finished = events[2].direct_answer, events[3].finished
    assert direct.text == f"{ANSWER}\n\n*Source: FAQ validée*"
    assert (direct.matched_question, direct.faq_entry_id, direct.validated_by) == (QUESTION, entry.entry_id, "Ana")
    assert direct.similarity == pytest.approx(1, abs=1e-3)
    assert list(direct.heading_path) == ["Temps de travail", "Télétravail"]
    assert (finished.outcome, finished.model) == (answer_pb2.ANSWER_OUTCOME_DIRECT, "direct_qr_match")
    assert finished.usage == answer_pb2.Usage()
    assert served.scenario.generations == []


async def test_a_direct_answer_can_be_declined_and_needs_the_agent(handbook: Database) -> None:
    async with curated(handbook) as served:
        await add(served)
        assert await answered_directly(served)
        assert not await answered_directly(served, direct_answers=False)
        assert not await answered_directly(served, agent="")


async def test_who_asks_for_certain_documents_gets_no_answer_that_rests_on_others(handbook: Database) -> None:
    async with curated(handbook) as served:
        await add(served)
        for narrowed in (
            answer_pb2.SearchFilter(categories=["finance"]), answer_pb2.SearchFilter(metadata={"service": "rh"}),
            answer_pb2.SearchFilter(kinds=[answer_pb2.PASSAGE_KIND_TEXT]),
        ):
            assert not await answered_directly(served, filter=narrowed)
        assert await answered_directly(served)


@pytest.mark.parametrize("asked", [
    "Combien de jours de télétravail par mois en 2024 ?", "Combien de jours de télétravail à Lyon ?",
    "Combien de jours de télétravail dès lundi ?",
])
async def test_another_number_or_name_is_not_answered_directly_however_close(handbook: Database, asked: str) -> None:
    async with curated(handbook, Scenario(embed_as={asked: QUESTION})) as served:
        await add(served)
        assert not await answered_directly(served, asked)
        assert len(served.scenario.generations) == 1


async def test_a_deployment_sets_how_close_a_question_has_to_be(handbook: Database) -> None:
    asked = next(
        text for text in (f"Combien de jours de télétravail par semaine{'.' * count}" for count in range(1, 100))
        if 0.1 < cosine(text, QUESTION) < 0.9
    )
    async with curated(handbook) as served:
        await add(served)
        await call(served, "CreateDeployment", name="web", agent="support", overlay={"direct_similarity": "0.1"})
        assert not await answered_directly(served, asked)
        assert await answered_directly(served, asked, agent="", deployment="web")


async def test_names_that_contradict_one_another_are_refused(handbook: Database) -> None:
    async with curated(handbook) as served:
        await call(served, "CreateAgent", name="ventes")
        await call(served, "CreateDeployment", name="web", agent="support")
        for fields in (
            {"agent": "ventes", "deployment": "web"},
            {"agent": "support", "filter": answer_pb2.SearchFilter(collection="autre")},
        ):
            events, error = await served.ask(QUESTION, **fields)
            assert error is not None
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
            assert not events


async def test_an_answer_is_gone_with_the_commit_that_changes_its_document(handbook: Database) -> None:
    document = await document_of(handbook, "telework.md")
    async with curated(handbook) as served:
        entry = await add(served, documents=[curation_pb2.FaqDocument(document_id=document.document_id)])
        assert [each.title for each in entry.documents] == ["Télétravail"]
        await Writer(handbook).index("telework.md", ["Le télétravail est possible trois jours."], title="Télétravail")
        assert not await answered_directly(served)
        (flagged,) = (await call(served, "ListFaqEntries", state=curation_pb2.FAQ_STATE_FLAGGED)).entries
        assert (flagged.state_reason, flagged.documents[0].changed) == ("DOCUMENT_CHANGED", True)
        confirmed = (await call(
            served, "ConfirmFaqEntry", entry_id=entry.entry_id, corrected_answer="Trois jours.", validated_by="Bea"
        )).entry
        assert (confirmed.state, confirmed.validated_by, confirmed.documents[0].changed) == (
            curation_pb2.FAQ_STATE_ACTIVE, "Bea", False,
        )
        events, _ = await served.ask(QUESTION, agent="support")
        assert events[2].direct_answer.answer == "Trois jours."


async def test_a_document_that_is_indexed_anew_with_the_same_content_keeps_its_answers(handbook: Database) -> None:
    document = await document_of(handbook, "telework.md")
    texts = [TELEWORK, "La demande se fait par écrit, un mois avant."]
    async with curated(handbook) as served:
        await add(served, documents=[curation_pb2.FaqDocument(document_id=document.document_id)])
        await Writer(handbook).index("telework.md", texts, title="Télétravail", configuration_digest="2")
        assert (await document_of(handbook, "telework.md")).current_version != document.current_version
        assert await answered_directly(served)


@pytest.mark.parametrize(("policy", "state"), [
    (curation_pb2.DOCUMENT_CHANGE_FLAG, curation_pb2.FAQ_STATE_FLAGGED),
    (curation_pb2.DOCUMENT_CHANGE_RETIRE, curation_pb2.FAQ_STATE_RETIRED),
])
async def test_the_agent_says_what_becomes_of_an_answer_whose_document_is_deleted(
    handbook: Database, policy: Any, state: Any
) -> None:
    document = await document_of(handbook, "telework.md")
    async with curated(handbook) as served:
        await call(served, "UpdateAgent", name="support", on_document_change=policy)
        entry = await add(served, documents=[curation_pb2.FaqDocument(document_id=document.document_id)])
        async with handbook.transaction(tenant="acme") as connection:
            await documents.delete_document(connection, tenant="acme", document_id=document.document_id)
        assert not await answered_directly(served)
        found = (await call(served, "GetFaqEntry", entry_id=entry.entry_id)).entry
        assert (found.state, found.state_reason) == (state, "DOCUMENT_DELETED")
        if state == curation_pb2.FAQ_STATE_RETIRED:
            code, _ = await refused(served, "ConfirmFaqEntry", entry_id=entry.entry_id, validated_by="Ana")
            assert code is grpc.StatusCode.FAILED_PRECONDITION
            await add(served)
        else:
            await call(served, "ConfirmFaqEntry", entry_id=entry.entry_id, validated_by="Ana")
        assert await answered_directly(served)


async def test_an_approved_answer_rests_on_what_was_read(handbook: Database) -> None:
    async with curated(handbook) as served:
        events, _ = await served.ask(QUESTION, agent="support")
        citation = next(event.citation for event in events if event.HasField("citation"))
        read = curation_pb2.FaqDocument(document_id=citation.document_id, version_id=citation.version_id)
        approved = {
            "agent": "support", "question": QUESTION, "answer": "Deux jours.", "corrected_answer": ANSWER,
            "validated_by": "Ana", "answer_id": events[0].answer_id, "documents": [read],
        }
        await Writer(handbook).index("telework.md", ["Trois jours."], title="Télétravail")
        code, details = await refused(served, "ApproveAnswer", **approved)
        assert code is grpc.StatusCode.FAILED_PRECONDITION
        assert "changed" in details
        await Writer(handbook).index(
            "telework.md", [TELEWORK, "La demande se fait par écrit, un mois avant."], title="Télétravail"
        )
        entry = (await call(served, "ApproveAnswer", **approved)).entry
        assert (entry.origin, entry.answer, entry.answer_id) == (
            curation_pb2.FAQ_ORIGIN_APPROVED, ANSWER, events[0].answer_id,
        )
        assert await answered_directly(served)


async def test_a_question_has_one_answer_until_it_is_retired(handbook: Database) -> None:
    async with curated(handbook) as served:
        entry = await add(served)
        code, details = await refused(
            served, "AddFaqEntry", agent="support", question="combien de jours de TELETRAVAIL par semaine",
            answer="Trois.", validated_by="Bea",
        )
        assert code is grpc.StatusCode.ALREADY_EXISTS
        assert "faq retire" in details
        retired = (await call(served, "RetireFaqEntry", entry_id=entry.entry_id)).entry
        assert (retired.state, retired.state_reason) == (curation_pb2.FAQ_STATE_RETIRED, "BY_HAND")
        assert not await answered_directly(served)
        assert not (await call(served, "ListFaqEntries", agent="support")).entries
        await add(served)
        assert (await call(served, "GetAgent", name="support")).agent.faq_count == 1


async def test_an_agent_has_so_many_entries(handbook: Database) -> None:
    async with curated(handbook, learned_responses_max=2) as served:
        await add(served, "Un ?")
        await add(served, "Deux ?")
        code, details = await refused(
            served, "AddFaqEntry", agent="support", question="Trois ?", answer="b", validated_by="c"
        )
    assert code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "limit" in details


async def test_tenants_do_not_meet(handbook: Database) -> None:
    await Writer(handbook, tenant="globex").index("a.md", ["Le télétravail est interdit."])
    async with curated(handbook) as served:
        entry = await add(served)
        await call(served, "CreateAgent", name="support", metadata=OTHER_TENANT)
        assert not (await call(served, "ListFaqEntries", metadata=OTHER_TENANT)).entries
        request = answer_pb2.AskRequest(question=QUESTION, agent="support")
        events = [response.event async for response in served.answers.Ask(request, timeout=20, metadata=OTHER_TENANT)]
        assert "direct_answer" not in kinds(events)
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await call(served, "RetireFaqEntry", entry_id=entry.entry_id, metadata=OTHER_TENANT)
        assert raised.value.code() is grpc.StatusCode.NOT_FOUND
        document = await document_of(handbook, "telework.md")
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await call(
                served, "AddFaqEntry", agent="support", question="Un ?", answer="b", validated_by="c",
                documents=[curation_pb2.FaqDocument(document_id=document.document_id)], metadata=OTHER_TENANT,
            )
        assert raised.value.code() is grpc.StatusCode.NOT_FOUND


async def test_a_collection_that_an_agent_answers_from_is_not_deleted(handbook: Database) -> None:
    async with curated(handbook) as served:
        async with handbook.transaction(tenant="acme") as connection:
            with pytest.raises(FailedPrecondition, match="support"):
                await collection_deletions.find_collection(connection, tenant="acme", name="default")
        await call(served, "DeleteAgent", name="support")
        async with handbook.transaction(tenant="acme") as connection:
            collection_id = await collection_deletions.find_collection(connection, tenant="acme", name="default")
            assert collection_id is not None
            deleted = await collection_deletions.delete_rest(connection, tenant="acme", collection_id=collection_id)
    assert deleted.document_count > 0


async def test_a_look_up_that_fails_is_told_and_the_documents_answer(handbook: Database) -> None:
    async with curated(handbook) as served:
        await add(served)
        async with handbook.transaction(tenant="acme") as connection:
            await connection.execute("alter table learned_response_vectors rename to hidden")
        events, error = await served.ask(QUESTION, agent="support")
    assert error is None
    (degraded,) = [event.degraded for event in events if event.HasField("degraded")]
    assert degraded.stage == "direct"
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED


async def test_learned_responses_follow_their_collection_into_another_space(handbook: Database) -> None:
    other = EmbeddingSpace(**{name: getattr(SPACE, name) for name in SPACE.__slots__} | {"space_id": "other-space"})
    scenario = Scenario()
    async with curated(handbook, scenario) as served:
        await add(served)
        worker = LearnedVectors(handbook, served.peers.embed, interval_seconds=60)
        await built(handbook, other)
        assert await worker.make() == 0  # nobody serves that space yet
        async with handbook.transaction(tenant="acme") as connection:
            with pytest.raises(FailedPrecondition, match="1 FAQ entries of the collection 'default' lack"):
                await space_builds.switch(connection, tenant="acme", collection="default")
        async with handbook.transaction(tenant="acme") as connection:
            await space_builds.switch(connection, tenant="acme", collection="default", force=True)
        scenario.space_id = other.space_id
        await served.peers.embed.served(tenant="acme", deadline=Deadline.after(5))
        events, error = await served.ask(QUESTION, agent="support")
        assert error is None
        assert [event.degraded.stage for event in events if event.HasField("degraded")] == ["direct"]
        assert await worker.make() == 1
        assert await worker.make() == 0
        assert await answered_directly(served)
        async with handbook.transaction(tenant="acme") as connection:
            await space_builds.drop(connection, tenant="acme", collection="default")
        assert await Writer(handbook).count("learned_response_vectors") == 1
        assert await answered_directly(served)


async def add_without_vectors(served: Gateway, database: Database) -> None:
    """Add three questions, and take their vectors away."""
    for number in range(3):
        await add(served, f"Question {number} ?")
    await lack_vectors(database)


async def lack_vectors(database: Database) -> None:
    """Take all learned responses' vectors away."""
    async with database.transaction(tenant="acme") as connection:
        await connection.execute("delete from learned_response_vectors")


async def test_a_response_that_cannot_be_embedded_holds_up_no_other_and_is_told_of_once(
    handbook: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(learned_vectors, "BATCH", 1)
    scenario = Scenario()
    async with curated(handbook, scenario) as served:
        await add_without_vectors(served, handbook)
        scenario.embed_errors = {"Question 0 ?": InvalidArgument("too many tokens")}
        worker = LearnedVectors(handbook, served.peers.embed, interval_seconds=60)
        assert [await worker.make() for _ in range(4)] == [0, 1, 1, 0]
        scenario.embedded.clear()
        assert [await worker.make() for _ in range(3)] == [0, 0, 0]
        assert scenario.embedded == []
    assert caplog.text.count("a learned response cannot be embedded") == 1


async def test_what_was_made_before_a_failure_is_kept_and_what_is_behind_it_comes_next(handbook: Database) -> None:
    scenario = Scenario()
    async with curated(handbook, scenario) as served:
        await add_without_vectors(served, handbook)
        scenario.embed_errors = {"Question 1 ?": ServiceError("out of order")}
        worker = LearnedVectors(handbook, served.peers.embed, interval_seconds=60)
        assert [await worker.make() for _ in range(3)] == [1, 1, 0]
        scenario.embed_errors = {}
        # The look before ended at the one that failed: the next one finds the end, and the one after begins anew.
        assert [await worker.make() for _ in range(3)] == [0, 1, 0]


class TwoSpaces:
    """Embed services of two spaces, one of which fails."""

    async def served(self, **options: Any) -> list[ServedSpace]:
        """Name both, the one that fails first."""
        return [ServedSpace(space_id, "m", "1", SPACE.dimension, "e") for space_id in (SPACE.space_id, "other-space")]

    async def embed_query(self, text: str, *, space_id: str, **options: Any) -> QueryEmbedding:
        """Embed in the other space alone."""
        if space_id == SPACE.space_id:
            raise ResourceExhausted("the queue is full")
        return QueryEmbedding(space_id, np.ones(SPACE.dimension, np.float32), b"", ())


async def test_a_space_that_fails_holds_up_no_other(handbook: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(learned_vectors, "BATCH", 2)
    other = EmbeddingSpace(**{name: getattr(SPACE, name) for name in SPACE.__slots__} | {"space_id": "other-space"})
    async with curated(handbook) as served:
        for number in range(3):
            await add(served, f"Question {number} ?")
        await built(handbook, other)
        await lack_vectors(handbook)
    worker = LearnedVectors(handbook, TwoSpaces(), interval_seconds=60)  # type: ignore[arg-type]
    assert [await worker.make() for _ in range(3)] == [2, 1, 0]
    async with handbook.transaction(tenant="acme") as connection:
        cursor = await connection.execute("select distinct space_id from learned_response_vectors")
        assert await cursor.fetchall() == [("other-space",)]


async def built(database: Database, space: EmbeddingSpace) -> None:
    """Build the default collection's vectors in another space, copied as they are."""
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        target = await spaces.ensure_space(connection, space)
    async with database.transaction(tenant="acme") as connection:
        await space_builds.begin(connection, tenant="acme", collection="default", space_id=space.space_id)
        source = await spaces.get_space(connection, SPACE.space_id)
        await connection.execute(
            f'insert into "{target.vectors_table}" select * from "{source.vectors_table}"'.encode()
        )
        await connection.execute("update space_builds set state = 'ready'")


async def test_the_worker_waits_an_outage_out_and_stops(handbook: Database) -> None:
    scenario = Scenario(embed_error=Unavailable())
    async with gateway(handbook, scenario) as served:
        worker, stopping = LearnedVectors(handbook, served.peers.embed, interval_seconds=0.01), asyncio.Event()
        async with asyncio.timeout(10), asyncio.TaskGroup() as group:
            group.create_task(worker.run(stopping))
            await served.peers.embed.served(tenant="acme", deadline=Deadline.after(5))
            stopping.set()
            assert await worker.make() == 0
