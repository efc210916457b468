"""Negations: whether a sentence denies what its source does not deny."""

from __future__ import annotations

import re

from sourcier.services.index.language.stop_words import fold

# « ne … que » restricts and denies nothing.
_RESTRICTION = re.compile(r"\bn(?:e\s|')(?:\w+['\s]+){1,5}?qu(?:e\b|')")
_DENIAL = re.compile(
    r"\bn(?:e\b|')|\b(?:pas|jamais|aucune?s?|nulle?s?|sans|ni|non|rien|not|never|no|none|without|nor|neither|cannot)\b|n't\b"
)
_IMPLIED = re.compile(
    r"\b(?:interdi\w+|impossib\w+|refus\w+|exclu\w*|sauf|hormis|depourvu\w*|absen\w+|contrair\w+|inutil\w+|dispens\w+|"
    r"manqu\w+|cess\w+|faux|fausse|oppos\w+|empech\w+|perd\w+|prohibit\w+|forbid\w+|impossible|except|unless|lack\w*|"
    r"den(?:y|ies|ied)|fail\w*|unable|loin d|ailleurs que|trop|in(?:capable|suffisant|eligible|egal|existant|connu)\w*)"
)


def denies(sentence: str) -> bool:
    """Return whether a sentence holds a grammatical negation."""
    return bool(_DENIAL.search(_RESTRICTION.sub(" ", _plain(sentence))))


def holds_denial(span: str) -> bool:
    """Return whether a span of a source holds a negation, or a word that says as much."""
    plain = _plain(span)
    return bool(_DENIAL.search(plain) or _IMPLIED.search(plain))


def _plain(text: str) -> str:
    return fold(text.casefold().replace("\u2019", "'"))
