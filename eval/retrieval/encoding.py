"""A test set as the services would store it, made in this process with their own code: chunks, vectors, codes, words.

What the running services do to a document and to a question, without the servers between: the same parser, chunker,
encoder and analyser. So a part can be left out, and a set be ranked in a hundred ways, without ingesting it again.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eval.retrieval.kept_vectors import KeptText, KeptVectors
from eval.sets.datasets import Dataset, Passage
from sourcier.services.chassis.models.store import Model, ModelStore
from sourcier.services.chassis.settings import ModelSettings
from sourcier.services.embed.encoder import Encoded, Encoder
from sourcier.services.embed.encoder import Tokens as EncodedTokens
from sourcier.services.embed.engines import open_engine
from sourcier.services.index.language.analyser import Analysis, analyse_passage
from sourcier.services.index.language.recognition import detect
from sourcier.services.index.lexical.bm25 import passage_weights
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration
from sourcier.services.ingest.chunking.cutting import cut
from sourcier.services.ingest.documents import ParsedDocument
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.plain import parse_text
from sourcier.services.ingest.tokens import TokenCounter

FloatArray = npt.NDArray[np.float32]
ByteArray = npt.NDArray[np.uint8]
IntArray = npt.NDArray[np.int64]
Progress = Callable[[int, int], None]

BATCH_TOKENS_MAX = 1024
BATCHES_KEPT = 8
"""Batches that are encoded and kept together."""
KEPT_FILE = "encoded.sqlite"
WHOLE = ChunkingConfiguration.of(method="hybrid", unit="tokens", target=480, maximum=480, overlap=0)
"""A passage stays one chunk where it can: `eval.sets.corpus` cuts so, too."""


@dataclass(frozen=True, slots=True)
class Variant:
    """How a set's passages are cut and read."""

    chunking: ChunkingConfiguration = WHOLE
    title_embedded: bool = True
    """Whether the model reads the title above each chunk."""
    title_words: bool = True
    """Whether title and headings count as text of each chunk for full text."""
    title_times: int = 1
    """How often each of their words counts then: a field with a weight of its own, as BM25F has it."""


@dataclass(frozen=True)
class TokenRows:
    """Token vectors of many texts, one after the other."""

    rows: npt.NDArray[np.generic]
    """Shape (tokens of all texts, …)."""
    starts: IntArray
    """Where each text begins, and the end: shape (texts + 1,)."""

    def of(self, place: int) -> npt.NDArray[np.generic]:
        """Return one text's rows."""
        part: npt.NDArray[np.generic] = self.rows[self.starts[place] : self.starts[place + 1]]
        return part


@dataclass(frozen=True)
class EncodedCorpus:
    """A set's chunks."""

    passages: IntArray
    """The place of each chunk's passage in the set."""
    texts: tuple[str, ...]
    vectors: FloatArray
    """Pooled, shape (chunks, dimension), at the half precision they are stored with."""
    codes: TokenRows
    """Sign bits, rows of dimension/8 bytes."""
    full: TokenRows | None
    """The same tokens at half precision, L2 norm 1; None where they were not asked for."""
    words: tuple[dict[int, float], ...]
    """BM25's part of each chunk, by dimension."""
    stems: tuple[frozenset[str], ...]
    headings: tuple[tuple[str, ...], ...] = ()
    """The headings that each chunk stands under; empty where no chunk has any."""
    languages: tuple[str, ...] = ()
    """As the analyser took them; empty for one that is unclear."""


@dataclass(frozen=True)
class EncodedQuestions:
    """A set's questions."""

    vectors: FloatArray
    """Shape (questions, dimension)."""
    tokens: TokenRows
    """float32, L2 norm 1."""
    weights: TokenRows


class OfflineEncoder:
    """The embedding model in this process, with what was encoded before kept in a folder."""

    def __init__(self, *, model: str, engine: str, kept: Path) -> None:
        """Load the model; what it encodes is kept in the folder, by what it was made of."""
        self.model: Model = ModelStore(ModelSettings().models_root).load(model)
        self._encoder = Encoder(self.model, open_engine(self.model, name=engine, threads=0, streams=0))
        manifest = self.model.manifest
        self._tokens = TokenCounter.load(
            self.model.file("tokenizer.json"), token_limit=manifest.token_limit, passage_prefix=manifest.passage_prefix
        )
        self._kept = kept

    @property
    def engine(self) -> str:
        """What runs the model."""
        return self._encoder.engine.name

    def corpus(self, dataset: Dataset, variant: Variant, *, full: bool, progress: Progress) -> EncodedCorpus:
        """Encode a set's passages; with `full`, keep whole token vectors beside the codes."""
        documents = [_document(passage) for passage in dataset.passages]
        return self.documents(documents, variant, full=full, progress=progress)

    def documents(
        self, documents: Sequence[ParsedDocument], variant: Variant, *, full: bool, progress: Progress
    ) -> EncodedCorpus:
        """Encode documents that were read; the place of a chunk's passage is that of its document."""
        passages, texts, headings, read, words, stems, languages = [], [], [], [], [], [], []
        for place, document in enumerate(documents):
            for chunk in cut(document, variant.chunking, self._tokens, detect_language=detect):
                passages.append(place)
                texts.append(chunk.text)
                headings.append(chunk.heading_path)
                read.append(chunk.embedding_text if variant.title_embedded else chunk.text)
                titles = (document.title, *chunk.heading_path) if variant.title_words else ()
                analysis = analyse_passage("\n".join((*titles, chunk.text)), language=chunk.language)
                words.append(passage_weights(_with_titles(analysis, titles, times=variant.title_times)))
                languages.append(analysis.language)
                stems.append(frozenset(analysis.frequencies))
        vectors, codes, wholes, _ = self._encode(read, "passage", full=full, progress=progress)
        return EncodedCorpus(
            passages=np.asarray(passages, dtype=np.int64), texts=tuple(texts),
            vectors=vectors.astype(np.float16).astype(np.float32), codes=codes, full=wholes if full else None,
            words=tuple(words), stems=tuple(stems),
            headings=tuple(headings), languages=tuple(languages),
        )

    def questions(self, texts: Sequence[str], *, progress: Progress) -> EncodedQuestions:
        """Encode questions, with their token vectors."""
        vectors, _, tokens, weights = self._encode(texts, "query", full=True, progress=progress)
        return EncodedQuestions(vectors.astype(np.float16).astype(np.float32), tokens, weights)

    def codes(self, texts: Sequence[str], *, progress: Progress) -> TokenRows:
        """Return the token codes of texts, read as passages."""
        return self._encode(texts, "passage", full=False, progress=progress)[1]

    def passage_vectors(self, texts: Sequence[str], *, progress: Progress) -> FloatArray:
        """Return the pooled vectors of texts, read as passages."""
        return self.passages(texts, progress=progress)[0]

    def passages(self, texts: Sequence[str], *, progress: Progress) -> tuple[FloatArray, TokenRows]:
        """Return the pooled vectors of texts, read as passages, and their token codes."""
        return self._encode(texts, "passage", full=False, progress=progress)[:2]

    def _encode(
        self, texts: Sequence[str], role: str, *, full: bool, progress: Progress
    ) -> tuple[FloatArray, TokenRows, TokenRows, TokenRows]:
        digests = [_digest(self.model.space_id, self.engine, role, str(full), text) for text in texts]
        kept = KeptVectors(self._kept / KEPT_FILE, full_type=np.float32 if role == "query" else np.float16)
        held = kept.held(digests)
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in held}
        self._run(missing, role, kept, full=full, progress=progress)
        found = kept.of(digests)
        return joined_rows([found[digest] for digest in digests], dimension=self._encoder.dimension)

    def _run(
        self, texts: Mapping[str, str], role: str, kept: KeptVectors, *, full: bool, progress: Progress
    ) -> None:
        """Encode texts and keep each batch as it comes: a run that is cut off goes on from there."""
        manifest = self.model.manifest
        prefix = manifest.query_prefix if role == "query" else manifest.passage_prefix
        digests = list(texts)
        tokens = self._encoder.tokenize(list(texts.values()), prefix=prefix, field="texts") if texts else []
        order = sorted(range(len(texts)), key=lambda place: tokens[place].count)
        batches, done = list(_batches(order, tokens)), 0

        def encode(batch: Sequence[int]) -> list[Encoded]:
            return self._encoder.encode([tokens[place] for place in batch])

        with ThreadPoolExecutor(self._encoder.streams) as pool:
            # Few at once: what is cut off is not encoded to its end first.
            for begin in range(0, len(batches), BATCHES_KEPT):
                some = batches[begin : begin + BATCHES_KEPT]
                results = list(pool.map(encode, some))
                kept.add({
                    digests[place]: _kept_text(each, dimension=self._encoder.dimension, full=full)
                    for batch, encoded in zip(some, results, strict=True)
                    for place, each in zip(batch, encoded, strict=True)
                })
                done += sum(map(len, some))
                progress(done, len(texts))


def _digest(*parts: str) -> str:
    return hashlib.sha256("\x00".join(parts).encode()).hexdigest()[:32]


def _document(passage: Passage) -> ParsedDocument:
    """Parse a passage as the pipeline does what `eval.sets.corpus` sends it."""
    filename = f"{passage.passage_id}.txt"
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(passage.text.encode())
        file.flush()
        parsed = parse_text(Source(Path(file.name), filename, title=passage.title))
    return parsed.named(title=passage.title, filename=filename)


def _with_titles(analysis: Analysis, titles: Sequence[str], *, times: int) -> Analysis:
    """Return an analysis in which the words of title and headings, which it has once, count so many `times`."""
    if times == 1 or not titles:
        return analysis
    titled = analyse_passage("\n".join(titles), language=analysis.language).frequencies
    more = {stem: count + (times - 1) * titled.get(stem, 0) for stem, count in analysis.frequencies.items()}
    return replace(analysis, frequencies=more)


def _batches(order: Sequence[int], tokens: Sequence[EncodedTokens]) -> list[list[int]]:
    """Return places in batches of texts of similar length, padding included within the embed service's bound."""
    batches: list[list[int]] = []
    for place in order:
        if batches and (len(batches[-1]) + 1) * tokens[place].count <= BATCH_TOKENS_MAX:
            batches[-1].append(place)
        else:
            batches.append([place])
    return batches


def _kept_text(encoded: Encoded, *, dimension: int, full: bool) -> KeptText:
    return KeptText(
        encoded.vector, np.frombuffer(encoded.token_codes, dtype=np.uint8).reshape(-1, dimension // 8),
        encoded.token_vectors() if full else np.zeros((0, dimension), np.float32), encoded.weights,
    )


def joined_rows(
    texts: Sequence[KeptText], *, dimension: int
) -> tuple[FloatArray, TokenRows, TokenRows, TokenRows]:
    """Return texts one after the other: vectors, codes, tokens' vectors and weights."""
    # Each begins with no rows: of no texts, too, columns have their shape.
    starts = np.concatenate(([0], np.cumsum([len(each.weights) for each in texts]))).astype(np.int64)
    vectors = np.concatenate([np.zeros((0, dimension), np.float32), *(each.vector[None] for each in texts)])
    codes = np.concatenate([np.zeros((0, dimension // 8), np.uint8), *(each.codes for each in texts)])
    full = np.concatenate([np.zeros((0, dimension), np.float16), *(each.full for each in texts)])
    weights = np.concatenate([np.zeros(0, np.float32), *(each.weights for each in texts)])
    return vectors, TokenRows(codes, starts), TokenRows(full, starts), TokenRows(weights, starts)
