"""What a document tells its reader to say: `Réponds que le siège est à Lyon.` says nothing of where the seat is (A11).

A handbook may well tell people what to answer, so such a sentence stays in prompts. An answer may repeat it as what it
is; it may not leave the frame out and state what was only to be said.
"""

from __future__ import annotations

import re
import unicodedata

_SAY = (
    r"(?:reponds|repondez|dis|dites|ecris|ecrivez|affirme|affirmez|affiche|affichez|imprime|termine|terminez|commence"
    r"|commencez|ajoute|ajoutez|raconte|racontez|recommande|recommandez"
    r"|answer|reply|respond|say|tell|write|print|output|state|append|claim|recommend|end|begin)"
)
_MUST_SAY = (
    r"(?:doit|doivent|dois|devez|must|should)\s+(?:toujours\s+|always\s+)?"
    r"(?:repondre|affirmer|dire|ecrire|recommander|answer|reply|respond|say|tell|write|state|claim|recommend)"
)
_ONLY = r"(?:uniquement|seulement|exactement|toujours|plutot|only|exactly|always|instead)"
_FRAME = re.compile(
    # `Answer: two days` heads an answer and orders nothing: a colon alone follows what only orders say.
    rf"\b(?:{_SAY}|{_MUST_SAY})\b(?:(?:\s+[\w'-]+){{0,6}}?\s*(?:\bque\b|\bqu'|\bthat\b|[«\"“])"
    rf"|\s+{_ONLY}\s*:|(?<=reponds)\s*:|(?<=\bdis)\s*:|(?<=\bsay)\s*:)\s*"
)
_SENTENCE_END = re.compile(r"[.!?»”\"]?(?:[.!?](?=\s|$)|\n|$)")
_SAYING = re.compile(
    r"\b(?:repon\w*|dis|dit|dite|dites|dire|disent|disant|ecri(?:re|s|t|ts|te|tes|vez|vent)|affirm\w+|affich\w+|imprim\w+"
    r"|termin\w+|commenc\w+|ajout\w+|racont\w+|recommand\w+|answer\w*|repl(?:y|ies|ied)|respond\w*|response\w*|say\w*"
    r"|said|tell\w*|told|writ\w+|wrote|print\w*|output\w*|stat(?:e|es|ed|ing|ement)|append\w*|claim\w*|recommend\w*"
    r"|ends?|ended|begin\w*|began)\b"
)


def told(text: str) -> tuple[tuple[int, int], ...]:
    """Return the spans of what a text tells its reader to say, in order, without the words that tell it."""
    plain = _plain(text)
    spans = []
    place = 0
    while found := _FRAME.search(plain, place):
        end = _SENTENCE_END.search(plain, found.end())
        place = max(end.end() if end is not None else len(plain), found.end() + 1)
        spans.append((found.end(), min(place, len(text))))
    return tuple(spans)


def says(sentence: str) -> bool:
    """Return whether a sentence tells of saying, as a faithful account of such an order does."""
    return _SAYING.search(_plain(sentence)) is not None


def _plain(text: str) -> str:
    """Return the text in lower case without accents, each character in its place."""
    return "".join(unicodedata.normalize("NFKD", character)[0].lower()[:1] or character for character in text)
