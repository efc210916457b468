"""Validated answers to close questions as sources of the language model (Q5), over real gRPC and PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest

from sourcier.gateway.v1 import answer_pb2, conversation_pb2, curation_pb2
from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.telemetry import degradations_total
from tests.integration.gateway.answering.test_tool_mode import plays, search
from tests.integration.gateway.api.test_curation_service import add, call, curated, document_of, kinds, refused
from tests.integration.gateway.conftest import TELEWORK
from tests.integration.gateway.fix_gateway import TENANT, Gateway, Scenario, gateway
from tests.integration.index.writer import Writer

QUESTION = "Combien de jours de repos compensateur pour les astreintes ?"
ANSWER = "Les astreintes donnent trois jours de repos compensateur."
# Another number: never answered directly, however close.
ASKED = "Combien de jours de repos compensateur pour les 12 astreintes ?"
SAID = "Les astreintes donnent trois jours de repos compensateur [1]."


def scenario(said: str = SAID, **fields: Any) -> Scenario:
    return Scenario(deltas=(said,), embed_as={ASKED: QUESTION}, **fields)


async def asked(served: Gateway, question: str = ASKED, **fields: Any) -> list[answer_pb2.AskEvent]:
    events, error = await served.ask(question, **{"agent": "support"} | fields)
    assert error is None
    assert "direct_answer" not in kinds(events)
    return events


def given(events: list[answer_pb2.AskEvent]) -> list[answer_pb2.Passage]:
    return [passage for event in events for passage in event.reranked.passages]


def entries(events: list[answer_pb2.AskEvent]) -> list[str]:
    return [passage.faq_entry_id for passage in given(events) if passage.kind == answer_pb2.PASSAGE_KIND_FAQ]


async def test_an_entry_that_is_close_is_read_and_cited_by_its_place(handbook: Database) -> None:
    document = await document_of(handbook, "telework.md")
    async with curated(handbook, scenario()) as served:
        entry = await add(
            served, QUESTION, answer=ANSWER, heading_path=["Temps de travail"],
            documents=[curation_pb2.FaqDocument(document_id=document.document_id)],
        )
        events = await asked(served)
    first = given(events)[0]
    assert (first.faq_entry_id, first.chunk_id, first.document_id) == (entry.entry_id, "", "")
    assert (first.kind, first.category, first.title) == (answer_pb2.PASSAGE_KIND_FAQ, "FAQ", "FAQ validée")
    assert (first.matched_question, first.matched_answer) == (QUESTION, ANSWER)
    assert first.match_similarity == pytest.approx(1, abs=1e-3)
    assert first.rerank_score == max(passage.rerank_score for passage in given(events))
    assert len(given(events)) == 4, "it takes no passage's place"
    prompt = served.scenario.generations[0].messages[-1].content
    assert "[Source 1] [FAQ] - FAQ validée > Temps de travail\n<<<" in prompt
    assert f"> {QUESTION}\n> {ANSWER}\n" in prompt
    (citation,) = [event.citation for event in events if event.HasField("citation")]
    assert (citation.faq_entry_id, citation.support) == (entry.entry_id, answer_pb2.SUPPORT_SAME_WORDING)
    assert (citation.document_id, citation.chunk_id, citation.source) == ("", "", f"faq:{entry.entry_id}")
    assert [(each.document_id, each.version_id, each.title) for each in citation.documents] == [
        (document.document_id, document.current_version, "Télétravail")]
    said = first.text[citation.passage_start : citation.passage_end]
    assert "trois jours de repos compensateur" in said


async def test_an_entry_whose_document_changed_or_that_was_retired_is_no_source(handbook: Database) -> None:
    document = await document_of(handbook, "telework.md")
    async with curated(handbook, scenario()) as served:
        entry = await add(
            served, QUESTION, answer=ANSWER, documents=[curation_pb2.FaqDocument(document_id=document.document_id)]
        )
        assert entries(await asked(served)) == [entry.entry_id]
        await Writer(handbook).index("telework.md", ["Le télétravail est possible trois jours."], title="Télétravail")
        assert entries(await asked(served)) == []
        await call(served, "ConfirmFaqEntry", entry_id=entry.entry_id, validated_by="Bea")
        assert entries(await asked(served)) == [entry.entry_id]
        await call(served, "RetireFaqEntry", entry_id=entry.entry_id)
        assert entries(await asked(served)) == []


async def test_who_declines_direct_answers_gets_the_entry_as_a_source(handbook: Database) -> None:
    async with curated(handbook, scenario()) as served:
        entry = await add(served, QUESTION, answer=ANSWER)
        assert entries(await asked(served, QUESTION, direct_answers=False)) == [entry.entry_id]


@pytest.mark.parametrize("fields", [
    {"filter": answer_pb2.SearchFilter(categories=["finance"])},
    {"filter": answer_pb2.SearchFilter(kinds=[answer_pb2.PASSAGE_KIND_TEXT])},
    {"agent": ""},
])
async def test_who_asks_for_certain_documents_gets_those_alone(handbook: Database, fields: dict[str, Any]) -> None:
    async with curated(handbook, scenario()) as served:
        await add(served, QUESTION, answer=ANSWER)
        assert entries(await asked(served, **fields)) == []


async def test_settings_say_how_many_and_how_close(handbook: Database) -> None:
    async with curated(handbook, scenario(), faq_sources=0) as served:
        await add(served, QUESTION, answer=ANSWER)
        assert entries(await asked(served)) == []
    async with gateway(handbook, Scenario(deltas=(SAID,)), faq_source_similarity=0.999) as served:
        assert entries(await asked(served)) == []


async def test_entries_that_cannot_be_embedded_are_told_and_the_documents_answer(handbook: Database) -> None:
    before = degradations_total.labels("faq", "UNAVAILABLE")._value.get()
    said = "Le télétravail est possible deux jours par semaine [1]."
    broken = scenario(said, embed_passages_error=Unavailable("gone"))
    async with curated(handbook, broken, refusal_threshold=0) as served:
        await add(served, QUESTION, answer=ANSWER)
        events = await asked(served)
    assert [event.degraded.stage for event in events if event.HasField("degraded")] == ["faq"]
    assert entries(events) == []
    # No document tells it: what is closest is quoted.
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_QUOTED
    assert degradations_total.labels("faq", "UNAVAILABLE")._value.get() == before + 1


async def test_a_long_answer_is_read_as_far_as_a_chunk_goes(handbook: Database) -> None:
    async with curated(handbook, scenario()) as served:
        await add(served, QUESTION, answer=f"{ANSWER} " + "Le détail suit. " * 400)
        passage = given(await asked(served))[0]
    assert passage.kind == answer_pb2.PASSAGE_KIND_FAQ
    assert 1_900 < len(passage.text) <= 2_000


async def test_neighbours_and_duplicates_leave_entries_alone(handbook: Database) -> None:
    async with curated(handbook, scenario()) as served:
        entry = await add(served, QUESTION, answer=TELEWORK)
        events = await asked(served, neighbours=1, suppress_duplicates=True)
    assert entries(events) == [entry.entry_id]
    assert not [event.degraded for event in events if event.HasField("degraded")]


async def test_the_tool_returns_the_entry_once(handbook: Database) -> None:
    model = plays((search("jours de repos"), search("astreintes", "call00002")), (SAID,))
    async with curated(handbook, Scenario(script=model, embed_as={ASKED: QUESTION}), refusal_threshold=0) as served:
        entry = await add(served, QUESTION, answer=ANSWER)
        events = await asked(served, mode=answer_pb2.ANSWER_MODE_TOOLS)
        tools = [each.content for each in served.scenario.generations[-1].messages if each.role == pb.ROLE_TOOL]
    assert "[FAQ] - FAQ validée" in tools[0]
    assert "[FAQ]" not in tools[1]
    (citation,) = [event.citation for event in events if event.HasField("citation")]
    assert citation.faq_entry_id == entry.entry_id


async def conversation(served: Gateway) -> str:
    made = await served.conversations.CreateConversation(
        conversation_pb2.CreateConversationRequest(), timeout=10, metadata=TENANT
    )
    return str(made.conversation.conversation_id)


async def message_of(served: Gateway, conversation_id: str, question: str, **fields: Any) -> str:
    events, error = await served.ask(question, agent="support", conversation_id=conversation_id, **fields)
    assert error is None
    return events[-1].finished.message_id


async def test_an_answer_of_a_conversation_is_approved_by_its_message(handbook: Database) -> None:
    question = "Combien de jours de télétravail par semaine ?"
    async with curated(handbook) as served:
        message_id = await message_of(served, await conversation(served), question)
        entry = (await call(
            served, "ApproveAnswer", agent="support", message_id=message_id, validated_by="Ana"
        )).entry
        document = await document_of(handbook, "telework.md")
        assert (entry.question, entry.answer) == (question, "Le télétravail est possible deux jours par semaine.")
        assert (entry.origin, bool(entry.answer_id)) == (curation_pb2.FAQ_ORIGIN_APPROVED, True)
        assert [(each.document_id, each.version_id) for each in entry.documents] == [
            (document.document_id, document.current_version)]
        # The FAQ's own answer is no new one.
        direct = await message_of(served, await conversation(served), question)
        code, details = await refused(served, "ApproveAnswer", agent="support", message_id=direct, validated_by="Ana")
        assert (code.name, entry.entry_id in details) == ("FAILED_PRECONDITION", True)


async def test_an_answer_that_rests_on_an_entry_is_bound_to_the_documents_of_that(handbook: Database) -> None:
    document = await document_of(handbook, "expenses.md")
    async with curated(handbook, scenario()) as served:
        await add(served, QUESTION, answer=ANSWER,
                  documents=[curation_pb2.FaqDocument(document_id=document.document_id)])
        kept = await conversation(served)
        message_id = await message_of(served, kept, ASKED)
        listed = await served.conversations.ListMessages(
            conversation_pb2.ListMessagesRequest(conversation_id=kept), timeout=10, metadata=TENANT
        )
        (source,) = listed.messages[1].sources
        assert [each.document_id for each in source.documents] == [document.document_id]
        entry = (await call(served, "ApproveAnswer", agent="support", message_id=message_id, validated_by="Ana",
                            question="Et pour 12 astreintes ?", corrected_answer="Trois jours.")).entry
    assert (entry.question, entry.answer) == ("Et pour 12 astreintes ?", "Trois jours.")
    assert [each.document_id for each in entry.documents] == [document.document_id]


async def test_what_was_read_and_changed_since_is_not_approved(handbook: Database) -> None:
    async with curated(handbook) as served:
        message_id = await message_of(
            served, await conversation(served), "Combien de jours de télétravail par semaine ?"
        )
        await Writer(handbook).index("telework.md", ["Trois jours."], title="Télétravail")
        code, details = await refused(
            served, "ApproveAnswer", agent="support", message_id=message_id, validated_by="Ana"
        )
    assert (code.name, "changed" in details) == ("FAILED_PRECONDITION", True)


@pytest.mark.parametrize(("asked_for", "fields", "code", "words"), [
    ("Bonjour !", {}, "FAILED_PRECONDITION", "answers nothing (small talk)"),
    ("Combien ça coûte ?", {"answer": "Rien."}, "INVALID_ARGUMENT", "answer is given beside message_id"),
    ("Combien ça coûte ?", {"message_id": "0199aaaa-0000-7000-8000-000000000000"}, "NOT_FOUND", "0199aaaa"),
])
async def test_a_message_that_cannot_be_approved_says_why(
    handbook: Database, asked_for: str, fields: dict[str, Any], code: str, words: str
) -> None:
    async with curated(handbook) as served:
        message_id = await message_of(served, await conversation(served), asked_for)
        found, details = await refused(served, "ApproveAnswer", **{
            "agent": "support", "message_id": message_id, "validated_by": "Ana"
        } | fields)
    assert (found.name, words in details) == (code, True)


async def test_a_question_is_no_answer_and_another_tenant_sees_neither(handbook: Database) -> None:
    async with curated(handbook) as served:
        kept = await conversation(served)
        message_id = await message_of(served, kept, "Combien de jours de télétravail par semaine ?")
        listed = await served.conversations.ListMessages(
            conversation_pb2.ListMessagesRequest(conversation_id=kept), timeout=10, metadata=TENANT
        )
        code, details = await refused(served, "ApproveAnswer", agent="support", validated_by="Ana",
                                      message_id=listed.messages[0].message_id)
        assert (code.name, "is a question" in details) == ("FAILED_PRECONDITION", True)
        other = (("sourcier-tenant", "globex"),)
        await Writer(handbook, tenant="globex").index("a.md", ["Rien."])
        await call(served, "CreateAgent", name="support", metadata=other)
        code, _ = await refused(served, "ApproveAnswer", agent="support", validated_by="Ana", message_id=message_id,
                                metadata=other)
        assert code.name == "NOT_FOUND"
