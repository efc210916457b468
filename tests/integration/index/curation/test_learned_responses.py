"""Learned responses in PostgreSQL: a question is there once, however long it is."""

from __future__ import annotations

import random

import pytest

from sourcier.services.chassis.errors import AlreadyExists
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.curation import learned_responses
from sourcier.services.index.curation.agents import create_agent
from sourcier.services.index.curation.learned_responses import (
    QUESTION_CHARACTERS_MAX,
    LearnedResponse,
    NewResponse,
    question_key,
)
from tests.integration.index.writer import SPACE, Writer, text_vector

generator = random.Random(1)
LETTERS = "abcdefghijklmnopqrstuvwxyz"
LONG = {
    # Read as a whole and in parts, codes are twice as long in the key.
    "codes": " ".join(
        f"{generator.choice(LETTERS)}{generator.randrange(10**6)}-{generator.randrange(10**6)}" for _ in range(200)
    ),
    "Arabic": " ".join("".join(chr(generator.randrange(0x628, 0x63B)) for _ in range(9)) for _ in range(300)),
    "Chinese": "".join(chr(generator.randrange(0x4E00, 0x9FA0)) for _ in range(QUESTION_CHARACTERS_MAX)),
}


@pytest.mark.parametrize("question", [text[:QUESTION_CHARACTERS_MAX].strip() for text in LONG.values()], ids=LONG)
async def test_a_question_of_any_length_is_added_once(database: Database, writer: Writer, question: str) -> None:
    await writer.collection()
    async with database.transaction(tenant="acme") as connection:
        agent = await create_agent(connection, tenant="acme", name="support", collection="default")

    async def add(text: str) -> LearnedResponse:
        async with database.transaction(tenant="acme") as connection:
            return await learned_responses.add_response(
                connection, agent=agent, new=NewResponse(question=text, answer="Ceci.", validated_by="Ana"),
                vector=text_vector(text), space_id=SPACE.space_id, responses_max=10,
            )

    assert (await add(question)).question == question
    with pytest.raises(AlreadyExists):
        await add(question.upper())
    other = question[:-5].strip()
    assert (await add(other)).question == other


def test_a_key_that_fits_is_the_words_themselves() -> None:
    assert question_key("  Où SONT les congés ?") == "ou sont les conges"
    assert len(question_key("mot " * 400)) > 1_000  # as such keys have been stored
