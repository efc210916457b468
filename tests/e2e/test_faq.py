"""Direct answers with the real E5, through running services: another number or name is never answered directly.

The near misses are made of PIAF's questions: each has one number changed, or one name swapped for another question's,
in its own writing and in that of a telephone.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest

from eval import shared_sets
from eval.sets import datasets
from eval.sets.near_misses import NearMiss, near_misses, rewritten
from eval.system import System
from sourcier import Client
from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.errors import AnswerFailed
from sourcier.results import Answer
from sourcier.services.chassis.grpc.channels import Identity, open_channel
from sourcier.services.chassis.models.store import root_of
from sourcier.services.index.curation.learned_responses import question_key
from tests.needed_sets import needs

DATA = shared_sets.ROOT / shared_sets.PIAF
ROOT = root_of(os.environ)
SIMILARITY_MIN = 0.95
QUESTIONS_EVERY = 8
"""One question in eight; `make eval` asks all of them."""
CLOSE_MIN = 25
"""So many near misses are as close as a direct answer has to be: their numbers and names alone tell them apart."""
CONCURRENCY = 4
TEXTS_MAX = 32
"""In one call of the embed service."""
EMBED_SECONDS_MAX = 120.0
RECALL_MIN = 0.97
"""Of questions asked again in other writings, with courtesies or without capitals. Measured: 0.996."""

logger = logging.getLogger(__name__)

pytestmark = [
    pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(900),
    pytest.mark.skipif(not (ROOT / "multilingual-e5-small" / "manifest.json").exists(),
                       reason="multilingual-e5-small is not in the model store"),
]


@pytest.fixture(scope="module")
def gateway(search_system: System) -> str:
    """Return the address of a gateway that has no language model."""
    return search_system.gateway


async def test_an_answer_is_gone_once_its_document_has_changed(gateway: str) -> None:
    question = "Combien de jours de télétravail par semaine ?"
    async with Client(gateway) as client:
        written = await client.ingest_text("Deux jours de télétravail par semaine.", source="charte")
        await client.create_agent("rh")
        entry = await client.add_faq_entry(
            question, "Deux jours.", agent="rh", validated_by="Ana", document_ids=[written.document.document_id]
        )
        direct = await client.answer(question, agent="rh")
        assert (direct.outcome, direct.model, direct.usage.completion_tokens) == ("direct", "direct_qr_match", 0)
        assert direct.direct is not None
        assert direct.direct.faq_entry_id == entry.entry_id
        await client.ingest_text("Trois jours de télétravail par semaine.", source="charte")
        with pytest.raises(AnswerFailed):  # the documents answer, and there is no model to write it
            await client.answer(question, agent="rh")
        assert [each.entry_id async for each in client.faq_entries(agent="rh", state="flagged")] == [entry.entry_id]


@needs(shared_sets.PIAF)
def test_a_question_with_another_number_or_name_is_never_answered_directly(search_system: System) -> None:
    questions = list({
        question_key(question.text): question.text for question in datasets.load(DATA).questions
    }.values())
    misses = asyncio.run(closest(search_system, near_misses(questions[::QUESTIONS_EVERY])))
    assert len(misses) >= CLOSE_MIN
    known = sorted({miss.known for miss in misses})
    again = [text for question in known[::4] for text in rewritten(question)]
    missed, repeated = asyncio.run(ask(search_system.gateway, known, [miss.asked for miss in misses], again))
    wrong = [
        (miss.asked, answer.direct.matched_question) for miss, answer in zip(misses, missed, strict=True)
        # A near miss may be another question of the set, word for word.
        if answer.direct is not None and question_key(answer.direct.matched_question) != question_key(miss.asked)
    ]
    assert wrong == []
    assert all(answer.usage.prompt_tokens == 0 for answer in repeated)
    recall = sum(answer.direct is not None for answer in repeated) / len(repeated)
    kinds = Counter(miss.kind for miss in misses)
    logger.info("%d near misses (%s), none answered; %.3f of %d repeated were", len(misses), kinds, recall, len(again))
    assert recall >= RECALL_MIN


async def closest(system: System, misses: Sequence[NearMiss]) -> list[NearMiss]:
    """Return the near misses that the real model takes for the question they were made of.

    The stack's own embed service is asked: it remembers what it embedded when the same questions come as questions.
    """
    async with open_channel(system.environment["SOURCIER_EMBED_URL"], identity=Identity(token=system.token)) as channel:
        stub = embed_pb2_grpc.EmbedServiceStub(channel)

        async def vectors(texts: Sequence[str]) -> np.ndarray:
            found = []
            for start in range(0, len(texts), TEXTS_MAX):
                request = embed_pb2.EmbedRequest(
                    role=embed_pb2.TEXT_ROLE_QUERY, texts=texts[start : start + TEXTS_MAX], token_vectors=True
                )
                response = await stub.Embed(request, timeout=EMBED_SECONDS_MAX)
                found += [np.frombuffer(each.vector, "<f4") for each in response.embeddings]
            return np.stack(found)

        similarities = (
            await vectors([miss.known for miss in misses]) * await vectors([miss.asked for miss in misses])
        ).sum(axis=1)
    return [miss for miss, similarity in zip(misses, similarities, strict=True) if similarity >= SIMILARITY_MIN]


async def ask(
    gateway: str, known: Sequence[str], missing: Sequence[str], again: Sequence[str]
) -> tuple[list[Answer], list[Answer]]:
    """Let an agent know questions, ask it others and the same again; its collection is empty."""
    slots = asyncio.Semaphore(CONCURRENCY)
    async with Client(gateway) as client:
        await client.create_collection("near-misses")
        await client.create_agent("piaf", collection="near-misses")

        async def add(question: str) -> None:
            async with slots:
                await client.add_faq_entry(question, "La réponse.", agent="piaf", validated_by="test")

        async def answered(question: str) -> Answer:
            async with slots:
                return await client.answer(question, agent="piaf")

        await asyncio.gather(*map(add, known))
        return (
            list(await asyncio.gather(*map(answered, missing))), list(await asyncio.gather(*map(answered, again)))
        )
