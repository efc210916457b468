"""The background: the rerank service's own score over texts about anything, embedded once for each space."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.answering.baseline import SPACES_MAX, Background, Backgrounds, texts
from sourcier.services.gateway.peers.embedding import PASSAGES_MAX, PassageEmbedding, QueryEmbedding
from sourcier.services.rerank.late_interaction import LateInteractionRanker
from sourcier.services.rerank.ranker import Candidate, Question

DIMENSION = 16


def codes_of(text: str) -> bytes:
    """Return codes of three to nine tokens, by the text alone."""
    seed = sum(text.encode())
    rows = np.random.default_rng(seed).standard_normal((3 + seed % 7, DIMENSION))
    return np.packbits(rows > 0, axis=1).tobytes()


def question(tokens: int = 5) -> QueryEmbedding:
    """Return a question of so many tokens."""
    vectors = np.random.default_rng(7).standard_normal((tokens, DIMENSION)).astype("<f4")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    weights = tuple(float(weight) for weight in range(1, tokens + 1))
    return QueryEmbedding("space", np.zeros(DIMENSION, np.float32), vectors.tobytes(), weights)


class FakeEmbed:
    """Embeds by the text alone, and counts."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.error: Unavailable | None = None
        self.answers_left = 1_000

    async def embed_passages(self, passages: Sequence[str], **_: Any) -> list[PassageEmbedding]:
        """Return codes, or fail."""
        assert len(passages) <= PASSAGES_MAX
        # One that has no more to give is too busy to answer.
        await asyncio.sleep(0 if self.answers_left else 60)
        self.answers_left -= 1
        if self.error is not None:
            raise self.error
        self.asked += passages
        return [PassageEmbedding(np.zeros(DIMENSION, np.float32), codes_of(text), 9) for text in passages]


def backgrounds(embed: FakeEmbed) -> Backgrounds:
    """Return what makes backgrounds with a fake service."""
    return Backgrounds(SimpleNamespace(embed=embed))  # type: ignore[arg-type]


def test_scores_are_the_rerank_services() -> None:
    asked = question()
    codes = [codes_of(text) for text in texts()]
    found = Background.of(codes, dimension=DIMENSION).scores(asked)
    vectors = np.frombuffer(asked.token_vectors, "<f4").reshape(-1, DIMENSION)
    expected = LateInteractionRanker().score(
        Question("", vectors, np.asarray(asked.token_weights, np.float32)),
        [Candidate(str(place), "", code) for place, code in enumerate(codes)],
    )
    assert found == pytest.approx(expected, abs=1e-5)
    assert len(found) == len(texts())


def test_a_question_without_informative_tokens_is_like_nothing() -> None:
    background = Background.of([codes_of("a"), b"", codes_of("b")], dimension=DIMENSION)
    assert len(background.starts) == 2
    assert background.scores(question(0)).tolist() == []


def test_the_texts_are_many_short_and_of_several_languages() -> None:
    assert len(set(texts())) == len(texts()) >= 30
    # Within the shortest token limit of a model that is served, and cheap to compare with.
    assert all(100 < len(text) < 400 for text in texts())


async def test_each_space_is_embedded_once_however_many_ask() -> None:
    embed = FakeEmbed()
    known = backgrounds(embed)
    found = await asyncio.gather(*(known.of("space", tenant="acme", deadline=Deadline.after(5)) for _ in range(4)))
    assert embed.asked == list(texts())
    assert all(each is found[0] for each in found)
    for number in range(SPACES_MAX):
        await known.of(f"space {number}", tenant="acme", deadline=Deadline.after(5))
    assert len(known._known) == SPACES_MAX


async def test_what_failed_is_tried_again_by_the_next() -> None:
    embed = FakeEmbed()
    known = backgrounds(embed)
    embed.error = Unavailable("away")
    with pytest.raises(Unavailable):
        await known.of("space", tenant="acme", deadline=Deadline.after(5))
    embed.error = None
    assert len((await known.of("space", tenant="acme", deadline=Deadline.after(5))).starts) == len(texts())


async def test_a_question_goes_on_where_the_one_before_gave_up() -> None:
    embed = FakeEmbed()
    known = backgrounds(embed)
    for _ in range(len(texts()) // PASSAGES_MAX):
        embed.answers_left = 1
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.05):
                await known.of("space", tenant="acme", deadline=Deadline.after(5))
    embed.answers_left = len(texts())
    await known.of("space", tenant="acme", deadline=Deadline.after(5))
    assert embed.asked == list(texts())
    assert not known._begun
