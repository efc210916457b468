"""A test set as the services would store it, made in this process with their own code: chunks, vectors, codes, words.

What the running services do to a document and to a question, without the servers between: the same parser, chunker,
encoder and analyser. So a part can be left out, and a set be ranked in a hundred ways, without ingesting it again.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from eval.sets.datasets import Dataset, Passage
from sourcier.services.chassis.models.store import Model, ModelStore
from sourcier.services.chassis.settings import ModelSettings
from sourcier.services.embed.encoder import Encoded, Encoder
from sourcier.services.embed.encoder import Tokens as EncodedTokens
from sourcier.services.embed.engines import open_engine
from sourcier.services.index.language.analyser import analyse_passage
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
WHOLE = ChunkingConfiguration.of(method="hybrid", unit="tokens", target=480, maximum=480, overlap=0)
"""A passage stays one chunk where it can: `eval.sets.corpus` cuts so, too."""


@dataclass(frozen=True, slots=True)
class Variant:
    """How a set's passages are cut and read."""

    chunking: ChunkingConfiguration = WHOLE
    title_embedded: bool = True
    """Whether the model reads the title above each chunk."""
    title_words: bool = True
    """Whether the title counts as text of each chunk for full text."""


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
        passages, texts, headings, read, words, stems = [], [], [], [], [], []
        for place, document in enumerate(documents):
            for chunk in cut(document, variant.chunking, self._tokens, detect_language=detect):
                passages.append(place)
                texts.append(chunk.text)
                headings.append(chunk.heading_path)
                read.append(chunk.embedding_text if variant.title_embedded else chunk.text)
                titles = (document.title, *chunk.heading_path) if variant.title_words else ()
                analysis = analyse_passage("\n".join((*titles, chunk.text)), language=chunk.language)
                words.append(passage_weights(analysis))
                stems.append(frozenset(analysis.frequencies))
        vectors, codes, wholes, _ = self._encode(read, "passage", full=full, progress=progress)
        return EncodedCorpus(
            passages=np.asarray(passages, dtype=np.int64), texts=tuple(texts),
            vectors=vectors.astype(np.float16).astype(np.float32), codes=codes, full=wholes if full else None,
            words=tuple(words), stems=tuple(stems),
            headings=tuple(headings),
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
        digest = hashlib.sha256("\x00".join((self.model.space_id, self.engine, role, str(full), *texts)).encode())
        kept = self._kept / f"encoded-{digest.hexdigest()[:24]}.npz"
        if not kept.exists():
            encoded = self._run(texts, role, progress)
            kept.parent.mkdir(parents=True, exist_ok=True)
            columns = _columns(encoded, dimension=self._encoder.dimension, role=role, full=full)
            np.savez(kept, allow_pickle=False, **columns)
        with np.load(kept) as columns:
            starts = columns["starts"]
            return (
                columns["vectors"], TokenRows(columns["codes"], starts), TokenRows(columns["full"], starts),
                TokenRows(columns["weights"], starts),
            )

    def _run(self, texts: Sequence[str], role: str, progress: Progress) -> list[Encoded]:
        manifest = self.model.manifest
        prefix = manifest.query_prefix if role == "query" else manifest.passage_prefix
        tokens = self._encoder.tokenize(texts, prefix=prefix, field="texts")
        order = sorted(range(len(texts)), key=lambda place: tokens[place].count)
        encoded: dict[int, Encoded] = {}
        with ThreadPoolExecutor(self._encoder.streams) as pool:
            batches = list(_batches(order, tokens))
            for batch, results in zip(
                batches, pool.map(lambda batch: self._encoder.encode([tokens[place] for place in batch]), batches),
                strict=True,
            ):
                encoded.update(zip(batch, results, strict=True))
                progress(len(encoded), len(texts))
        return [encoded[place] for place in range(len(texts))]


def _document(passage: Passage) -> ParsedDocument:
    """Parse a passage as the pipeline does what `eval.sets.corpus` sends it."""
    filename = f"{passage.passage_id}.txt"
    with tempfile.NamedTemporaryFile(suffix=".txt") as file:
        file.write(passage.text.encode())
        file.flush()
        parsed = parse_text(Source(Path(file.name), filename, title=passage.title))
    return parsed.named(title=passage.title, filename=filename)


def _batches(order: Sequence[int], tokens: Sequence[EncodedTokens]) -> list[list[int]]:
    """Return places in batches of texts of similar length, padding included within the embed service's bound."""
    batches: list[list[int]] = []
    for place in order:
        if batches and (len(batches[-1]) + 1) * tokens[place].count <= BATCH_TOKENS_MAX:
            batches[-1].append(place)
        else:
            batches.append([place])
    return batches


def _columns(
    encoded: Sequence[Encoded], *, dimension: int, role: str, full: bool
) -> dict[str, npt.NDArray[np.generic]]:
    lengths = [len(each.weights) for each in encoded]
    kind = np.float32 if role == "query" else np.float16
    # Each begins with no rows: of no texts, too, columns have their shape.
    whole = [each.token_vectors().astype(kind) for each in encoded] if full else []
    codes = [np.frombuffer(each.token_codes, dtype=np.uint8).reshape(-1, dimension // 8) for each in encoded]
    return {
        "vectors": np.concatenate([np.zeros((0, dimension), np.float32), *(each.vector[None] for each in encoded)]),
        "codes": np.concatenate([np.zeros((0, dimension // 8), np.uint8), *codes]),
        "full": np.concatenate([np.zeros((0, dimension), kind), *whole]),
        "weights": np.concatenate([np.zeros(0, np.float32), *(each.weights for each in encoded)]),
        "starts": np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
    }
