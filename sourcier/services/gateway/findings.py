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
    NOT_TOLD = 3
    """The wording is the passage's, but a reader of its closest sentences does not find that they say it."""
    NEGATION_ADDED = 4
    NAME_ABSENT = 5
    UNDECIDED = 6
    """It answers a yes/no question by a word that no clause bears out."""
    CONTRADICTED = 7
    """The passage says it otherwise: denied, planned, on a condition; or a reader finds that it says something else."""
    FIGURE_ABSENT = 8
    OFF_TOPIC = 9

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
    """An entailment model was asked about whole passages."""
    READ = "read"
    """A reader was asked about the passages' closest sentences."""
