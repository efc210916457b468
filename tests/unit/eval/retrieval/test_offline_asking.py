"""Asking in this process: what a search leaves behind, as a stack's asker returns it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from eval.retrieval.encoding import EncodedCorpus, EncodedQuestions, TokenRows
from eval.retrieval.offline_asking import OfflineAsker
from eval.sets.datasets import Dataset, Passage
from sourcier.services.gateway.answering.baseline import texts
from sourcier.services.index.language.analyser import analyse_passage
from sourcier.services.index.lexical.bm25 import passage_weights

DIMENSION = 16
PETS = Dataset("pets", (
    Passage("cat", "Chats", "Le chat dort sur le toit."), Passage("dog", "Chiens", "Le chien garde la maison."),
), ())


def vectors_of(text: str, *, tokens: int) -> np.ndarray[Any, Any]:
    """Return unit vectors by the text alone."""
    rows = np.random.default_rng(sum(text.encode())).standard_normal((tokens, DIMENSION)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rows_of(found: Sequence[str], *, tokens: int) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return token vectors of texts, and where each begins."""
    starts = np.arange(len(found) + 1, dtype=np.int64) * tokens
    return np.concatenate([vectors_of(text, tokens=tokens) for text in found]), starts


class FakeEncoder:
    """Encodes by the text alone."""

    model = SimpleNamespace(space_id="space", manifest=SimpleNamespace(dimension=DIMENSION))

    def codes(self, found: Sequence[str], **_: Any) -> TokenRows:
        """Return sign bits."""
        rows, starts = rows_of(found, tokens=3)
        return TokenRows(np.packbits(rows > 0, axis=1), starts)

    def corpus(self, dataset: Dataset, *_: Any, **__: Any) -> EncodedCorpus:
        """Return each passage as one chunk."""
        held = tuple(passage.text for passage in dataset.passages)
        analyses = [analyse_passage(text) for text in held]
        return EncodedCorpus(
            passages=np.arange(len(held)), texts=held, codes=self.codes(held), full=None,
            vectors=np.concatenate([vectors_of(text, tokens=1) for text in held]),
            words=tuple(map(passage_weights, analyses)), headings=tuple(() for _ in held),
            stems=tuple(frozenset(each.frequencies) for each in analyses),
        )

    def questions(self, asked: Sequence[str], **_: Any) -> EncodedQuestions:
        """Return two tokens each."""
        rows, starts = rows_of(asked, tokens=2)
        return EncodedQuestions(
            np.concatenate([vectors_of(text, tokens=1) for text in asked]), TokenRows(rows, starts),
            TokenRows(np.ones(2 * len(asked), np.float32), starts),
        )


@pytest.fixture
def asker() -> OfflineAsker:
    """Return an asker of the fake encoder."""
    encoder: Any = FakeEncoder()
    return OfflineAsker(encoder, progress=lambda _: lambda done, of: None)


async def test_a_question_finds_passages_with_what_each_was_found_by(asker: OfflineAsker) -> None:
    collection = await asker.hold(PETS)
    await asker.prepare(["Où dort le chat ?", "Où dort le chat ?", "Valparaiso"], collection=collection)
    found = await asker.ask("Où dort le chat ?", collection=collection)
    assert {result.passage.source for result in found.results} == {"cat", "dog"}
    cat = next(result for result in found.results if result.passage.source == "cat")
    assert cat.lexical_score is not None
    assert cat.passage.title == "Chats"
    assert set(found.scores) == {result.passage.chunk_id for result in found.results}
    assert found.passages == 2
    assert set(found.frequencies.values()) == {1}
    assert len(found.background) == len(texts())
    assert -1 <= min(found.background) <= max(found.background) <= 1
    unknown = await asker.ask("Valparaiso", collection=collection)
    assert unknown.frequencies == {}
    assert all(result.lexical_score is None for result in unknown.results)
