"""Whether the steps of a pattern grow faster than its text, and the list of those that were found not to."""

from __future__ import annotations

import hashlib
import sys
from functools import cache
from pathlib import Path

from tests.unit.patterns.attacks import Attack, attacks, largest_bound
from tests.unit.patterns.steps import SteppedPattern, TooManySteps
from tests.unit.patterns.uses import FULLMATCH, MATCH, SEARCH, Use

LIST = Path(__file__).with_name("linear.txt")
"""Digests of patterns that are linear: to count them all takes twenty seconds of a processor."""
COUNTING = ("attacks.py", "growth.py", "steps.py")
DIGITS = 24
FEW = 8
STEPS_MAX = 200_000
"""Of a text of some thousands of characters; none of the code's patterns comes near."""


@cache
def listed() -> frozenset[str]:
    """Return the digests of the list."""
    return frozenset(LIST.read_text("ascii").split())


def digest(use: Use) -> str:
    """Return a name for all that decides whether a pattern is linear: itself, how it is used, and what counts it."""
    told = repr((use.pattern.pattern, use.pattern.flags, use.way, _counted_by()))
    return hashlib.sha256(told.encode()).hexdigest()[:DIGITS]


@cache
def _counted_by() -> str:
    files = [Path(__file__).parent / name for name in COUNTING]
    version = repr(sys.version_info[:2]).encode()
    return hashlib.sha256(version + b"".join(file.read_bytes() for file in files)).hexdigest()


def offence(use: Use) -> Attack | None:
    """Return a text over which the steps of a pattern grow faster than the text, or None."""
    stepped: SteppedPattern | None = None
    # Repeats with an end, like `{1,40}`, cost more and more until a text is longer than they reach.
    many = max(4 * FEW, 2 * largest_bound(use.pattern))
    for attack in attacks(use.pattern):
        stepped = stepped or SteppedPattern(use.pattern, steps_max=STEPS_MAX)
        if growth(stepped, use.way, attack, FEW) > FEW // 2 and growth(stepped, use.way, attack, many) > many:
            return attack
    return None


def growth(pattern: SteppedPattern, way: str, attack: Attack, times: int) -> int:
    """Return how many steps more the third third of a text costs than the second."""
    try:
        first, second, third = (_steps(pattern, way, attack.text(count * times)) for count in (1, 2, 3))
    except TooManySteps:
        return STEPS_MAX
    return (third - second) - (second - first)


def _steps(pattern: SteppedPattern, way: str, text: str) -> int:
    pattern.steps = 0
    {MATCH: pattern.match, FULLMATCH: pattern.fullmatch, SEARCH: pattern.spans}[way](text)
    return pattern.steps
