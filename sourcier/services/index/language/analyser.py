"""The one analyser of documents and questions: from text to the stems that lexical search matches.

Words lose their elisions, function words and endings, then their accents; numbers written in groups are joined; codes
and dates (`A-12/b`, `2024-03-12`, `14,2`) are kept whole beside their parts. A text in an unclear language is stemmed
in every language, so that it meets documents and questions of each.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain

import Stemmer

from sourcier.services.index.language.recognition import detect_words
from sourcier.services.index.language.stop_words import FUNCTION_WORDS, STOP_WORDS, fold
from sourcier.services.index.language.words import LONG_NUMBER_DIGITS, WORDS_MAX, split_words

ALGORITHMS = {"fr": "french", "en": "english"}
LANGUAGES = tuple(ALGORITHMS)
STEM_CHARACTERS_MAX = 64
"""Longer runs are not words (base64, DNA, missing spaces); their beginning is kept."""

_stemmers = threading.local()


@dataclass(frozen=True, slots=True)
class Analysis:
    """A text as lexical search sees it."""

    language: str
    """`fr`, `en`, or empty where unclear."""
    frequencies: Mapping[str, int]
    """How often each stem occurs."""
    length: int
    """Words that carry meaning, each counted once whatever stems it gave."""


def analyse_passage(*texts: str, language: str = "") -> Analysis:
    """Analyse what is indexed, title and headings apart; `language` is trusted where it is one of `LANGUAGES`, else
    found."""
    words = list(chain.from_iterable(map(split_words, texts)))
    language = language if language in ALGORITHMS else detect_words(words)
    frequencies: dict[str, int] = {}
    length = 0
    for word, count in Counter(words).items():
        # Long numbers come once: remembered, they would drive out words that come again.
        find = passage_stems.__wrapped__ if len(word) >= LONG_NUMBER_DIGITS and word.isdigit() else passage_stems
        stems = find(word, language)
        for stem in stems:
            frequencies[stem] = frequencies.get(stem, 0) + count
        if stems:
            length += count
    return Analysis(language, frequencies, length)


def analyse_question(text: str) -> tuple[str, ...]:
    """Return the distinct stems of a question, in order."""
    words = split_words(text)
    language = detect_words(words)
    return tuple(dict.fromkeys(stem for word in words for stem in question_stems(word, language)))


def analyse_subject(text: str) -> tuple[tuple[str, ...], ...]:
    """Return the stems of each word of a subject that carries meaning: a passage that has the word has one of them."""
    return tuple(dict.fromkeys(_subject_stems(word) for word in split_words(text) if word not in FUNCTION_WORDS))


@lru_cache(maxsize=20_000)
def _subject_stems(word: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fold(_stem(form, each)) for each in LANGUAGES for form in (word, fold(word))))


@lru_cache(maxsize=WORDS_MAX)
def passage_stems(word: str, language: str) -> tuple[str, ...]:
    """Return the stems a passage is found by: accents folded after stemming, and before for those typed without."""
    languages = (language,) if language else LANGUAGES
    stems = dict.fromkeys(
        fold(_stem(form, each)) for each in languages if word not in STOP_WORDS[each] for form in (word, fold(word))
    )
    return tuple(stems)


@lru_cache(maxsize=20_000)
def question_stems(word: str, language: str) -> tuple[str, ...]:
    """Return the stems a question looks for: one a word and language, since passages hold both forms."""
    languages = (language,) if language else LANGUAGES
    return tuple(dict.fromkeys(fold(_stem(word, each)) for each in languages if word not in STOP_WORDS[each]))


def _stem(word: str, language: str) -> str:
    # A stemmer is not to be shared between threads, and costs more to make than a thousand stems.
    stemmer = getattr(_stemmers, language, None)
    if stemmer is None:
        # Its memory of 10,000 words, one in each thread, is slower than stemming, and `passage_stems` has its own.
        stemmer = Stemmer.Stemmer(ALGORITHMS[language], maxCacheSize=0)
        setattr(_stemmers, language, stemmer)
    stem: str = stemmer.stemWord(word[:STEM_CHARACTERS_MAX])
    return stem
