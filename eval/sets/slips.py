"""Questions with slips of typing, made by rule: one word of six letters or more is wrong, the same in each run."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping

from sourcier.services.index.language.stop_words import FUNCTION_WORDS, fold

LETTERS_MIN = 6
_WORD = re.compile(r"[^\W\d_]+")
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def slipped(question: str, kind: str) -> str | None:
    """Return a question with a slip of a kind in its longest words, the first of them; None where none can be made."""
    words = [word for word in _WORD.finditer(question) if len(word[0]) >= LETTERS_MIN
             and fold(word[0].lower()) not in FUNCTION_WORDS]
    chosen = random.Random(f"{kind} {question}")
    for word in sorted(words, key=lambda each: (-len(each[0]), each.start())):
        written = KINDS[kind](word[0], chosen)
        if written is not None and written != word[0]:
            return question[: word.start()] + written + question[word.end() :]
    return None


def _inner(word: str, chosen: random.Random) -> int:
    return chosen.randrange(1, len(word) - 1)


def _left_out(word: str, chosen: random.Random) -> str:
    place = _inner(word, chosen)
    return word[:place] + word[place + 1 :]


def _swapped(word: str, chosen: random.Random) -> str | None:
    places = [place for place in range(1, len(word) - 2) if word[place] != word[place + 1]]
    if not places:
        return None
    place = chosen.choice(places)
    return word[:place] + word[place + 1] + word[place] + word[place + 2 :]


def _other_letter(word: str, chosen: random.Random) -> str:
    place = _inner(word, chosen)
    return word[:place] + chosen.choice(_LETTERS) + word[place + 1 :]


def _two_letters(word: str, chosen: random.Random) -> str | None:
    once = _swapped(word, chosen)
    return None if once is None else _left_out(once, chosen)


def _accents(word: str, _: random.Random) -> str:
    return fold(word)


def _wrong_accent(word: str, chosen: random.Random) -> str | None:
    places = [place for place, letter in enumerate(word) if letter in "eéèê"]
    if not places:
        return None
    place = chosen.choice(places)
    return word[:place] + ("é" if word[place] != "é" else "è") + word[place + 1 :]


def _doubled(word: str, chosen: random.Random) -> str:
    twice = [place for place in range(len(word) - 1) if word[place] == word[place + 1]]
    place = chosen.choice(twice) if twice else _inner(word, chosen)
    return word[:place] + word[place + 1 :] if twice else word[: place + 1] + word[place:]


def _cut(word: str, chosen: random.Random) -> str:
    place = chosen.randrange(3, len(word) - 2)
    return f"{word[:place]} {word[place:]}"


def _number(word: str, _: random.Random) -> str:
    return word[:-1] if word[-1] in "sx" else f"{word}s"


def _gender(word: str, _: random.Random) -> str:
    return word[:-1] if word[-1] == "e" else f"{word}e"


KINDS: Mapping[str, Callable[[str, random.Random], str | None]] = {
    "a letter left out": _left_out, "two letters swapped": _swapped, "another letter": _other_letter,
    "two slips in one word": _two_letters, "no accents": _accents, "a wrong accent": _wrong_accent,
    "a letter doubled, or not": _doubled, "a word cut in two": _cut, "plural or singular": _number,
    "feminine or masculine": _gender,
}
