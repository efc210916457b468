"""Whether passages name the things that a question asks of: a thing is named where all of its words are told."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from sourcier.services.gateway.clauses.tokens import forms_in, tokens_of, told_by
from sourcier.services.index.search.passages import Passage

_SENTENCE_ENDS = re.compile(r"(?<=[.!?;])\s|\n")


def one_sentence_names_all(things: Sequence[str], passages: Iterable[Passage]) -> bool:
    """Return whether one sentence names all of the things: « la cour et le jardin ». Blocks for milliseconds."""
    return any(
        _names(things, line) for passage in passages for line in _SENTENCE_ENDS.split(passage.text)
    )


def is_named(thing: str, passages: Iterable[Passage]) -> bool:
    """Return whether a passage names a thing, itself or above it. Blocks for milliseconds."""
    return any(
        _names((thing,), f"{passage.above}\n{passage.text}") for passage in passages
    )


def _names(things: Iterable[str], text: str) -> bool:
    forms = forms_in(tokens_of(text))
    return bool(forms) and all(
        told_by(token, forms) for thing in things for token in tokens_of(thing) if token.tells
    )
