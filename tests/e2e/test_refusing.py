"""Refusals with the real embedding model over the demo's handbook: what it answers goes to the language model."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from sourcier.client import Client
from tests.fix_stack import RunningStack

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(300)]

DEMO = Path(__file__).parents[2] / "demo"
QUESTIONS = json.loads((DEMO / "questions.json").read_text("utf-8"))
COLLECTION = "refusing"
IN_ENGLISH = (
    "What is the maximum refund for a hotel night in Lyon?",
    "How many days a year can I work remotely from another country of the European Union?",
    "Until what date can unused leave be carried over?",
    "How many days of leave are given for moving house?",
    "Which day of the week does nobody work from home?",
    "How much of the purchase of an ergonomic chair is refunded?",
    "How many days can the time savings account hold in total?",
    "Where is the assembly point in case of fire at the Angers workshops?",
    "How many characters must a password have?",
    "How long is the trial period of a manager?",
    "How quickly is a request of priority P2 taken care of?",
    "How long are the backed-up versions of the Ormeau space kept?",
)


@pytest.fixture(scope="module")
def handbook(scripted_stack: RunningStack) -> RunningStack:
    """Ingest the handbook."""
    created = scripted_stack.run("collections", "create", COLLECTION)
    assert created.returncode == 0, created.stderr
    ingested = scripted_stack.run("ingest", str(DEMO / "documents"), "--collection", COLLECTION, "--wait")
    assert ingested.returncode == 0, ingested.stdout + ingested.stderr
    return scripted_stack


async def refused(client: Client, questions: list[str]) -> list[tuple[str, float | None, float | None]]:
    """Return the questions that were refused before the model was asked, with their best scores."""
    found = []
    for question in questions:
        answer = await client.answer(question, collection=COLLECTION)
        if answer.reason == "BELOW_THRESHOLD":
            best = answer.sources[0]
            found.append((question, best.rerank_score, best.similarity))
    return found


async def test_no_question_that_the_handbook_answers_is_refused(
    handbook: RunningStack, scripted_client: Client
) -> None:
    assert await refused(scripted_client, [entry["question"] for entry in QUESTIONS["answerable"]]) == []


async def test_questions_in_another_language_are_not_refused_for_their_words(
    handbook: RunningStack, scripted_client: Client
) -> None:
    assert len(found := await refused(scripted_client, list(IN_ENGLISH))) <= 1, found


async def test_most_questions_that_the_handbook_does_not_answer_are_refused(
    handbook: RunningStack, scripted_client: Client
) -> None:
    asked = [entry["question"] for entry in QUESTIONS["unanswerable"]]
    found = await refused(scripted_client, asked)
    assert len(found) >= 4, [question for question in asked if question not in {name for name, *_ in found}]
