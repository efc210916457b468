"""What comparing a sentence with a passage comes to, and what that rests on."""

from __future__ import annotations

from enum import Enum, IntEnum


class Finding(IntEnum):
    """What a comparison came to, best first."""

    SUPPORTED = 0
    """The wording is the passage's, and nothing speaks against it."""
    UNCHECKED = 1
    """The wording could not be compared."""
    NOT_CONFIRMED = 2
    """The wording is the passage's, but the judge or the entailment model does not confirm it."""
    NEGATION_ADDED = 3
    NAME_ABSENT = 4
    UNDECIDED = 5
    """It answers a yes/no question by a word that no clause bears out."""
    CONTRADICTED = 6
    """The wording is a clause's, which says it otherwise: denied, planned, on a condition."""
    FIGURE_ABSENT = 7
    OFF_TOPIC = 8

    @property
    def shown(self) -> bool:
        """Whether a sentence of this finding may be shown whatever the strictness."""
        return self <= Finding.NAME_ABSENT


class Basis(Enum):
    """What a verdict rests on, beside wording, figures, names and negations."""

    WORDING = "wording"
    JUDGED = "judged"
    """The language model was asked."""
    ENTAILED = "entailed"
    """An entailment model was asked."""
