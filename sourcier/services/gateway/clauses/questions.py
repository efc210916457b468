"""Questions that are answered by yes or no: told from others, and read as what they ask to be true."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.frame import Frame, frame_of
from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.clauses.typed import written_out

QUESTION_CHARACTERS_MAX = 400

_SENTENCES = re.compile(r"(?<=[.!?…])\s")
_ASKS = re.compile(r"\best-ce\s(?:que\b|qu')", re.IGNORECASE)
_INVERTED = re.compile(r"\b(\w++)-(?:t-)?(?:ils?|elles?|on|je|tu|nous|vous|ce)\b")
_ENGLISH = re.compile(
    r"^(?:am|is|are|was|were|does|do|did|can|could|may|must|should|has|have|had|will|would|shall)\s(?!not\b|you\b)|"
    r"[,;]\s(?:(?:so|but|and)\s)?(?:am|is|are|does|do|did|can|could|may|must|should|has|would|shall|will)"
    r"\s(?:i|we|he|she|it|they|the|my|our|his|her|their|there|a|an)\b"
)
_REQUEST = re.compile(
    r"\b(?:pouvez|peux|pourriez|pourrais|sauriez|savez|sais|voulez|avez|dites|connaissez|auriez)-(?:vous|tu)\b"
)
_OPEN = re.compile(
    r"\b(?:quels?|quelles?|combien|comment|pourquoi|où|lequel|laquelle|lesquels|lesquelles|quoi|qui est-ce|"
    r"qu'est-ce|what|which|who|whom|whose|when|where|why|how)\b|¿|"
    r"\b(?:à|a|de|par|pour|avec|chez|sur|auprès\sde|en|contre)\s(?:qui|quand)\b|\b(?:depuis|dès|jusqu'à|jusqu'a)\squand\b|"
    r"\bque\s(?:faire|dire|doit|doivent|faut|peut|se)\b"
)
_RELATIVE = re.compile(r"(?<=\w )(?:when|where|who|which|whose)\b")
_OPENS_OPEN = re.compile(
    r"\W*ou\s(?:est|sont|se|a|va)\b|"
    r"\W*(?:et\s|and\s|alors,?\s)?(?:qui|que|qu'|quand|à qui|de qui|pour qui|à quoi|depuis quand)"
    r"(?:\s|\b)"
)
_STATES = re.compile(
    r"\b(?:est|sont|a|ai|as|ont|avons|avez|peut|peux|peuvent|pouvez|doit|dois|doivent|devons|devez|sera|seront|faut|va|"
    r"vont|fait|font|faites)\b(?!-)"
)
_NAMES_A_VALUE = re.compile(
    r"\W*(?:(?:le|la|les|l'|et)\s*)*(?:prix|tarifs?|montant|coût|cout|délais?|delais?|durée|duree|nombre|nbr?e?|horaires?|"
    r"heures?|taux|dates?|adresse|tél\w*|tel|numéro|numero|noms?|plafond|seuil|superficie|surface|poids|taille|âge|age)\b"
)
"""« Le prix de la chambre quand elle est seule ? » wants the price."""
_INSIDE_OPEN = re.compile(r"\b(?:quand|qui)\b")
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
    typed = written_out(question[:QUESTION_CHARACTERS_MAX])
    before, typed = _last_sentence(typed)
    leaves_open = _OR_NOT.search(typed) is not None
    typed = _OR_NOT.sub("", typed)
    text = typed.casefold()
    if not (_is_yes_no(text) or (leaves_open and not _wants_another(text))):
        return None
    inverted = _INVERTED.search(text)
    # « I had a local anaesthetic. Can I drive? »: what is said before bounds what is asked.
    tokens = tokens_of(f"{before} {_ASKS.sub(' ', typed)}".rstrip(" ?."))
    content = tuple(token for token in tokens if token.tells and token.text not in lexicon.POLES)
    verb = "" if inverted is None or inverted.group(1) in _AUXILIARIES else inverted.group(1)
    subject = frozenset[str]()
    if verb and inverted is not None:
        subject = frozenset().union(*(token.forms for token in tokens_of(text[: inverted.start()])))
    return Asked(text, tokens, content, frame_of(tokens, today=today), verb, subject)


_AUXILIARIES = lexicon.words(
    "est sont a ont peut peuvent doit doivent sera seront etait était étaient faut y avait avaient aura auront"
)


def _last_sentence(typed: str) -> tuple[str, str]:
    """Return what is said before the question, and the question: the last sentence that is more than signs."""
    sentences = [each for each in _SENTENCES.split(typed) if each.strip(" ?!.,;")]
    return (" ".join(sentences[:-1]), sentences[-1]) if sentences else ("", "")


def _is_yes_no(text: str) -> bool:
    if text.endswith("?") and _ENGLISH.search(text) and not _OPEN.search(_RELATIVE.sub(" ", text)):
        # "Are fees refunded when a child leaves?"
        return True
    if not text or _wants_another(text):
        return False
    if _ASKS.search(text) or _INVERTED.search(text):
        return True
    return (
        text.endswith("?") and _STATES.search(text) is not None and not _INSIDE_OPEN.search(text)
        and not _NAMES_A_VALUE.match(text)
    )


def _wants_another(text: str) -> bool:
    """Return whether a question asks for more than yes or no."""
    return any((_OPEN.search(text), _OPENS_OPEN.match(text), _REQUEST.search(text)))
