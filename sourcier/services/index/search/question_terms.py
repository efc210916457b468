"""The words of a question and how much each tells: by how few of the collections' passages it is held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.language.analyser import question_stems
from sourcier.services.index.language.recognition import WORDS_MAX, detect_words
from sourcier.services.index.language.words import split_words
from sourcier.services.index.lexical.bm25 import inverse_document_frequency
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.scope import find_scope
from sourcier.services.index.search.search import QUESTION_CHARACTERS_MAX


@dataclass(frozen=True, slots=True)
class Term:
    """A word of a question that is no function word."""

    stems: frozenset[str]
    """What passages hold it as: one stem, or one a language where the question's is unclear."""
    weight: float
    """Its inverse document frequency in the collections, above 0."""


@dataclass(frozen=True, slots=True)
class QuestionTerms:
    """The distinct words of a question, and the size of what they were weighed in."""

    terms: tuple[Term, ...]
    passages: int
    """Of the collections."""


async def question_terms(
    database: Database, *, tenant: str, collections: Sequence[str], question: str
) -> QuestionTerms:
    """Return the words of a question with their weights in collections; raise `NotFound`, `SpaceMismatch`."""
    words = question_words(question)
    async with database.transaction(tenant=tenant, read_only=True) as connection:
        scope = await find_scope(
            connection, tenant=tenant, collections=collections, filters=Filters(),
            stems=sorted(frozenset().union(*words)),
        )
    return QuestionTerms(
        weigh(words, passages=scope.passages, frequencies=scope.frequencies), scope.passages
    )


def question_words(question: str) -> tuple[frozenset[str], ...]:
    """Return the stems of each distinct word of a question, function words left out."""
    words = split_words(question[:QUESTION_CHARACTERS_MAX])[:WORDS_MAX]
    language = detect_words(words)
    stems = (frozenset(question_stems(word, language)) for word in words)
    return tuple(dict.fromkeys(each for each in stems if each))


def weigh(
    words: Sequence[frozenset[str]], *, passages: int, frequencies: Mapping[str, int]
) -> tuple[Term, ...]:
    """Return words with their weights in a collection of so many passages, given how many of them hold each stem."""
    return tuple(
        Term(word, inverse_document_frequency(max(frequencies.get(stem, 0) for stem in word), passages=passages))
        for word in words
    )
