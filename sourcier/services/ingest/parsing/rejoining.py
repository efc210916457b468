"""Lines put together again: runs of spaces, and words that a line end broke."""

from __future__ import annotations

import re

_SPACE_RUNS = re.compile("[ \t]{2,}|\t")

# Line-end hyphens that belong to the word: French inversions and compounds, English compounds that are common.
_KEPT_AFTER_HYPHEN = re.compile(
    "ce|ci|là|je|tu|il|elle|on|nous|vous|ils|elles|moi|toi|lui|leurs?|y|en|mêmes?|dire|être|t|née?s?|delà|dess(?:us|ous)|"
    "dehors|dedans|haut|bas|end|fait",
    re.IGNORECASE,
)
_KEPT_BEFORE_HYPHEN = re.compile(
    "non|sous|demi|semi|quasi|ex|vice|après|avant|mi|celui|celles?|ceux|peut|grand|arrière|contre|self|well",
    re.IGNORECASE,
)
LINE_END_HYPHEN = "\x02"
"""What PDFium writes for a hyphen at the end of a line, the line break itself left out."""
_BROKEN_WORD = re.compile(f"(?<!\\w)(\\w++)(?:{LINE_END_HYPHEN}|[-\u2010]\n)(\\w+)")


def squeeze_spaces(text: str) -> str:
    """Collapse runs of spaces and tabs inside lines, and the indentation of lines; newlines stay."""
    return "\n".join(line.strip() for line in _SPACE_RUNS.sub(" ", text).split("\n"))


def join_hyphenation(text: str, vocabulary: frozenset[str]) -> str:
    """Join words that a line end broke.

    The document itself decides first: the form it writes elsewhere (`vocabulary`, lower case) wins. Then a hyphen stays
    before what French and English attach with one, before a capital and beside a digit; else the halves are one word.
    """

    def rejoin(match: re.Match[str]) -> str:
        before, after = match.group(1), match.group(2)
        joined, hyphenated = before + after, f"{before}-{after}"
        if joined.lower() in vocabulary:
            return joined
        if hyphenated.lower() in vocabulary:
            return hyphenated
        kept = _KEPT_AFTER_HYPHEN.fullmatch(after) or _KEPT_BEFORE_HYPHEN.fullmatch(before)
        if kept or not after[0].islower() or before[-1].isdigit():
            return hyphenated
        return joined

    text = _BROKEN_WORD.sub(rejoin, text)
    return text.replace(LINE_END_HYPHEN, "-")
