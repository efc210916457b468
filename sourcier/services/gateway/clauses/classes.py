"""Words of closed classes, of which one is never another: fractions and colours."""

from __future__ import annotations

import re

from sourcier.services.index.language.stop_words import fold_in_place

_FRACTIONS: tuple[re.Pattern[str], ...] = (
    re.compile(r"\b(?:moitie|half|50 ?%|demie?s?)(?!\w)"),
    re.compile(r"\b(?:tiers|third|33 ?%)(?!\w)"),
    re.compile(r"\b(?:quarts?|quarter|25 ?%)(?!\w)"),
    re.compile(r"\b(?:totalite|integralite|en entier|100 ?%|in full|entirely)(?!\w)"),
)
_COLOURS: tuple[re.Pattern[str], ...] = (
    re.compile(r"\b(?:rouges?|red)(?!\w)"),
    re.compile(r"\b(?:verte?s?|green)(?!\w)"),
    re.compile(r"\b(?:bleue?s?|blue)(?!\w)"),
    re.compile(r"\b(?:jaunes?|yellow)(?!\w)"),
    re.compile(r"\b(?:oranges?)(?!\w)"),
    re.compile(r"\b(?:noire?s?|black)(?!\w)"),
    re.compile(r"\b(?:blanc(?:he)?s?|white)(?!\w)"),
    re.compile(r"\b(?:grise?s?|grey|gray)(?!\w)"),
    re.compile(r"\b(?:violet(?:te)?s?|purple)(?!\w)"),
    re.compile(r"\b(?:marrons?|brown)(?!\w)"),
)


def absent(sentence: str, text: str) -> tuple[str, ...]:
    """Return the fractions and colours of a sentence that a text lacks where it has others of their class."""
    said = fold_in_place(sentence)
    named = [
        (match, pattern, members) for members in (_FRACTIONS, _COLOURS) for pattern in members
        if (match := pattern.search(said))
    ]
    if not named:  # as of nearly all sentences: the text is looked at for none of them
        return ()
    held = fold_in_place(text)
    return tuple(
        sentence[match.start() : match.end()] for match, pattern, members in named
        if not pattern.search(held) and any(other.search(held) for other in members)
    )
