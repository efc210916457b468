"""Questions on several documents or things, over real gRPC and PostgreSQL: answered and cited part by part."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from sourcier.gateway.v1 import answer_pb2
from sourcier.results import Answer, gather_answer
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.answering.by_parts import answering
from tests.integration.gateway.fix_gateway import Scenario, gateway
from tests.integration.index.writer import Writer

TIMEOUT_SECONDS = 600
"""So that the language model has time for each part on the busiest machine."""


@pytest.fixture
async def riders(database: Database) -> Database:
    """Return the database with two riders to an agreement, and two notices of a town."""
    writer = Writer(database)
    for number, day, amount, who in (
        (58, "12 mars 2024", "6,20 €", "Mme Claire Vidal"), (59, "3 juin 2025", "6,80 €", "M. Paul Rey"),
    ):
        await writer.index(f"avenant-{number}.md", [
            f"Le montant de la prime de panier est fixé à {amount} par jour.",
            f"Fait à Tours, le {day}. Signé par {who}, secrétaire générale.",
        ], title=f"Avenant n° {number} du {day}")
    await writer.index("mairie.md", ["La mairie est ouverte de 9 h à 17 h."], title="Mairie")
    await writer.index("piscine.md", ["La piscine est ouverte de 10 h à 20 h."], title="Piscine")
    return database


async def ask(
    database: Database, question: str, **settings: Any
) -> tuple[Answer, list[answer_pb2.AskEvent], Scenario]:
    scenario = Scenario(deltas=("Rien de cela [1].",))
    async with gateway(database, scenario, refusal_threshold=-1, **settings) as served:
        events, error = await served.ask(question, timeout=TIMEOUT_SECONDS)
    assert error is None

    async def given() -> AsyncIterator[answer_pb2.AskEvent]:
        for event in events:
            yield event

    return await gather_answer(given()), events, scenario


async def test_the_difference_of_two_documents_is_told_part_by_part(riders: Database) -> None:
    answer, events, scenario = await ask(
        riders, "Quelle est la différence entre l'avenant 58 et le 59 sur le montant de la prime de panier ?"
    )
    assert [(part.label, part.found) for part in answer.parts] == [("avenant 58", True), ("avenant 59", True)]
    first, second = answer.parts
    assert "6,20 €" in first.text and "6,80 €" not in first.text  # noqa: PT018
    assert "6,80 €" in second.text
    assert answer.text.count("0,60\u00a0€") == 1
    for part in answer.parts:
        [marker] = part.markers
        assert answer.sources[marker - 1].document_id in part.document_ids
    assert scenario.generations == []
    assert answer.outcome == "answered"
    kinds = [event.WhichOneof("event") for event in events]
    assert kinds.count("searching") == 3
    assert kinds.count("part_answered") == 2
    for citation in answer.citations:
        said = answer.text[citation.sentence_start : citation.sentence_end]
        assert said.endswith(f"[{citation.marker}]")


async def test_documents_that_are_compared_as_a_whole_are_searched_once_each(riders: Database) -> None:
    answer, _, scenario = await ask(riders, "Quelles sont les différences entre l'avenant 58 et l'avenant 59 ?")
    assert [part.found for part in answer.parts] == [True, True]
    assert scenario.embedded == [part.question for part in answer.parts]


async def test_what_is_not_there_is_told_of_its_part(riders: Database) -> None:
    answer, _, _ = await ask(
        riders, "Quel est le montant de la prime de panier dans l'avenant 59 et dans l'avenant 60 ?"
    )
    assert [(part.label, part.found) for part in answer.parts] == [("avenant 59", True), ("avenant 60", False)]
    assert "Pour avenant 60 : je n'ai trouvé aucun document de ce nom." in answer.text


async def test_two_things_are_searched_one_by_one(riders: Database) -> None:
    answer, _, scenario = await ask(riders, "Quels sont les horaires de la mairie et de la piscine ?")
    assert [part.label for part in answer.parts] == ["la mairie", "la piscine"]
    assert "9 h à 17 h" in answer.parts[0].text
    assert "10 h à 20 h" in answer.parts[1].text
    assert scenario.generations == []


async def test_all_documents_of_a_kind_are_asked(riders: Database) -> None:
    answer, _, _ = await ask(riders, "Qui a signé les avenants ?")
    assert len(answer.parts) == 2
    assert "Vidal" in answer.parts[0].text
    assert "Rey" in answer.parts[1].text


async def test_switched_off_it_is_one_question(riders: Database) -> None:
    answer, _, scenario = await ask(
        riders, "Quels sont les horaires de la mairie et de la piscine ?", answer_in_parts=False
    )
    assert answer.parts == ()
    assert len(scenario.generations) == 1


async def test_without_the_model_a_part_that_no_rule_answers_is_told_apart(riders: Database) -> None:
    answer, _, _ = await ask(
        riders, "Quels sont les horaires de la mairie et de la bibliothèque ?", down=("generate",)
    )
    assert [part.found for part in answer.parts] == [True, False]
    assert [each.stage for each in answer.degradations] == ["parts"]


async def test_what_the_model_says_of_another_thing_is_not_shown(riders: Database) -> None:
    scenario = Scenario(deltas=("La mairie est ouverte de 9 h à 17 h [1].",))
    async with gateway(riders, scenario, refusal_threshold=-1) as served:
        events, error = await served.ask(
            "Quels sont les horaires de la mairie et du stade ?", timeout=TIMEOUT_SECONDS
        )
    assert error is None
    assert [event.part_answered.found for event in events if event.HasField("part_answered")] == [True, False]
    assert len(scenario.generations) == 1


async def test_without_time_for_the_model_rules_alone_answer(
    riders: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answering, "PART_SECONDS_MIN", 2 * TIMEOUT_SECONDS)
    scenario = Scenario(deltas=("La mairie est ouverte de 9 h à 17 h [1].",))
    async with gateway(riders, scenario, refusal_threshold=-1) as served:
        events, error = await served.ask("Quels sont les horaires de la mairie et du stade ?", timeout=TIMEOUT_SECONDS)
    assert error is None
    assert [event.degraded.stage for event in events if event.HasField("degraded")] == ["parts"]
    assert scenario.generations == []


async def test_a_plain_question_has_no_parts(riders: Database) -> None:
    answer, events, _ = await ask(riders, "Quels sont les horaires de la mairie ?")
    assert answer.parts == ()
    assert all(event.WhichOneof("event") != "decomposed" for event in events)




async def test_the_index_tells_which_documents_speak_of_something_and_what_one_says(riders: Database) -> None:
    answer, _, scenario = await ask(riders, "Quels documents parlent de la prime de panier ?")
    assert answer.outcome == "collection"
    assert answer.text.startswith("La collection « default » contient 2 documents")
    assert "Mairie" not in answer.text
    answer, _, _ = await ask(riders, "Résume la piscine")
    assert answer.outcome == "collection"
    assert "« La piscine est ouverte de 10 h à 20 h. »" in answer.text
    assert scenario.generations == []


async def test_where_no_part_is_found_the_answer_is_a_refusal(riders: Database) -> None:
    answer, events, _ = await ask(riders, "Que dit la note 4 et que dit la note 5 sur la crue ?")
    assert answer.parts == ()  # no document of these names: one question
    answer, events, _ = await ask(
        riders, "Quels sont les horaires de la patinoire et du zoo ?", down=("generate",)
    )
    assert [part.found for part in answer.parts] == [False, False]
    assert (answer.outcome, answer.reason) == ("refused", "NOTHING_FOUND")
    assert [event.WhichOneof("event") for event in events][-2:] == ["refused", "finished"]
