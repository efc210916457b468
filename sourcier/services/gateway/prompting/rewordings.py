"""Questions that a language model reworded: its text without labels and quotation marks, if it is a question at all."""

from __future__ import annotations

import re

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.index.language.recognition import detect

GROWTH_CHARACTERS_MAX = 300
"""How much longer than twice the question a rewriting may be; a longer one is an answer, or talk."""

_LABEL = re.compile(r"^(?:question(?: (?:reformulée|autonome|rewritten))?|(?:rewritten|standalone) question)\s*:\s*",
                    re.IGNORECASE)
_QUOTES = (("«", "»"), ("“", "”"), ('"', '"'), ("'", "'"))


class Implausible(ServiceError):
    """The rewriting is no question."""

    reason = "IMPLAUSIBLE"


def cleaned(text: str, *, original: str, truncated: bool) -> str:
    """Return the question that a model wrote, without label and quotation marks; raise Implausible for what is none."""
    line = _LABEL.sub("", text.strip())
    for opening, closing in _QUOTES:
        if len(line) > 1 and line.startswith(opening) and line.endswith(closing):
            line = line[1:-1].strip()
    if not any(letter.isalnum() for letter in line):
        raise Implausible("the rewriting is empty")
    if truncated:
        raise Implausible("the rewriting is far longer than the question")
    check_shape(line, original=original)
    if "?" in original and "?" not in line:
        # Small models answer instead, from nothing: such a statement must not be searched for, nor told to the reader.
        raise Implausible("the rewriting is a statement")
    spoken = {detect(original), detect(line)} - {""}
    if len(spoken) > 1:
        raise Implausible("the rewriting is in another language than the question")
    return line


def check_shape(text: str, *, original: str) -> None:
    """Raise Implausible for a text, or its beginning, that has several lines or is far longer than a question."""
    if len(text.strip().splitlines()) > 1:
        raise Implausible("the rewriting has several lines")
    if len(text) > 2 * len(original) + GROWTH_CHARACTERS_MAX:
        raise Implausible("the rewriting is far longer than the question")
