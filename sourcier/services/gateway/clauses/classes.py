"""Words of closed classes, of which one is never another: fractions and colours."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sourcier.services.index.language.stop_words import fold_in_place

_CLASSES: tuple[Mapping[str, re.Pattern[str]], ...] = tuple(
    {name: re.compile(rf"\b(?:{pattern})(?!\w)") for name, pattern in members.items()} for members in (
        {
            "half": "moitie|half|50 ?%|demie?s?", "third": "tiers|third|33 ?%", "two thirds": "deux tiers|two thirds",
            "quarter": "quarts?|quarter|25 ?%", "whole": "totalite|integralite|en entier|100 ?%|in full|entirely",
        },
        {
            "red": "rouges?|red", "green": "verte?s?|green", "blue": "bleue?s?|blue", "yellow": "jaunes?|yellow",
            "orange": "oranges?", "black": "noire?s?|black", "white": "blanc(?:he)?s?|white",
            "grey": "grise?s?|grey|gray", "purple": "violet(?:te)?s?|purple", "brown": "marrons?|brown",
        },
    )
)


def absent(sentence: str, text: str) -> tuple[str, ...]:
    """Return the fractions and colours of a sentence that a text lacks where it has others of their class."""
    said, held = fold_in_place(sentence), fold_in_place(text)
    found: list[str] = []
    for members in _CLASSES:
        for pattern in members.values():
            match = pattern.search(said)
            if match and not pattern.search(held) and any(other.search(held) for other in members.values()):
                found.append(sentence[match.start() : match.end()])
    return tuple(found)
