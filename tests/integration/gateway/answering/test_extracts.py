"""The sentence that answers best, over real gRPC and PostgreSQL: there before the model writes, or in its place."""

from __future__ import annotations

import pytest

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.stack.processes import ports
from tests.integration.gateway.fix_gateway import Scenario, gateway
from tests.integration.index.writer import Writer

SAYS = "Le montant des tickets restaurant est fixé à 9,80 € par jour travaillé."
QUESTION = "Quel est le montant des tickets restaurant ?"
SURE = "Quel est le montant des tickets restaurant par jour travaillé ?"


@pytest.fixture
async def note(database: Database) -> Database:
    """Return the database with one note."""
    text = f"Bonjour à tous.\n{SAYS}\nLe parking est fermé."
    await Writer(database).index("note.md", [text], title="Note de service")
    return database


def kinds(events: list[answer_pb2.AskEvent]) -> list[str]:
    return [event.WhichOneof("event") or "" for event in events]


async def test_it_comes_before_the_models_words_or_in_their_place_and_is_read_again(note: Database) -> None:
    scenario = Scenario(deltas=("Ils sont de 9,80 € par jour travaillé [1].",))
    # Without a broker the gateway that made an answer keeps it for a while.
    url = f"nats://127.0.0.1:{ports.free_ports(1)[0]}"
    async with gateway(note, scenario, refusal_threshold=-1, nats_url=url) as served:
        events, error = await served.ask(QUESTION)
        assert error is None
        again, error = await served.resume(events[0].answer_id)
        assert error is None
        spared, error = await served.ask(SURE, extract_answers=True)
        assert error is None
    [extract] = [event.extract for event in events if event.HasField("extract")]
    assert extract.text == SAYS
    assert extract.text[extract.answer_start : extract.answer_end] == "9,80 €"
    assert (extract.kind, extract.is_answer) == ("amount", False)
    passage = next(event.reranked.passages for event in events if event.HasField("reranked"))[0]
    assert passage.text[extract.citation.passage_start : extract.citation.passage_end] == SAYS
    assert extract.citation.marker == 1
    assert kinds(events).index("reranked") < kinds(events).index("extract") < kinds(events).index("token")
    assert again == events
    assert len(scenario.generations) == 1
    said = "".join(event.token.text for event in spared)
    assert (said, spared[-1].finished.outcome) == (f"{SAYS} [1]", answer_pb2.ANSWER_OUTCOME_ANSWERED)
    assert "extract" in kinds(spared)


async def test_switched_off_there_is_none(note: Database) -> None:
    async with gateway(note, Scenario(deltas=("9,80 € [1].",)), refusal_threshold=-1, extracts=False) as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    assert "extract" not in kinds(events)
