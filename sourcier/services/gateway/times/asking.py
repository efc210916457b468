"""Of what time a question asks: of now, of a year gone by, or of how something changed."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from enum import Enum

from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import dates_in
from sourcier.services.index.times.periods import Period
from sourcier.services.index.times.questions import BEFORE_CHARACTERS, opening_of

_CHANGE = re.compile(
    r"\b(?:evolu|difference|compar|histor|changement|change[rs]?\b|modifi|versions?\b|successi|ancien|avant et apres|"
    r"auparavant|precedent|differ|change[ds]?\b|previous|former|older|over time|history)"
)
_PLANS = re.compile(
    r"\b(?:prevu|prevoi|projet|propos|envisag|brouillon|evoque|discut|planned|draft|proposal|future?s?\b|futures?\b|"
    r"prochain|bientot|a venir|sera\b|seront\b|will\b)"
)
_PAPER = re.compile(
    r"\b(?:note|circulaire|accord|avenant|compte rendu|decision|version|edition|arrete|memo)\b[^?]{0,30}$"
)


class Aim(Enum):
    """What of time a question wants."""

    NOW = "now"
    THEN = "then"
    CHANGE = "change"
    """Several times beside one another, or a document that it names by its date: nothing is put aside."""


@dataclass(frozen=True)
class AskedTime:
    """The time that a question asks of."""

    aim: Aim
    period: Period
    """The day of the question, or the time that it names."""
    plans: bool
    """Whether it asks for what is planned or proposed."""


def asked_time(question: str, *, today: date) -> AskedTime:
    """Return the time that a question asks of."""
    folded = fold_in_place(question)
    plans = _PLANS.search(folded) is not None
    now = Period(today, today)
    found = dates_in(question, years=True)
    if _CHANGE.search(folded) or len({each.period for each in found}) > 1:
        return AskedTime(Aim.CHANGE, now, plans)
    if not found:
        return AskedTime(Aim.NOW, now, plans)
    [each] = found[:1]
    before = folded[max(0, each.start - BEFORE_CHARACTERS) : each.start].replace("’", "'")
    if _PAPER.search(before) or opening_of(before) is not None:
        # « la note du 3 janvier 2024 », « avant 2023 »: which document is meant is for the search.
        return AskedTime(Aim.CHANGE, now, plans)
    return AskedTime(Aim.THEN, each.period, plans)
