"""Questions that are answered by yes or no: told from others, and read as what they ask to be true."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.frame import Frame, frame_of
from sourcier.services.gateway.clauses.tokens import Token, tokens_of

QUESTION_CHARACTERS_MAX = 400

_APOSTROPHES = re.compile("[\u2018\u2019\u02bc]")
_SENTENCES = re.compile(r"(?<=[.!?…])\s")
_ASKS = re.compile(r"\best-ce\s(?:que\b|qu')", re.IGNORECASE)
_INVERTED = re.compile(r"\b(\w++)-(?:t-)?(?:ils?|elles?|on|je|tu|nous|vous|ce)\b")
_ENGLISH = re.compile(
    r"(?:is|are|was|were|does|do|did|can|could|may|must|should|has|have|had|will|would|shall)\s(?!not\b|you\b)"
)
_REQUEST = re.compile(
    r"\b(?:pouvez|peux|pourriez|pourrais|sauriez|savez|sais|voulez|avez|dites|connaissez|auriez)-(?:vous|tu)\b"
)
_OPEN = re.compile(
    r"\b(?:quels?|quelles?|combien|comment|pourquoi|où|lequel|laquelle|lesquels|lesquelles|quoi|qui est-ce|"
    r"qu'est-ce|what|which|who|whom|whose|when|where|why|how)\b"
)
_RELATIVE = re.compile(r"(?<=\w )(?:when|where|who|which|whose)\b")
_OPENS_OPEN = re.compile(
    r"\W*(?:et\s|and\s|alors,?\s)?(?:qui|que|qu'|quand|à qui|de qui|pour qui|à quoi|depuis quand)(?:\s|\b)"
)
_STATES = re.compile(r"(?:les?|la|l'|un|une|des|mon|ma|mes|on|il|elle|ils|elles|notre|nos)\b")
_VERB = re.compile(r"\b(?:est|sont|a|ont|peut|peuvent|doit|doivent|sera|seront|faut)\b")
_OR = re.compile(r"\bou\s(?!non\b|pas\b)|\bor\s(?!not\b)")
_OR_NOT = re.compile(r"\s(?:ou\s(?:non|pas)|or\snot)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Asked:
    """What a question asks to be true."""

    text: str
    tokens: tuple[Token, ...]
    content: tuple[Token, ...]
    """What a clause must hold to answer it."""
    frame: Frame
    verb: str
    """The verb that is turned round with its subject; empty where none is, or it is an auxiliary."""
    subject: frozenset[str]
    """The forms of what stands before that verb."""

    @property
    def can_be_decided(self) -> bool:
        """Whether yes and no have one meaning: not to « ne sert-elle pas ? », nor between two."""
        return self.frame.denied is False and not self.frame.exceptions and not _OR.search(self.text) and bool(
            self.content
        ) and 0 not in self.frame.poles.values()


def asked(question: str, *, today: date) -> Asked | None:
    """Return what a question asks to be true; None for one that wants another answer than yes or no."""
    typed = _APOSTROPHES.sub("'", question.strip())[:QUESTION_CHARACTERS_MAX]
    # « Bonjour ! Le télétravail est-il permis ? »: the last sentence is the question.
    typed = next((each for each in reversed(_SENTENCES.split(typed)) if each.strip(" ?!.")), "")
    typed = _OR_NOT.sub("", typed)
    text = typed.casefold()
    if not _is_yes_no(text):
        return None
    inverted = _INVERTED.search(text)
    tokens = tokens_of(_ASKS.sub(" ", typed).rstrip(" ?."))
    content = tuple(token for token in tokens if token.tells and token.text not in lexicon.POLES)
    verb = "" if inverted is None or inverted.group(1) in _AUXILIARIES else inverted.group(1)
    subject = frozenset[str]()
    if verb and inverted is not None:
        subject = frozenset().union(*(token.forms for token in tokens_of(text[: inverted.start()])))
    return Asked(text, tokens, content, frame_of(tokens, today=today), verb, subject)


_AUXILIARIES = lexicon.words(
    "est sont a ont peut peuvent doit doivent sera seront etait était étaient faut y avait avaient aura auront"
)


def _is_yes_no(text: str) -> bool:
    if text.endswith("?") and _ENGLISH.match(text) and not _OPEN.search(_RELATIVE.sub(" ", text)):
        # "Are fees refunded when a child leaves?"
        return True
    if not text or _OPEN.search(text) or _OPENS_OPEN.match(text) or _REQUEST.search(text):
        return False
    if _ASKS.search(text) or _INVERTED.search(text):
        return True
    return bool(text.endswith("?") and (_ENGLISH.match(text) or (_STATES.match(text) and _VERB.search(text))))
