"""What an identifier is, and the one form that all ways of writing it have in common."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from sourcier.services.index.language.stop_words import fold

FORM_CHARACTERS_MAX = 64
"""Longer runs are not identifiers (hashes, base64)."""

_GROUPS = re.compile(r"\d+|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Reading:
    """How a recogniser understands what it matched."""

    forms: tuple[str, ...]
    """The normal form, and other normal forms that stand for the same."""
    sure: bool = True
    """Whether nothing but an identifier is written like this; `4 mars 2024` or `Covid-19` may be just a subject."""
    parts: tuple[str, ...] = ()
    """Normal forms that people use for it though others share them: the number of an article, the SIREN of a SIRET."""
    joined: str = ""
    """All of it without separators, where that differs from every form."""


@dataclass(frozen=True, slots=True)
class Identifier:
    """An identifier in a text."""

    written: str
    """As the text has it."""
    kind: str
    """The name of its recogniser."""
    reading: Reading

    @property
    def forms(self) -> tuple[str, ...]:
        """Its normal forms: two identifiers that share one are the same."""
        return self.reading.forms

    @property
    def sure(self) -> bool:
        """Whether nothing but an identifier is written like this."""
        return self.reading.sure


def groups_of(code: str) -> list[str]:
    """Return the runs of letters and the runs of digits of a code, folded and in lower case."""
    return _GROUPS.findall(fold(code.casefold()))


def normal_form(code: str) -> str:
    """Return the runs of letters and of digits, joined by dashes: `PX-1200/B`, `px1200b` and `PX 1200 B` are one.

    Runs of digits stay apart: `L1121-1` is not `L112-11`.
    """
    return "-".join(groups_of(code))


def without_separators(code: str) -> str:
    """Return the letters and digits of a code where writing them joined loses where a run ends, else nothing.

    `FOR-RH-012` and `2022-58645`, whose joined forms `forrh012` and `202258645` have other runs.
    """
    groups = groups_of(code)
    same = any(one.isdigit() == other.isdigit() for one, other in itertools.pairwise(groups))
    return "".join(groups) if same else ""
