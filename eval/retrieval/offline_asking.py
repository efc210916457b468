"""Searches as answers make them, in this process: collections are sets that the embedding model here has encoded.

The same passages, codes, words and formulas as the services have, exact where theirs are approximate, so that what a
question's signs are worth can be measured anew in minutes.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from eval.retrieval.asking import DEPTH, Asked
from eval.retrieval.encoding import EncodedCorpus, OfflineEncoder, Variant
from eval.retrieval.offline import Fusion, OfflineSearch
from eval.sets.datasets import Dataset, Question
from eval.sets.datasets import Passage as SetPassage
from sourcier.services.gateway.answering.baseline import Background, texts
from sourcier.services.gateway.peers.embedding import QueryEmbedding
from sourcier.services.gateway.retrieval.retriever import CANDIDATE_HEADS
from sourcier.services.index.search.passages import Passage
from sourcier.services.index.search.question_terms import question_words
from sourcier.services.index.search.search import SearchResult
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.source import Source

FUSION = Fusion(heads=CANDIDATE_HEADS)
Progress = Callable[[str], Callable[[int, int], None]]


@dataclass(frozen=True)
class _Held:
    """A collection."""

    dataset: Dataset
    """Its documents as passages of a set, without questions."""
    corpus: EncodedCorpus
    passages: tuple[Passage, ...]
    """Its chunks, as a search returns them."""
    frequencies: Counter[str]
    """In how many chunks each stem occurs."""


@dataclass(frozen=True)
class _Batch:
    """Questions that were searched for at once."""

    collection: str
    places: dict[str, int]
    search: OfflineSearch
    embeddings: tuple[QueryEmbedding, ...]


class OfflineAsker:
    """Asks questions of what was encoded here."""

    def __init__(self, encoder: OfflineEncoder, *, progress: Progress) -> None:
        """Take the model; `progress` is given what is done, and returns what hears how much of it is."""
        self._encoder = encoder
        self._progress = progress
        self._collections: dict[str, _Held] = {}
        self._batch: _Batch | None = None
        codes = encoder.codes(texts(), progress=progress("background encoded"))
        self._background = Background.of(
            [codes.of(place).tobytes() for place in range(len(texts()))], dimension=encoder.model.manifest.dimension
        )

    async def hold(self, dataset: Dataset) -> str:
        """Make a set's passages a collection, each one chunk where it can be; return its name."""
        if dataset.name not in self._collections:
            corpus = self._encoder.corpus(
                dataset, Variant(), full=False, progress=self._progress(f"{dataset.name} encoded")
            )
            titles = [passage.title for passage in dataset.passages]
            self._collections[dataset.name] = _held(Dataset(dataset.name, dataset.passages, ()), corpus, titles)
        return dataset.name

    async def hold_files(self, paths: Sequence[Path], *, name: str) -> str:
        """Make files a collection, read and cut as they are by default; return its name."""
        if name not in self._collections:
            documents = [_read(path) for path in paths]
            corpus = self._encoder.documents(
                documents, Variant(ChunkingConfiguration.of()), full=False, progress=self._progress(f"{name} encoded")
            )
            dataset = Dataset(name, tuple(SetPassage(path.name, "", "") for path in paths), ())
            self._collections[name] = _held(dataset, corpus, [document.title for document in documents])
        return name

    async def prepare(self, questions: Sequence[str], *, collection: str) -> None:
        """Search for questions at once; those of the call before are forgotten."""
        held = self._collections[collection]
        asked = list(dict.fromkeys(questions))
        encoded = self._encoder.questions(asked, progress=self._progress(f"questions of {collection} encoded"))
        rows = tuple(Question(text, text, {}) for text in asked)
        embeddings = tuple(
            QueryEmbedding(
                self._encoder.model.space_id, encoded.vectors[place],
                np.asarray(encoded.tokens.of(place), np.float32).tobytes(),
                tuple(np.asarray(encoded.weights.of(place), np.float64).tolist()),
            )
            for place in range(len(asked))
        )
        search = OfflineSearch(Dataset(collection, held.dataset.passages, rows), held.corpus, encoded)
        self._batch = _Batch(collection, {text: place for place, text in enumerate(asked)}, search, embeddings)

    def embedding(self, question: str) -> QueryEmbedding:
        """Return the vectors of a question that was prepared."""
        assert self._batch is not None
        return self._batch.embeddings[self._batch.places[question]]

    async def ask(self, question: str, *, collection: str) -> Asked:
        """Return what is found for a question that was prepared."""
        batch, held = self._batch, self._collections[collection]
        assert batch is not None
        assert batch.collection == collection
        place = batch.places[question]
        found = batch.search.fused(place, FUSION, limit=DEPTH)
        chunks = [chunk for chunk, _ in found]
        interaction = batch.search.interaction(place, chunks, "one bit")
        dense, lexical = (
            dict(zip(hits.chunks.tolist(), hits.scores.tolist(), strict=True))
            for hits in (batch.search.dense[place], batch.search.lexical[place])
        )
        stems = frozenset[str]().union(*question_words(question))
        started = time.perf_counter()
        background = tuple(self._background.scores(batch.embeddings[place]).tolist())
        seconds = time.perf_counter() - started
        return Asked(
            question=question,
            results=tuple(
                SearchResult(passage=held.passages[chunk], score=score, similarity=dense.get(chunk),
                             lexical_score=lexical.get(chunk))
                for chunk, score in found
            ),
            scores={held.passages[chunk].chunk_id: interaction[chunk] for chunk in chunks},
            passages=len(held.passages),
            frequencies={stem: held.frequencies[stem] for stem in stems if held.frequencies[stem]},
            background=background, background_seconds=seconds,
        )


def _held(dataset: Dataset, corpus: EncodedCorpus, titles: Sequence[str]) -> _Held:
    return _Held(
        dataset, corpus, tuple(passages_of(dataset, corpus, titles)),
        Counter(stem for stems in corpus.stems for stem in stems),
    )


def passages_of(dataset: Dataset, corpus: EncodedCorpus, titles: Sequence[str]) -> Iterable[Passage]:
    """Yield a set's chunks as a search returns them; `titles` are the documents'."""
    for chunk, (place, text) in enumerate(zip(corpus.passages.tolist(), corpus.texts, strict=True)):
        source = dataset.passages[place].passage_id
        yield Passage(
            chunk_id=f"{dataset.name}-{chunk}", document_id=source, version_id=source, collection=dataset.name,
            title=titles[place], source=source, filename=source, chunk_index=chunk, kind="text", method="", language="",
            page=0, start_character=0, end_character=len(text), token_count=0, heading_path=corpus.headings[chunk],
            text=text, category="", metadata={}, token_codes=corpus.codes.of(chunk).tobytes(),
        )


def _read(path: Path) -> ParsedDocument:
    # Two seconds, and what transformers says of itself, that the other evaluations do without.
    from sourcier.services.ingest.parsing.dispatch import parse

    return parse(Source(path, path.name))
