"""Questions that look like another one and are not: one number changed, or one name swapped for another question's."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

_NUMBER = re.compile(r"(?<![\w.,])\d{1,4}(?![\w.,]*\d)(?!\w)")
# A capital inside the sentence: in French that is a name.
_NAME = re.compile(r"(?<=[\w,] )(?:(?:[LlDd]|[Qq]u)['’])?([A-ZÀ-Ý][a-zà-ÿ]{2,})\b")


@dataclass(frozen=True, slots=True)
class NearMiss:
    """A question made of a known one, with another answer."""

    known: str
    asked: str
    kind: Literal["number", "name"]


def near_misses(questions: Sequence[str], *, seed: int = 7) -> list[NearMiss]:
    """Return the near misses of questions, at most one of each kind for each; the same for the same seed.

    None where the questions have neither a number nor another name to swap, as those of many an FAQ.

    Each comes in two writings: its own, and that of a telephone, with one capital at the beginning and none inside.
    """
    chance = random.Random(seed)
    names = sorted({match.group(1) for question in questions for match in _NAME.finditer(question)})
    made = []
    for question in questions:
        if (number := _NUMBER.search(question)) is not None:
            other = _other_number(number.group(), chance)
            made.append(NearMiss(question, _replaced(question, number.start(), number.end(), other), "number"))
        if (name := _NAME.search(question)) is not None:
            others = [each for each in names if each.lower() not in question.lower()]
            if others:
                swapped = _replaced(question, name.start(1), name.end(1), chance.choice(others))
                made.append(NearMiss(question, swapped, "name"))
    hasty = [NearMiss(miss.known, miss.asked[:1].upper() + miss.asked[1:].lower(), miss.kind) for miss in made]
    return made + [late for late, miss in zip(hasty, made, strict=True) if late.asked != miss.asked]


def rewritten(question: str) -> tuple[str, ...]:
    """Return other writings of a question that leave it the question it is."""
    bare = question.rstrip(" ?.!")
    return (f"{bare} ?", bare, bare.lower(), f"Bonjour, {bare[:1].lower()}{bare[1:]} ? Merci")


def _other_number(number: str, chance: random.Random) -> str:
    """Return another number of about the same size: 1998 becomes another year."""
    value = int(number)
    spread = max(value // 50, 3)
    other = value
    while other == value:
        other = max(value + chance.randint(-spread, spread), 0)
    return str(other)


def _replaced(text: str, start: int, end: int, by: str) -> str:
    return text[:start] + by + text[end:]
