"""The categories that a question names (R7), by their words: accents, case, endings and a slip of the finger apart."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.services.gateway.spelling import within_one_edit
from sourcier.services.index.language.analyser import passage_stems
from sourcier.services.index.language.stop_words import FUNCTION_WORDS, fold
from sourcier.services.index.language.words import split_words

SPELLING_CHARACTERS_MIN = 6
"""From this length on, a word with one wrong letter is still the same word."""
NAMED_MAX = 10
"""More categories in one question narrow nothing; it asks about everything."""


def named_categories(question: str, categories: Sequence[str]) -> tuple[str, ...]:
    """Return the categories whose words all stand in the question, side by side in any order.

    A category whose words are part of another's that is named too gives way to it: « ressources humaines » is not
    « ressources ». None where more than `NAMED_MAX` are named.
    """
    asked = [_forms(word) for word in split_words(question)]
    named = {category: words for category in categories if (words := _stands_in(category, asked))}
    fitting = tuple(
        category for category, places in named.items()
        if not any(places < others for others in named.values())
    )
    return fitting if len(fitting) <= NAMED_MAX else ()


def _stands_in(category: str, asked: Sequence[frozenset[str]]) -> frozenset[int]:
    """Return the places of the question's words that name a category; empty where they do not."""
    # Words without meaning (« de », « et ») need not be there.
    wanted = [forms for word in split_words(category) if (forms := _forms(word))]
    if not wanted:
        return frozenset()
    telling = [place for place, forms in enumerate(asked) if forms]
    for first in range(len(telling) - len(wanted) + 1):
        window = telling[first : first + len(wanted)]
        left = list(window)
        for forms in wanted:
            place = next((place for place in left if _same(forms, asked[place])), None)
            if place is None:
                break
            left.remove(place)
        else:
            return frozenset(window)
    return frozenset()


def _forms(word: str) -> frozenset[str]:
    """Return a word's stems in French and English, and itself; nothing for a function word."""
    if word in FUNCTION_WORDS:
        return frozenset()
    return frozenset({fold(word), *passage_stems(word, "")})


def _same(one: frozenset[str], other: frozenset[str]) -> bool:
    return not one.isdisjoint(other) or any(
        within_one_edit(form, asked)
        for form in one if len(form) >= SPELLING_CHARACTERS_MIN and form.isalpha()
        for asked in other if len(asked) >= SPELLING_CHARACTERS_MIN and asked.isalpha()
    )
