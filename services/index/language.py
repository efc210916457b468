"""Which of the analyser's languages a text is in, told by its function words."""

from __future__ import annotations

from collections.abc import Sequence

from services.index.stop_words import STOP_WORDS
from services.index.words import split_words

SHARE_MIN = 0.15
"""Of the words, those that must be function words of the language: French and English prose has 35 to 50 %, while
German or Spanish text holds up to a tenth of words that also are French ones."""

LEAD_MIN = 1.5
"""How many times the other language's function words there must be."""

WORDS_MAX = 2_000
"""Words looked at; the rest of a text changes nothing."""

CHARACTERS_MAX = 20_000

_SHARED = STOP_WORDS["fr"] & STOP_WORDS["en"]
_DISTINCTIVE = {language: words - _SHARED for language, words in STOP_WORDS.items()}


def detect(text: str) -> str:
    """Return `fr`, `en`, or an empty string where the text does not tell."""
    return detect_words(split_words(text[:CHARACTERS_MAX]))


def detect_words(words: Sequence[str]) -> str:
    """Return the language of words as `split_words` gives them: lower case, elisions cut off."""
    words = words[:WORDS_MAX]
    if not words:
        return ""
    counts = {language: sum(word in distinctive for word in words) for language, distinctive in _DISTINCTIVE.items()}
    best = max(counts, key=lambda language: counts[language])
    other = max(count for language, count in counts.items() if language != best)
    if counts[best] < SHARE_MIN * len(words) or counts[best] < LEAD_MIN * other or counts[best] == 0:
        return ""
    return best
