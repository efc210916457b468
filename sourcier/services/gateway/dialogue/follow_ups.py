"""Which questions refer to what was said before: the rules of SPEC A4 for French, and what corresponds in English.

A rule that fires costs a call of the language model, which makes the question self-contained; a question that no rule
touches costs nothing. So the rules look at words alone: demonstratives that stand for a thing named before (« celle de
Lyon »), short questions about « ça », and pronouns that begin a question. Articles (`le, la, les`, `the`) and what only
looks like a demonstrative (`est-ce`, `c'est`, `that's`) never count.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

SHORT_WORDS = 8
"""Demonstratives that may also begin a noun of their own (« ce document ») count in questions of fewer words."""

_WORD = re.compile(r"[^\W_]+(?:['’ʼ\-‐‑][^\W_]+)*['’ʼ]?")
"""A word with its elisions and hyphens: « est-ce », « qu'il », « celle-ci » are one each."""

_POINTING = re.compile(r"-(?:ci|là|la)$")
"""« celle-ci » and « ceux-là » are forms of « celle » and « ceux »."""


@dataclass(frozen=True)
class Rules:
    """The words of one language that refer to something said before; phrases are words with single spaces."""

    always: frozenset[str]
    """In questions of any length."""
    in_short_questions: frozenset[str]
    """In questions of fewer than `SHORT_WORDS` words."""
    first: frozenset[str]
    """As the first word only."""
    beginnings: tuple[str, ...]
    """Phrases that questions of any length begin with."""
    auxiliaries: frozenset[str] = frozenset()
    """Words after which a pronoun of `first` is the subject, where such a word is the first or the second."""


FRENCH = Rules(
    always=frozenset({"celle", "celui", "celles", "ceux"}),
    in_short_questions=frozenset({"ça", "cela", "ce", "cette", "ces"}),
    first=frozenset({"il", "elle", "ils", "elles", "y", "en"}),
    beginnings=("et celle", "et celui", "et ça"),
)

# English asks with an auxiliary before its subject: "Does it apply on Mondays?" is « Il s'applique le lundi ? ». Forms
# of "to be" are left out, since "is it" and "is there" only ask, as « est-ce » does.
ENGLISH = Rules(
    always=frozenset({
        "that one", "this one", "those ones", "these ones", "the one", "the ones", "the latter", "the former",
    }),
    in_short_questions=frozenset({"that", "this", "those", "these"}),
    first=frozenset({"it", "he", "she", "they"}),
    beginnings=(
        "and that", "and this", "and those", "and these", "and the one", "and the ones",
        "what about that", "what about this", "what about those", "what about these", "what about it",
        "what about them",
    ),
    auxiliaries=frozenset({
        "do", "does", "did", "has", "have", "had", "can", "could", "will", "would", "should", "must", "may", "might",
    }),
)


def refers_back(question: str, *, language: str) -> str:
    """Return the word or phrase that refers to what was said before; empty where there is none, so no rule fires.

    `language` is `fr`, `en`, or empty where the question does not tell: then French is tried, and English after it.
    """
    words = split_words(question)
    if language == "en":
        return _match(words, ENGLISH)
    return _match(words, FRENCH) or ("" if language == "fr" else _match(words, ENGLISH))


def split_words(question: str) -> list[str]:
    """Return the words in lower case, apostrophes and hyphens straight; punctuation is none."""
    found = _WORD.findall(unicodedata.normalize("NFC", question))
    return [_plain(word) for word in found]


def _plain(word: str) -> str:
    if word in ("ca", "Ca"):
        # What is typed where the cedilla is out of reach; « CA » is a turnover or a board.
        return "ça"
    return word.casefold().replace("’", "'").replace("ʼ", "'").replace("‐", "-").replace("‑", "-")


def _match(words: Sequence[str], rules: Rules) -> str:
    bare = [_POINTING.sub("", word) for word in words]
    return (
        _phrase_in(bare, rules.always)
        or _beginning(words, rules.beginnings)
        or (_phrase_in(words, rules.in_short_questions) if len(words) < SHORT_WORDS else "")
        or _leading_pronoun(words, rules)
    )


def _phrase_in(words: Sequence[str], phrases: frozenset[str]) -> str:
    pairs = (" ".join(pair) for pair in pairwise(words))
    return next((found for found in (*words, *pairs) if found in phrases), "")


def _beginning(words: Sequence[str], beginnings: tuple[str, ...]) -> str:
    opening = " ".join(words) + " "
    return next((beginning for beginning in beginnings if opening.startswith(beginning + " ")), "")


def _leading_pronoun(words: Sequence[str], rules: Rules) -> str:
    if words and words[0] in rules.first:
        return words[0]
    for auxiliary, subject in pairwise(words[:3]):
        if auxiliary in rules.auxiliaries and subject in rules.first:
            return subject
    return ""
