"""Which language a text is in, told by its function words: one of the analyser's, or another that shares some with it.

Spanish is full of French words (`la`, `de`, `en`, `que`, `un`): only what one of the two has, and the other has not,
tells them apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from sourcier.services.index.language.stop_words import OTHER_WORDS, STOP_WORDS
from sourcier.services.index.language.words import split_words

SHARE_MIN = 0.15
"""Of the words, those that must be function words of the language: French and English prose has 35 to 50 %, while
German or Spanish text holds up to a tenth of words that also are French ones."""

LEAD_MIN = 1.5
"""How many times the other language's function words there must be."""

WORDS_MAX = 2_000
"""Words looked at; the rest of a text changes nothing."""

CHARACTERS_MAX = 20_000

FOREIGN_MAX, LONG_WORDS_MIN = 0.02, 50
"""Of a text longer than so many words, the share of other languages' function words under which it needs no closer
look: every chunk is looked at, and that would take as long as splitting it."""

_SHARED = STOP_WORDS["fr"] & STOP_WORDS["en"]
_DISTINCTIVE = {language: words - _SHARED for language, words in STOP_WORDS.items()}
_LETTERS = {
    "fr": "àâçèêëîïôùû", "es": "áíóúñ", "pt": "áíóúãõàâçêô", "it": "àèìòù", "de": "äöüß",
}
"""Letters that tell languages apart: `protección` cannot be French, nor `où` Spanish."""

_KNOWN = STOP_WORDS | OTHER_WORDS
_FOREIGN = frozenset().union(*OTHER_WORDS.values()).difference(*STOP_WORDS.values())
_HAVE = {
    word: frozenset(language for language, words in _KNOWN.items() if word in words)
    for words in _KNOWN.values() for word in words
}
"""The languages that each function word is one of."""


def detect(text: str) -> str:
    """Return `fr`, `en`, or an empty string where the text does not tell, or is in another language."""
    return detect_words(_words(text))


def recognise(text: str) -> str:
    """Return the language of a text as ISO 639-1 has it, one of the analyser's or another; empty where unclear."""
    words = _words(text)
    return detect_words(words) or _other(words)


def detect_words(words: Sequence[str]) -> str:
    """Return the language of words as `split_words` gives them: lower case, elisions cut off."""
    words = words[:WORDS_MAX]
    if not words:
        return ""
    counts = {language: _held(words, distinctive) for language, distinctive in _DISTINCTIVE.items()}
    best = max(counts, key=lambda language: counts[language])
    other = max(count for language, count in counts.items() if language != best)
    if counts[best] < SHARE_MIN * len(words) or counts[best] < LEAD_MIN * other or counts[best] == 0:
        return ""
    if len(words) > LONG_WORDS_MIN and _held(words, _FOREIGN) < FOREIGN_MAX * len(words):
        return best
    speaking = _speaking(words)
    return "" if any(_outdoes(speaking, other, best) for other in OTHER_WORDS) else best


def _held(words: Sequence[str], among: frozenset[str]) -> int:
    """Return how many of the words are among others."""
    # Without a line of Python for each word.
    return sum(map(among.__contains__, words))


def _words(text: str) -> list[str]:
    return split_words(text[:CHARACTERS_MAX])[:WORDS_MAX]


def _speaking(words: Sequence[str]) -> dict[frozenset[str], int]:
    """Return how many words speak for which languages at once: by being their function words, or by a letter."""
    speaking: dict[frozenset[str], int] = {}
    for word, count in Counter(words).items():
        languages = _HAVE.get(word)
        if languages is None and not word.isascii():
            languages = frozenset(each for each, letters in _LETTERS.items() if any(one in letters for one in word))
        if languages:
            speaking[languages] = speaking.get(languages, 0) + count
    return speaking


def _outdoes(speaking: Mapping[frozenset[str], int], other: str, language: str) -> bool:
    """Return whether more words speak for the other language and not for this one than the other way round."""
    lead = sum(count * ((other in each) - (language in each)) for each, count in speaking.items())
    return lead > 0


def _other(words: Sequence[str]) -> str:
    """Return the language, of those that are not analysed, that outdoes every other one; empty where none does."""
    speaking = _speaking(words)
    best = max(OTHER_WORDS, key=lambda language: sum(count for each, count in speaking.items() if language in each))
    if sum(count for each, count in speaking.items() if best in each) < max(1, SHARE_MIN * len(words)):
        return ""
    return best if all(_outdoes(speaking, best, each) for each in _KNOWN if each != best) else ""
