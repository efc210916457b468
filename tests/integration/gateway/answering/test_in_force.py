"""Documents that disagree, over real gRPC and PostgreSQL: the one that holds answers, and the other is told."""

from __future__ import annotations

from typing import Any

import pytest

from sourcier.gateway.v1 import answer_pb2, knowledge_pb2
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.times import relations
from tests.integration.gateway.fix_gateway import TENANT, Scenario, gateway
from tests.integration.index.writer import Writer

OLDER = "Le montant des tickets restaurant est fixé à 8,50 € par jour travaillé."
NEWER = "À compter du 1er avril 2026, le montant des tickets restaurant est porté à 9,80 € par jour travaillé."
QUESTION = "Quel est le montant des tickets restaurant ?"


@pytest.fixture
async def notes(database: Database) -> Database:
    """Return the database with two notes, the later one beginning elsewhere than where it answers."""
    writer = Writer(database)
    await writer.index("note-2024-01.md", [OLDER], title="Note de service du 3 janvier 2024")
    await writer.index(
        "b.md", ["Fait à Lyon, le 12 mars 2026. Annule et remplace la note de service du 3 janvier 2024.", NEWER],
        title="Note de service",
    )
    return database


def conflicts(events: list[answer_pb2.AskEvent]) -> list[answer_pb2.Conflict]:
    return [event.conflict for event in events if event.HasField("conflict")]


async def ask(notes: Database, question: str, said: str, **settings: Any) -> tuple[
    list[answer_pb2.AskEvent], Scenario
]:
    scenario = Scenario(deltas=(said,))
    async with gateway(notes, scenario, refusal_threshold=-1, **settings) as served:
        events, error = await served.ask(question)
    assert error is None
    return events, scenario


async def test_the_later_note_answers_and_the_earlier_is_told(notes: Database) -> None:
    events, scenario = await ask(notes, QUESTION, "Le montant des tickets restaurant est de 9,80 € [1].")
    [conflict] = conflicts(events)
    assert (conflict.reason, conflict.other.quote, conflict.holds.quote) == ("replaced", OLDER, NEWER)
    assert conflict.other.date_start == conflict.other.date_end == "2024-01-03"
    assert conflict.holds.date_start == "2026-03-12"
    assert "remplace Note de service du 3 janvier 2024" in conflict.message
    [request] = scenario.generations
    prompt = request.messages[-1].content
    assert "9,80" in prompt
    assert "8,50" not in prompt
    passages = next(event.reranked.passages for event in events if event.HasField("reranked"))
    assert passages[conflict.other.marker - 1].text == OLDER
    [citation] = [event.citation for event in events if event.HasField("citation")]
    assert passages[citation.marker - 1].text == NEWER


async def test_a_time_gone_by_is_answered_by_what_held_then(notes: Database) -> None:
    events, scenario = await ask(
        notes, "Quel était le montant des tickets restaurant en 2025 ?",
        "Le montant des tickets restaurant était de 8,50 € [1].",
    )
    [conflict] = conflicts(events)
    assert (conflict.reason, conflict.other.quote) == ("not_yet", NEWER)
    [request] = scenario.generations
    prompt = request.messages[-1].content
    assert "9,80" not in prompt


async def test_switched_off_all_passages_are_read(notes: Database) -> None:
    events, scenario = await ask(
        notes, QUESTION, "Le montant des tickets restaurant est de 9,80 € [1].", prefer_in_force=False
    )
    assert conflicts(events) == []
    [request] = scenario.generations
    assert "8,50" in request.messages[-1].content


async def test_a_question_about_the_collection_is_answered_from_its_list(notes: Database) -> None:
    events, scenario = await ask(notes, "Combien de notes de service ?", "Il y en a trois [1].")
    said = "".join(event.token.text for event in events)
    assert said.startswith("La collection « default » contient 2 documents")
    assert "- Note de service du 3 janvier 2024" in said
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_COLLECTION
    assert scenario.generations == []


async def test_a_citation_tells_its_documents_date_and_that_it_is_replaced(notes: Database) -> None:
    await _keep_up(notes)
    events, _ = await ask(
        notes, "Quel était le montant des tickets restaurant en 2025 ?",
        "Le montant des tickets restaurant était de 8,50 € [1].",
    )
    [citation] = [event.citation for event in events if event.HasField("citation")]
    assert (citation.date_start, citation.date_end, citation.superseded_by_title) == (
        "2024-01-03", "2024-01-03", "Note de service",
    )


@pytest.mark.parametrize("stored", [True, False])
async def test_what_nobody_read_yet_is_read_at_the_question(notes: Database, stored: bool) -> None:
    if not stored:
        async with notes.transaction(tenant="acme") as connection:
            await connection.execute("delete from document_times")
            await connection.execute("update documents set times_rules = 0, dated_from = null, dated_to = null")
    events, _ = await ask(notes, QUESTION, "Le montant des tickets restaurant est de 9,80 € [1].")
    assert [conflict.reason for conflict in conflicts(events)] == ["replaced"]


async def test_what_people_say_decides(database: Database) -> None:
    """Two memos without dates: nothing tells which holds, until somebody does."""
    writer = Writer(database)
    first = await writer.index("a.md", [OLDER], title="Mémo interne")
    second = await writer.index("b.md", [NEWER.removeprefix("À compter du 1er avril 2026, ")], title="Autre mémo")
    said = "Le montant des tickets restaurant est de 9,80 € [1]."
    told = [conflict.reason for conflict in conflicts((await ask(database, QUESTION, said))[0])]
    assert told == [""]
    async with gateway(database, Scenario()) as served:
        await served.knowledge.SupersedeDocument(knowledge_pb2.SupersedeDocumentRequest(
            document_id=first.document_id, superseded_id=second.document_id,
        ), metadata=TENANT, timeout=30)
    events, scenario = await ask(database, QUESTION, "Le montant des tickets restaurant est de 8,50 € [1].")
    assert [conflict.reason for conflict in conflicts(events)] == ["replaced"]
    assert "9,80" not in scenario.generations[0].messages[-1].content


async def test_a_date_that_somebody_sets_decides(database: Database) -> None:
    writer = Writer(database)
    first = await writer.index("a.md", [OLDER], title="Mémo interne")
    second = await writer.index("b.md", [OLDER.replace("8,50", "9,80")], title="Autre mémo")
    async with gateway(database, Scenario()) as served:
        for version, day in ((first, "2026-02-01"), (second, "2025-01")):
            response = await served.knowledge.SetDocumentDate(knowledge_pb2.SetDocumentDateRequest(
                document_id=version.document_id, kind="effect", date=day,
            ), metadata=TENANT, timeout=30)
        [date] = response.document.dates
        assert (date.kind, date.start, date.end, date.origin) == ("effect", "2025-01-01", "2025-01-31", "user")
    events, scenario = await ask(database, QUESTION, "Le montant des tickets restaurant est de 8,50 € [1].")
    assert [conflict.reason for conflict in conflicts(events)] == ["later"]
    assert "9,80" not in scenario.generations[0].messages[-1].content


async def _keep_up(database: Database) -> None:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await relations.find_more(connection, limit=100) == 2
