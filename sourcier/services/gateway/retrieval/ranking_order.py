"""The order of re-ranked candidates: the re-ranker's score, and what exact words, a named title and time add to it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sourcier.services.gateway.events import RankedPassage
from sourcier.services.index.acronyms.asking import with_long_forms
from sourcier.services.index.language.analyser import analyse_subject
from sourcier.services.index.language.stop_words import FUNCTION_WORDS
from sourcier.services.index.language.words import split_words
from sourcier.services.index.search.search import SearchResult
from sourcier.services.index.slips.choosing import as_meant

LEXICAL_WEIGHT = 0.05
"""What the best full-text score adds to a re-ranking score. Late interaction forgets exact words that are rare, which
BM25 counts; docs/measured/quality.md has the gain. Beside a cross-encoder's logits it settles ties and no more."""
LEXICAL_POWER = 2.0
"""Of the others' score as a share of the best: a passage with half of it holds other words of the question, or commoner
ones, which late interaction tells better. With codes of one bit this takes back part of what they lose."""
TITLE_WEIGHT = 0.2
"""What a title adds whose words are all of the question's words, and no others. Chosen on all sets at once:
docs/measured/history/retrieval.md has what other weights gain and lose (ADR 41)."""
TITLE_POWER = 2.0
"""Of the share of words in common: a title that has some words of the question is common, one that it names is not."""
TITLE_WORD_LETTERS_MIN = 3
TITLES_KEPT = 5_000
"""Titles whose words are remembered, a few megabytes."""


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of a title or a question that carry meaning."""

    each: tuple[frozenset[str], ...]
    """The stems of each word."""
    all: frozenset[str]
    """The stems of all."""

    @classmethod
    def of(cls, text: str) -> _Words:
        words = tuple(map(frozenset, analyse_subject(text)))
        return cls(words, frozenset[str]().union(*words))

    def share_in(self, other: _Words) -> float:
        """Return the share of the words that the other has, too."""
        return sum(not other.all.isdisjoint(stems) for stems in self.each) / len(self.each)


def ordered(
    results: Sequence[SearchResult], scores: Mapping[str, float], *, question: str, by_late_interaction: bool = True,
    title_weight: float = TITLE_WEIGHT, times: Sequence[float] = (), subject: str = "",
) -> tuple[RankedPassage, ...]:
    """Return the candidates that hold the question's identifiers first; by the re-ranker's score and its shares.

    `times` is what each gains by its document's date; empty where the question says nothing of time. `subject` is the
    question without dates that no title is asked to have.
    """
    shares = lexical_shares([result.lexical_score or 0.0 for result in results])
    asked = asked_in(subject or question, results[0]) if results else (question,)
    titles = title_shares([result.passage.title for result in results], asked, weight=title_weight)
    ranked = (
        RankedPassage(result, scores[result.passage.chunk_id], share, title, time, by_late_interaction)
        for result, share, title, time in zip(results, shares, titles, times or (0.0,) * len(results), strict=True)
    )
    return tuple(sorted(ranked, key=lambda entry: entry.order, reverse=True))


def lexical_shares(
    scores: Sequence[float], *, weight: float = LEXICAL_WEIGHT, power: float = LEXICAL_POWER
) -> list[float]:
    """Return what each candidate's BM25 adds to its re-ranking score: 0 for one that full text did not find."""
    best = max(scores, default=0.0)
    return [weight * (score / best) ** power if best > 0 else 0.0 for score in scores]


def asked_in(question: str, result: SearchResult) -> tuple[str, ...]:
    """Return a question as it was typed and, where that differs, as it is meant: slips mended, acronyms spelled out."""
    return tuple(dict.fromkeys((question, as_meant(with_long_forms(question, result.expansions), result.respellings))))


def title_shares(titles: Sequence[str], asked: Sequence[str], *, weight: float = TITLE_WEIGHT) -> list[float]:
    """Return what each candidate's title adds to its re-ranking score; `asked` are the forms of the question.

    A title without any word, such as a scanner's number, tells nothing for or against: it gets what the best one gets.
    """
    questions = [_Words.of(each) for each in asked] if weight > 0 else []
    known = {
        title: None if (words := _title_words(title)) is None
        else max((_in_common(words, each) for each in questions), default=0.0)
        for title in dict.fromkeys(titles)
    }
    best = max((each for each in known.values() if each is not None), default=0.0)
    return [
        weight * (best if (share := known[title]) is None else share) ** TITLE_POWER for title in titles
    ]


@lru_cache(maxsize=TITLES_KEPT)
def _title_words(title: str) -> _Words | None:
    """Return the words of a title; None where it has numbers and codes alone."""
    words = (word for word in split_words(title) if word not in FUNCTION_WORDS)
    tells = any(word.isalpha() and len(word) >= TITLE_WORD_LETTERS_MIN for word in words)
    return _Words.of(title) if tells else None


def _in_common(title: _Words, question: _Words) -> float:
    """Return the words that both have as a share of both (Dice), 0 to 1."""
    if title.all.isdisjoint(question.all):
        return 0.0
    of_title, of_question = title.share_in(question), question.share_in(title)
    return 2 * of_title * of_question / (of_title + of_question)
