"""Questions that ask for a computation, over real gRPC and PostgreSQL: computed with their sources, or quoted."""

from __future__ import annotations

from typing import Any

import pytest

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.fix_gateway import Scenario, gateway
from tests.integration.index.writer import Writer

LYON = "| Agence | 2023 | 2024 |\n|---|---|---|\n| Lyon | 41 000 € | 58 000 € |\n| Nantes | 36 500 € | 41 000 € |"
HEAD = "| Association | Subvention |\n|---|---|\n"
FIRST = HEAD + "| Judo | 1 200 € |\n| Chorale | 800 € |"
SECOND = HEAD + "| Lecture | 450 € |\n| Échecs | 300 € |"


@pytest.fixture
async def tables(database: Database) -> Database:
    """Return the database with one table in one chunk, and one over two."""
    writer = Writer(database)
    await writer.index("agences.md", [LYON], title="Budget des agences")
    await writer.index("subventions.md", [FIRST, SECOND], title="Subventions")
    return database


async def ask(tables: Database, question: str) -> tuple[list[answer_pb2.AskEvent], Scenario]:
    # A model that would say a figure of the table, and of another row.
    scenario = Scenario(deltas=("La différence est de 41 000 € [1].",))
    settings: dict[str, Any] = {"refusal_threshold": -1}
    async with gateway(tables, scenario, **settings) as served:
        events, error = await served.ask(question)
    assert error is None
    return events, scenario


def said(events: list[answer_pb2.AskEvent]) -> str:
    return "".join(event.token.text for event in events)


async def test_a_difference_is_computed_and_each_operand_cited_by_its_row(tables: Database) -> None:
    events, scenario = await ask(
        tables, "Quelle est la différence entre le budget de Lyon et celui de Nantes en 2024 ?"
    )
    text = said(events)
    assert "58 000 € − 41 000 € = 17 000 €" in text.replace("\u202f", " ").replace("\u00a0", " ")
    assert scenario.generations == []
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    citations = [event.citation for event in events if event.HasField("citation")]
    assert {citation.document_id for citation in citations} == {citations[0].document_id}
    quoted = [LYON[each.passage_start : each.passage_end] for each in citations[1:]]
    assert quoted == ["| Lyon | 41 000 € | 58 000 € |", "| Nantes | 36 500 € | 41 000 € |"]


async def test_a_table_that_goes_on_elsewhere_is_not_summed_up(tables: Database) -> None:
    events, _ = await ask(tables, "Quel est le total des subventions ?")
    [quoted] = [event.quoted for event in events if event.HasField("quoted")]
    assert "n'est pas complet" in quoted.text
    assert "2 000" not in quoted.text
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_QUOTED


async def test_what_the_calendar_alone_tells_needs_no_document(tables: Database) -> None:
    events, scenario = await ask(tables, "Quelle date tombe deux mois après le 14 mars 2024 ?")
    assert "14 mai 2024" in said(events)
    assert scenario.generations == []


async def test_a_plain_question_is_left_to_the_model(tables: Database) -> None:
    _, scenario = await ask(tables, "Quel est le budget de Nantes en 2024 ?")
    assert len(scenario.generations) == 1
