"""Whether an answer to "who" names somebody that the passage does not: « le responsable » of a note signed by nobody.

The words of the question stand in answer and passage alike, so that the wording agrees whoever is named.
"""

from __future__ import annotations

import re

from sourcier.services.gateway.clauses.tokens import tokens_of
from sourcier.services.gateway.figures.words import forms_of, told

_WHO = re.compile(
    r"\W*(?:(?:et|mais|alors|and|but)\s)?(?:(?:à|de|par|avec|pour|chez|auprès\sde|to|by|with|from)\s)?"
    r"(?:qui|who|whom|(?:quel(?:le)?s?|which)\s(?:personne|service|direction|département|équipe|société|entreprise|"
    r"organisme|cabinet|interlocuteur|person|department|team|company|body))\b",
    re.IGNORECASE,
)


def asks_who(question: str) -> bool:
    """Return whether a question asks for a person, or for a body of persons."""
    return _WHO.match(question) is not None


def names_a_stranger(sentence: str, question: str, passage: str) -> bool:
    """Return whether what a sentence says beyond the question's words is nowhere in the passage, title included."""
    asked, held = forms_of(tokens_of(question)), forms_of(tokens_of(passage))
    beyond = [token for token in tokens_of(sentence) if token.tells and not told(token, asked)]
    return bool(beyond) and not any(told(token, held) for token in beyond)
