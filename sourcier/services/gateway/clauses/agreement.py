"""Whether a sentence says what a passage's clauses say, as far as frames tell: affirmed or denied, done or planned.

Only a clause that holds nearly all of the sentence's words is compared, and one that agrees is enough. What cannot be
told agrees: this takes away what speaks against a clause, and confirms nothing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from enum import Enum

from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.clauses.cutting import Clause, clauses_of
from sourcier.services.gateway.clauses.frame import Frame, Status, frame_of
from sourcier.services.gateway.clauses.sides import all_told, excepted, side
from sourcier.services.gateway.clauses.tokens import Token, forms_in, has, tokens_of, told_by

SHARE_MIN = 0.8
"""Of a sentence's words that a clause must hold to be compared."""
LEAD = 0.15
"""What a clause may hold less than the best one and still be heard."""
CONTENT_MIN = 2

_ANSWERED = re.compile(r"\W*(oui|non|si|yes|no)\b[*_\s]*+(?=[,.:;!—–-]|$)[\s,.:;!—–-]*", re.IGNORECASE)
_YES = frozenset({"oui", "si", "yes"})


class Difference(Enum):
    """How a sentence's frame differs from its clause's."""

    DENIAL = "denial"
    """One affirms what the other denies."""
    EXCEPTION = "exception"
    """The sentence affirms what the clause excepts."""
    CONDITION = "condition"
    """The sentence leaves out what the clause makes it depend on."""
    PLAN = "plan"
    HYPOTHESIS = "hypothesis"
    REJECTION = "rejection"
    CLAIM = "claim"


_STATUSES = {
    Status.PLANNED: Difference.PLAN, Status.HYPOTHESIS: Difference.HYPOTHESIS, Status.REJECTED: Difference.REJECTION,
    Status.CLAIMED: Difference.CLAIM,
}


@dataclass(frozen=True)
class Disagreement:
    """A difference, and where the clause stands in its passage."""

    difference: Difference
    start: int
    end: int
    lead: tuple[int, int] | None = None
    """The line that leads in to it."""


@dataclass(frozen=True)
class Answered:
    """A sentence of an answer to a yes/no question."""

    yes: bool | None
    """What its first word says; None for no such word."""
    rest: str


def answered(sentence: str) -> Answered:
    """Return a sentence's first word where it is yes or no, and the rest."""
    match = _ANSWERED.match(sentence)
    if match is None:
        return Answered(None, sentence)
    return Answered(match.group(1).casefold() in _YES, sentence[match.end() :])


class Clauses:
    """The clauses of one passage, cut once for all sentences of an answer."""

    def __init__(self, text: str, context: str, *, today: date) -> None:
        self._today = today
        self._framed = [
            (clause, frame_of(clause.tokens, today=today), forms_in((*clause.tokens, *clause.subject, *clause.context)))
            for clause in clauses_of(text, context)
        ]

    def disagreement(self, sentence: str, question: str) -> Disagreement | None:
        """Return how a sentence's frame differs from that of every clause it may rest on; None where one agrees.

        A condition that the question names need not be said again.
        """
        asked_forms = forms_in(tokens_of(question))
        for said in clauses_of(answered(sentence).rest):
            found = self._of_clause(said, asked_forms)
            if found is not None:
                return found
        return None

    def compares(self, sentence: str) -> bool:
        """Return whether a clause holds nearly all words of a sentence, so that it says the same or speaks against it.
        """
        return any(
            sum(told_by(token, forms) for token in content) >= SHARE_MIN * len(content)
            for said in clauses_of(answered(sentence).rest)
            if (content := [token for token in said.tokens if token.tells and token.text not in lexicon.POLES])
            for _, _, forms in self._framed
        )

    def _of_clause(self, said: Clause, asked_forms: frozenset[str]) -> Disagreement | None:
        content = [token for token in said.tokens if token.tells and token.text not in lexicon.POLES]
        own = frame_of(said.tokens, today=self._today)
        if len(content) + bool(own.poles) < CONTENT_MIN or own.denied is None:
            return None
        shares = [
            (sum(told_by(token, forms) for token in content) / max(1, len(content)), clause, frame)
            for clause, frame, forms in self._framed
        ]
        best = max((share for share, _, _ in shares), default=0.0)
        first: Disagreement | None = None
        for share, clause, frame in sorted(shares, key=lambda each: -each[0]):
            if share < max(SHARE_MIN, best - LEAD):
                break
            difference = _difference(said.tokens, own, clause.tokens, frame, asked_forms)
            if difference is None:
                return None
            first = first or Disagreement(difference, clause.start, clause.end, clause.lead)
        return first


_ALL = lexicon.words("tous toutes tout toute toujours systematiquement all every always any everyone chaque")
_BOUNDED = lexicon.phrases(
    "de moins de|de plus de|des moins de|des plus de|ages de|agees de|age de|reserve a|reservee a|aged|under|over"
)


def _is_widened(tokens: Sequence[Token], own: Frame, clause: Sequence[Token], frame: Frame) -> bool:
    """Return whether a sentence says of all what its clause says of some, or on a condition: « toujours »."""
    if not any(token.text in _ALL for token in tokens) or any(token.text in _ALL for token in clause):
        return False
    if own.conditions or own.exceptions or own.restricted or has(tokens, _BOUNDED):
        return False
    return bool(frame.conditions or frame.exceptions) or has(clause, _BOUNDED)


def _denies_what_is_shared(frame: Frame, others: Sequence[Token]) -> bool:
    return frame.denied_head is None or told_by(frame.denied_head, forms_in(others))


def _difference(
    tokens: Sequence[Token], own: Frame, clause: Sequence[Token], frame: Frame, asked_forms: frozenset[str]
) -> Difference | None:
    if own.status is Status.FACT and frame.status in _STATUSES:
        return _STATUSES[frame.status]
    if frame.status is Status.REJECTED or any(scale not in frame.poles and scale not in lexicon.TRANSPARENT
                                              for scale in own.poles):
        return None
    standing = side(own, frame)
    if excepted(tokens, frame) == "asked" and not own.exceptions:
        return Difference.EXCEPTION if standing > 0 else None
    if standing < 0:
        # « L'influence ne dépasse pas le fleuve, où commence la forêt » denies nothing of the forest.
        told = _denies_what_is_shared(own, frame.main) and _denies_what_is_shared(frame, tokens)
        return Difference.DENIAL if told else None
    if standing > 0 and _is_widened(tokens, own, clause, frame):
        return Difference.CONDITION
    if standing > 0 and not own.denied and not own.conditions and not own.restricted:
        forms = forms_in(tokens) | asked_forms
        if any(each.strong and not all_told(each.tokens, forms) for each in frame.conditions):
            return Difference.CONDITION
    return None
