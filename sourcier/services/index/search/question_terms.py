"""The words of a question: what full text asks for, and how much each tells, by how few passages hold it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.index.acronyms.asking import (
    NO_ALTERNATIVES,
    Alternatives,
    Expansion,
    alternatives,
    find_expansions,
    stems_of,
)
from sourcier.services.index.identifiers.identifier import Identifier
from sourcier.services.index.identifiers.terms import READ
from sourcier.services.index.language.analyser import analyse_question, question_stems
from sourcier.services.index.language.recognition import WORDS_MAX, detect_words
from sourcier.services.index.language.words import split_words
from sourcier.services.index.lexical.bm25 import inverse_document_frequency
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.holding import asked_identifiers
from sourcier.services.index.search.scope import Scope, find_scope
from sourcier.services.index.slips.asking import Collections
from sourcier.services.index.slips.choosing import Respelling
from sourcier.services.index.slips.reading import NOTHING_TYPED, Typing

QUESTION_CHARACTERS_MAX = 20_000
"""Read of a question for its words; the rarest count, so a longer one loses nothing that matters."""
WEIGHED_IN_MIN = 32
"""Passages that words are weighed in at least, those that are not there holding none of them. In a collection of one
passage each word that it holds would tell next to nothing, and each that it lacks nearly everything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sought:
    """What full text looks for, weighed in a scope."""

    scope: Scope
    """With the frequencies of all that is looked for."""
    stems: tuple[str, ...]
    """Of the question, and of what its slips may stand for."""
    added: Alternatives = NO_ALTERNATIVES
    respellings: tuple[Respelling, ...] = ()

    @property
    def doubted(self) -> frozenset[str]:
        """Return the stems that are pieces of a word which was cut."""
        return frozenset(stem for each in self.respellings for stem in each.doubted)


@dataclass(frozen=True, slots=True, kw_only=True)
class AskedWords:
    """A question's words, as they are counted in the collections."""

    stems: tuple[str, ...]
    identifiers: tuple[Identifier, ...] = ()
    expansions: tuple[Expansion, ...] = ()
    typing: Typing = NOTHING_TYPED

    @classmethod
    async def read(
        cls, connection: Connection, *, tenant: str, collections: Sequence[str], question: str, by_text: bool
    ) -> AskedWords:
        """Read a question; where passages are not found `by_text`, nothing but its stems."""
        question, whole = question[:QUESTION_CHARACTERS_MAX], question
        stems = analyse_question(question)
        if not by_text:
            return cls(stems=stems)
        identifiers = asked_identifiers(whole)
        expansions = await find_expansions(connection, tenant=tenant, collections=collections, question=question)
        # Identifiers and acronyms are what they are, however near another one is.
        kept = [*(each.written for each in identifiers), *(each.written for each in expansions)]
        return cls(
            stems=stems, identifiers=identifiers, expansions=expansions, typing=Typing.of(question, kept=kept)
        )

    @property
    def counted(self) -> Sequence[str]:
        """Return what is counted in the collections: with identifiers, the passages that were read for them, too."""
        return (*self.stems, *stems_of(self.expansions), *self.typing.stems, *((READ,) if self.identifiers else ()))

    async def sought(self, connection: Connection, scope: Scope) -> Sought:
        """Return what is looked for in a scope that was found with `counted`."""
        added = alternatives(
            self.expansions, stems=self.stems, passages=scope.passages, frequencies=scope.frequencies
        )
        collections = Collections(
            connection, tenant=scope.tenant, ids=scope.collection_ids, numbers=scope.collection_numbers
        )
        respellings, counts = await collections.respellings(self.typing, scope.frequencies)
        stems = (*self.stems, *(stem for each in respellings for stem in each.stems))
        return Sought(
            scope=replace(scope, frequencies={**counts, **scope.frequencies}), stems=tuple(dict.fromkeys(stems)),
            added=added, respellings=respellings,
        )


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
    among = max(passages, WEIGHED_IN_MIN)
    return tuple(
        Term(word, inverse_document_frequency(max(frequencies.get(stem, 0) for stem in word), passages=among))
        for word in words
    )
