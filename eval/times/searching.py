"""Searches over one half of the set: as the services rank, or by words alone, which needs no model."""

from __future__ import annotations

from collections.abc import Sequence

from eval.retrieval.encoding import OfflineEncoder, Variant
from eval.retrieval.offline import Fusion, LexicalIndex, OfflineSearch, Reranking
from eval.retrieval.retrieval import RESULTS, Progress
from eval.times.deciding import PASSAGES, Ranker
from eval.times.families import Half
from sourcier.services.gateway.retrieval.retriever import CANDIDATE_HEADS
from sourcier.services.index.language.analyser import analyse_passage
from sourcier.services.index.language.recognition import detect

CANDIDATES = 50
MODEL = "multilingual-e5-small"


def by_model(half: Half, *, engine: str) -> Ranker:
    """Return the ranking of dense and full-text search, fused and re-ranked, by the embedding model in this process."""
    encoder = OfflineEncoder(model=MODEL, engine=engine, kept=RESULTS)
    dataset = half.dataset
    corpus = encoder.corpus(dataset, Variant(), full=False, progress=Progress("documents encoded"))
    questions = encoder.questions([each.text for each in dataset.questions], progress=Progress("questions encoded"))
    search = OfflineSearch(dataset, corpus, questions)

    def rank(number: int) -> list[int]:
        chunks = search.reranked(number, Fusion(heads=CANDIDATE_HEADS), Reranking(candidates=CANDIDATES))
        return [int(corpus.passages[chunk]) for chunk in chunks]

    return rank


def by_words(half: Half) -> Ranker:
    """Return the ranking of full text alone."""
    index = words_index([(each.title, each.text) for each in half.documents])
    return lambda number: index.search(half.questions[number].question, limit=PASSAGES).chunks.tolist()


def words_index(documents: Sequence[tuple[str, str]]) -> LexicalIndex:
    """Return the full text of documents, each a title and a text."""
    return LexicalIndex.of([
        analyse_passage(f"{title}\n{text}", language=detect(text)) for title, text in documents
    ])
