"""Rankings over an encoded set: the index's and the re-ranker's formulas, applied to all questions in this process."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from eval.retrieval.encoding import EncodedCorpus, EncodedQuestions, FloatArray, IntArray, TokenRows
from eval.sets.datasets import Dataset
from sourcier.services.gateway.retrieval.ranking_order import LEXICAL_POWER, LEXICAL_WEIGHT, lexical_shares
from sourcier.services.index.acronyms.asking import Expansion, alternatives
from sourcier.services.index.language.analyser import Analysis, analyse_question
from sourcier.services.index.lexical.bm25 import dimension, passage_weights, question_weights
from sourcier.services.index.search.fusion import RANK_CONSTANT
from sourcier.services.index.slips.choosing import Respelling

DEPTH = 100
"""Places of each list that are fused, as `sourcier.services.index.search.search.fused` does."""
Precision = Literal["one bit", "full"]


@dataclass(frozen=True, slots=True)
class Hits:
    """What one search found for one question, best first."""

    chunks: IntArray
    scores: FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Fusion:
    """How two lists become one."""

    constant: float = RANK_CONSTANT
    depth: int = DEPTH
    dense_weight: float = 1.0
    lexical_weight: float = 1.0
    heads: int = 0
    """So many first places of each list are among the candidates in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reranking:
    """How the candidates are put in order."""

    candidates: int = 20
    precision: Precision = "one bit"
    lexical_weight: float = LEXICAL_WEIGHT
    lexical_power: float = LEXICAL_POWER


class OfflineSearch:
    """A set, encoded, and all its questions searched once: what is fused and re-ranked follows from that."""

    def __init__(
        self, dataset: Dataset, corpus: EncodedCorpus, questions: EncodedQuestions,
        expansions: Sequence[Sequence[Expansion]] = (), respellings: Sequence[Sequence[Respelling]] = (),
        index: LexicalIndex | None = None,
    ) -> None:
        """Run dense and lexical search for every question.

        `expansions` are what each one's acronyms are taken for, `respellings` what its slips are; `index` is that of
        the corpus, where there is one.
        """
        self.corpus = corpus
        self._dataset = dataset
        self._questions = questions
        self._scores: defaultdict[tuple[Precision, int], dict[int, float]] = defaultdict(dict)
        similarities = questions.vectors @ corpus.vectors.T
        self.dense = [_best(row, limit=DEPTH) for row in similarities]
        lexical = index or LexicalIndex(corpus.words, corpus.stems)
        nothing: Sequence[tuple[()]] = [()] * len(dataset.questions)
        self.lexical = [
            lexical.search(question.text, limit=DEPTH, expansions=found, respellings=meant)
            for question, found, meant in zip(
                dataset.questions, expansions or nothing, respellings or nothing, strict=True
            )
        ]

    def passages(self, chunks: Sequence[int] | IntArray) -> list[str]:
        """Return the ids of the chunks' passages, each once at its best place."""
        names = self._dataset.passages
        places = dict.fromkeys(int(self.corpus.passages[chunk]) for chunk in chunks)
        return [names[place].passage_id for place in places]

    def fused(self, number: int, fusion: Fusion, *, limit: int) -> list[tuple[int, float]]:
        """Return a question's chunks with their fused scores, best first."""
        scores: defaultdict[int, float] = defaultdict(float)
        lists = ((self.dense[number], fusion.dense_weight), (self.lexical[number], fusion.lexical_weight))
        for hits, weight in lists:
            for rank, chunk in enumerate(hits.chunks[: fusion.depth].tolist(), start=1):
                scores[chunk] += weight / (fusion.constant + rank)
        ranked = sorted(scores.items(), key=lambda item: -item[1])
        if not fusion.heads:
            return ranked[:limit]
        heads = {chunk for hits, _ in lists for chunk in hits.chunks[: fusion.heads].tolist()}
        if len(heads) > limit:
            return ranked[:limit]
        others = [item for item in ranked if item[0] not in heads][: max(limit - len(heads), 0)]
        return sorted([item for item in ranked if item[0] in heads] + others, key=lambda item: -item[1])[:limit]

    def reranked(self, number: int, fusion: Fusion, reranking: Reranking) -> list[int]:
        """Return a question's candidates, re-ranked as the gateway does."""
        candidates = [chunk for chunk, _ in self.fused(number, fusion, limit=reranking.candidates)]
        lexical = dict(zip(self.lexical[number].chunks.tolist(), self.lexical[number].scores.tolist(), strict=True))
        shares = lexical_shares(
            [lexical.get(chunk, 0.0) for chunk in candidates], weight=reranking.lexical_weight,
            power=reranking.lexical_power,
        )
        interaction = self.interaction(number, candidates, reranking.precision)
        scores = {chunk: interaction[chunk] + share for chunk, share in zip(candidates, shares, strict=True)}
        return sorted(candidates, key=lambda chunk: -scores[chunk])

    def interaction(self, number: int, chunks: Sequence[int], precision: Precision) -> dict[int, float]:
        """Return late interaction of a question with chunks, each computed once."""
        known = self._scores[precision, number]
        known.update(self._late_interaction(number, sorted(set(chunks) - known.keys()), precision))
        return known

    def _late_interaction(self, number: int, found: Sequence[int], precision: Precision) -> dict[int, float]:
        vectors = np.asarray(self._questions.tokens.of(number), dtype=np.float32)
        weights = np.asarray(self._questions.weights.of(number), dtype=np.float32)
        if not len(weights) or not found:
            return dict.fromkeys(found, -1.0)
        rows = self.corpus.codes if precision == "one bit" else self.corpus.full
        assert rows is not None
        parts = [chunk for chunk in found if rows.starts[chunk + 1] > rows.starts[chunk]]
        if not parts:
            return dict.fromkeys(found, -1.0)
        best = _best_products(rows, parts, vectors, packed=precision == "one bit")
        scores = dict.fromkeys(found, -1.0)
        scores.update(zip(parts, (best @ weights / weights.sum()).tolist(), strict=True))
        return scores


class LexicalIndex:
    """BM25 over an encoded set, exact."""

    @classmethod
    def of(cls, analyses: Sequence[Analysis]) -> Self:
        """Invert passages as the index analyses them."""
        return cls([passage_weights(each) for each in analyses], [frozenset(each.frequencies) for each in analyses])

    def __init__(self, words: Sequence[Mapping[int, float]], stems: Sequence[Iterable[str]]) -> None:
        """Invert the chunks' words: their weights by dimension, and their stems."""
        postings: defaultdict[int, list[tuple[int, float]]] = defaultdict(list)
        frequencies: defaultdict[str, int] = defaultdict(int)
        for chunk, weights in enumerate(words):
            for place, weight in weights.items():
                postings[place].append((chunk, weight))
            for stem in stems[chunk]:
                frequencies[stem] += 1
        self._postings = {
            place: (np.asarray([chunk for chunk, _ in entries]), np.asarray([weight for _, weight in entries]))
            for place, entries in postings.items()
        }
        self._frequencies: Mapping[str, int] = frequencies
        self._chunks = len(words)

    @property
    def frequencies(self) -> Mapping[str, int]:
        """Return in how many chunks each stem is."""
        return self._frequencies

    def holding(self, stem: str, *, limit: int) -> list[int]:
        """Return chunks that hold a stem."""
        chunks: list[int] = self._postings[dimension(stem)][0][:limit].tolist()
        return chunks

    def search(
        self, question: str, *, limit: int, expansions: Sequence[Expansion] = (),
        respellings: Sequence[Respelling] = (),
    ) -> Hits:
        """Return the chunks that share a stem with a question, or with what its words are taken for, by BM25."""
        hits = _best(self.scores(question, expansions=expansions, respellings=respellings), limit=limit)
        matching = hits.scores > 0
        return Hits(hits.chunks[matching], hits.scores[matching])

    def scores(
        self, question: str, *, expansions: Sequence[Expansion] = (), respellings: Sequence[Respelling] = ()
    ) -> FloatArray:
        """Return each chunk's BM25."""
        scores = np.zeros(self._chunks)
        frequencies = dict(self._frequencies)
        meant = (stem for each in respellings for stem in each.stems)
        stems = tuple(dict.fromkeys((*analyse_question(question), *meant)))
        added = alternatives(expansions, stems=stems, passages=self._chunks, frequencies=frequencies)
        doubted = frozenset(stem for each in respellings for stem in each.doubted)
        weights = added.added_to(
            question_weights(stems, passages=self._chunks, frequencies=frequencies, doubted=doubted)
        )
        for place, weight in weights.items():
            if place in self._postings:
                chunks, parts = self._postings[place]
                scores[chunks] += weight * parts
        return scores.astype(np.float32)


def _best(scores: FloatArray, *, limit: int) -> Hits:
    order = np.argsort(-scores, kind="stable")[:limit]
    return Hits(order, scores[order])


def _best_products(rows: TokenRows, parts: Sequence[int], vectors: FloatArray, *, packed: bool) -> FloatArray:
    """Return the best cosine of each question token in each chunk: shape (chunks, question tokens)."""
    pieces = [rows.of(chunk) for chunk in parts]
    starts = np.concatenate(([0], np.cumsum([len(piece) for piece in pieces])[:-1]))
    joined: npt.NDArray[np.generic] = np.concatenate(pieces)
    rows_of = np.unpackbits(joined.astype(np.uint8, copy=False), axis=1) if packed else joined
    best: FloatArray = np.maximum.reduceat(rows_of.astype(np.float32) @ vectors.T, starts, axis=0)
    # With signs s = 2b − 1, q·s = 2 q·b − Σq, as `LateInteraction` has it.
    return (2 * best - vectors.sum(axis=1)) / np.float32(np.sqrt(vectors.shape[1])) if packed else best
