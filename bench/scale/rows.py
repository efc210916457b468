"""Blocks of the grown corpus as columns of the product's tables, made in a process beside the one that sends them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

from bench.scale.corpus import BLOCK, DOCUMENT, Block, GrownCorpus, VectorBlock, identifier
from bench.scale.passages import RealTexts
from sourcier.services.chassis.postgres.types import half_vector
from sourcier.services.index.lexical.entries import lexeme, lexical_entry

SHARES = {"0.1 %": 1_000, "1 %": 100, "10 %": 10, "100 %": 1}
"""Filters by a document's metadata: one document in so many has the key."""


@dataclass(frozen=True, slots=True)
class Rows:
    """A block, ready to be inserted."""

    documents: dict[str, Any]
    """Columns of `documents`, one array each."""
    chunks: dict[str, Any]
    """Columns of `chunks`, `lexical_entries` and the vectors, one array each."""
    vectors: VectorBlock
    frequencies: Counter[str]
    """Lexemes, and how many of the block's chunks hold each."""


_corpus: list[GrownCorpus] = []


def open_corpus(real: RealTexts) -> None:
    """Prepare this process to make rows."""
    _corpus[:] = [GrownCorpus(real)]


def rows_of(number: int, collection_number: int, chunks_max: int) -> Rows:
    """Return a block's rows, those of its first `chunks_max` chunks."""
    block = _corpus[0].block(number)
    documents = range(number * BLOCK // DOCUMENT, (number * BLOCK + chunks_max) // DOCUMENT)
    return Rows(
        documents=_documents(block, documents),
        chunks=_chunks(block, chunks_max, collection_number),
        vectors=block.vectors[:chunks_max],
        frequencies=Counter(
            lexeme(stem, collection_number=collection_number)
            for chunk in block.chunks[:chunks_max] for stem in chunk.analysis.frequencies
        ),
    )


def has_share(document: int, name: str) -> bool:
    """Return whether a document is among the share of that name."""
    return document % SHARES[name] == 0


def _documents(block: Block, numbers: range) -> dict[str, Any]:
    return {
        "document_ids": [identifier("document", number) for number in numbers],
        "sources": [f"{number}.txt" for number in numbers],
        "categories": [block.origins[number - numbers.start] for number in numbers],
        "metadata": [json.dumps({name: True for name in SHARES if has_share(number, name)}) for number in numbers],
    }


def _chunks(block: Block, count: int, collection_number: int) -> dict[str, Any]:
    first = block.number * BLOCK
    chunks = block.chunks[:count]
    entries = [lexical_entry(chunk.analysis, collection_number=collection_number) for chunk in chunks]
    return {
        "chunk_ids": [identifier("chunk", first + place) for place in range(count)],
        "chunk_documents": [identifier("document", (first + place) // DOCUMENT) for place in range(count)],
        "indexes": [place % DOCUMENT for place in range(count)],
        "languages": [chunk.language for chunk in chunks],
        "token_counts": [len(chunk.text.split()) for chunk in chunks],
        "texts": [chunk.text for chunk in chunks],
        "lexemes": [entry.lexemes for entry in entries],
        "terms": [entry.terms for entry in entries],
        "vectors": [half_vector(vector.tobytes()) for vector in block.vectors[:count]],
        "token_codes": block.token_codes[:count],
    }
