"""The lexical side of a passage as it is stored: lexemes to find candidates by, weights to score them with.

Row-level security shows only the entries that match `sourcier.candidates` (see the first migration).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sourcier.services.chassis.postgres.types import SparseVector, TextSearchVector, sparse_vector, text_search_vector
from sourcier.services.index.language.analyser import Analysis
from sourcier.services.index.lexical.bm25 import DIMENSION, passage_weights

SHOW_ALL_ENTRIES = "select set_config('sourcier.candidates', '!none', true)"
"""Shows every entry of the tenant, since all lexemes begin with a number. For writers; searches name candidates."""

SHOW_CANDIDATES = "select set_config('sourcier.candidates', %s, true)"


@dataclass(frozen=True, slots=True)
class LexicalEntry:
    """The columns of a passage's entry."""

    lexemes: TextSearchVector
    terms: SparseVector


def lexical_entry(
    analysis: Analysis, *, collection_number: int, identifier_terms: Sequence[str] = ()
) -> LexicalEntry:
    """Return what is stored for a passage; its identifiers are found like stems, and weigh nothing in its score."""
    return LexicalEntry(
        text_search_vector([
            lexeme(stem, collection_number=collection_number) for stem in (*analysis.frequencies, *identifier_terms)
        ]),
        sparse_vector(passage_weights(analysis), dimension=DIMENSION),
    )


def lexeme(stem: str, *, collection_number: int) -> str:
    """Return a stem as one collection's: postings are apart, so others' passages never slow a search down."""
    return f"{collection_number}:{stem}"


def candidates_query(groups: Iterable[Sequence[str]], *, collection_numbers: Iterable[int]) -> str:
    """Return the `tsquery` of the passages that hold all stems of any group."""
    numbers = tuple(collection_numbers)
    return "|".join(
        "&".join(_quoted(lexeme(stem, collection_number=number)) for stem in group)
        for group in groups for number in numbers
    )


def all_words_query(words: Iterable[Sequence[str]], *, collection_number: int) -> str:
    """Return the `tsquery` of the passages that hold one stem of each word."""
    return "&".join(
        f"({'|'.join(_quoted(lexeme(stem, collection_number=collection_number)) for stem in stems)})" for stems in words
    )


def holding_query(
    terms: Iterable[str], *, collection_numbers: Iterable[int], beginnings: bool = False
) -> str:
    """Return the `tsquery` of the passages that hold any of the terms, or any term that begins so."""
    numbers, ending = tuple(collection_numbers), ":*" if beginnings else ""
    return "|".join(
        _quoted(lexeme(term, collection_number=number)) + ending for term in terms for number in numbers
    )


def _quoted(lexeme: str) -> str:
    # Apostrophes and backslashes are doubled, all else is literal.
    return "'" + lexeme.replace("\\", "\\\\").replace("'", "''") + "'"
