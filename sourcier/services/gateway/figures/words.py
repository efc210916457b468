"""Words of questions and passages as figures are matched by them: forms of the clauses' tokens, and their singular."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.services.gateway.clauses.tokens import Token, forms_in, told_by

LETTERS_MIN = 4


def forms_of(tokens: Sequence[Token]) -> frozenset[str]:
    """Return the forms of words, each in the singular too: « écrous » and « Écrou » have no stem in common."""
    return forms_in(tokens) | {singular for token in tokens if token.tells and (singular := _singular(token.text))}


def told(token: Token, forms: frozenset[str]) -> bool:
    """Return whether a word is told by the forms of others."""
    return told_by(token, forms) or (_singular(token.text) or "~") in forms


def _singular(word: str) -> str:
    bare = word.rstrip("sx")
    bare = bare[:-1] if bare.endswith("ee") else bare
    return f"~{bare}" if len(bare) >= LETTERS_MIN and bare.isalpha() else ""
