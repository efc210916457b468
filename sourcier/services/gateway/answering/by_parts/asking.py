"""A question on several documents or of several things, in parts: what is asked of each, and of what."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from functools import cached_property

from sourcier.services.gateway.answering.collection_questions import KINDS
from sourcier.services.gateway.computing.asking import as_typed
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import dates_in
from sourcier.services.index.times.periods import Period

PARTS_MAX = 6
"""Of one answer: each is a search, and may be a generation."""
LABEL_CHARACTERS_MAX = 80
DATE = "\x01"
"""Stands for each character of a date in `Said.plain`."""


class Form(Enum):
    """How a question asks for several things."""

    DIFFERENCE = "difference"
    """What two documents say differently."""
    DOCUMENTS = "documents"
    """The same of several documents, each named."""
    FAMILY = "family"
    """The same of all documents of a kind, or of a time."""
    THINGS = "things"
    """The same of several things: « les horaires de la mairie et de la piscine »."""
    QUESTIONS = "questions"
    """Several questions in one."""

    @property
    def names_documents(self) -> bool:
        """Whether its parts are looked up among the collection's documents."""
        return self not in (Form.THINGS, Form.QUESTIONS)


@dataclass(frozen=True)
class Family:
    """Documents that are asked for by their kind and time."""

    kind: str
    """As it was asked; empty for any kind."""
    period: Period | None
    amending: bool = False
    """Only those that change another one: « toutes les modifications de 2024 »."""


@dataclass(frozen=True)
class Several:
    """A question in parts."""

    form: Form
    labels: tuple[str, ...]
    """What each part is about, as it is shown; empty for a family, whose documents are not known yet."""
    ask: Callable[[str], str]
    """Makes the question of one part from its label."""
    topic: str = ""
    """What is asked of each document; empty where the whole of it is."""
    family: Family | None = None
    are_identified: bool = False
    """Whether the labels name documents surely, by a kind and a number, letter or date."""


@dataclass(frozen=True)
class Said:
    """A question as it was typed, and folded at the same places, its dates blanked."""

    typed: str
    plain: str
    dates: tuple[tuple[int, int, Period], ...]
    language: str

    @classmethod
    def of(cls, question: str, *, language: str) -> Said:
        """Read a question."""
        typed = as_typed(question)
        plain = fold_in_place(typed)
        for letter in _CAPITAL.finditer(typed):
            # « la note A » is not « la note a … ».
            plain = f"{plain[: letter.start()]}{letter.group()}{plain[letter.end() :]}"
        dates = tuple((each.start, each.end, each.period) for each in dates_in(typed, years=True))
        for start, end, _ in dates:
            plain = f"{plain[:start]}{DATE * (end - start)}{plain[end:]}"
        return cls(typed, plain, dates, language)

    def period_in(self, start: int, end: int) -> Period | None:
        """Return the one date of a part of the question; None for none, and for several."""
        found = [period for first, last, period in self.dates if start <= first and last <= end]
        return found[0] if len(found) == 1 else None

    @cached_property
    def is_french(self) -> bool:
        """Whether parts are worded in French."""
        return self.language == "fr"


_CAPITAL = re.compile(r"\A[A-Z]\Z|(?<=[^\w'-])(?:[A-HJ-Z]|[IVX]{2,4})(?![\w'-])")
DETERMINER = r"(?:(?:l'|d'|le |la |les |du |de la |de l'|des |cette |ce |cet |ces |the |this |that )(?:meme )?)?"
_NUMBER_SIGN = r"(?:n° ?|n o |no\.? ?|n\. ?|numeros? |nos |numbers? |# ?)?"
_IDENTIFIER = rf"(?:\d[\w./-]*|[a-z]\d[\w./-]*|[A-Z]{{1,4}}\b|(?:du |de |d'|of |from |dated )?{DATE}+)"
DOCUMENT = re.compile(
    rf"(?:(?:celui|celle|ceux|celles|that|those) (?:de |du |des |of )?)?{DETERMINER}"
    rf"(?P<kind>{KINDS})\s{_NUMBER_SIGN}(?P<identifier>{_IDENTIFIER})(?![\w])"
)
"""A document by its kind and a number, a letter or a date: « l'avenant n° 58 », « la note de service du 3 mai »."""
ELLIPTIC = re.compile(
    rf"(?:celui |celle |ceux |celles |le |la |l'|les |the |that )?{_NUMBER_SIGN}(?P<identifier>{_IDENTIFIER})(?![\w])"
)
"""Another one of the same kind: « le 59 », « celle de 2023 »."""
AND = r"(?:\s?,\s(?:et\s|and\s)?|\s(?:et|and)\s)"
"""What stands between things of a row."""
JOINT = re.compile(r"\s?,\s(?:et\s|and\s)?|\s(?:et|and|&)\s(?:dans\s|in\s|selon\s|pour\s|de\s)?")


@dataclass(frozen=True)
class Listed:
    """Documents that are named one after the other."""

    start: int
    end: int
    labels: tuple[str, ...]


def identified(said: Said) -> Listed | None:
    """Return the first row of at least two documents named by kind and identifier; None where there is none."""
    for first in DOCUMENT.finditer(said.plain):
        kind = _in_one(said.typed[first.start("kind") : first.end("kind")])
        labels, end = [_label(kind, said, first)], first.end()
        while (joint := JOINT.match(said.plain, end)) is not None:
            other = DOCUMENT.match(said.plain, joint.end()) or ELLIPTIC.match(said.plain, joint.end())
            if other is None:
                break
            if "kind" in other.groupdict():
                kind = _in_one(said.typed[other.start("kind") : other.end("kind")])
            labels.append(_label(kind, said, other))
            end = other.end()
        if len(labels) > 1 and len(set(labels)) == len(labels):
            return Listed(first.start(), end, tuple(labels))
    return None


def _label(kind: str, said: Said, match: re.Match[str]) -> str:
    return f"{kind} {said.typed[match.start('identifier') : match.end('identifier')]}"


def _in_one(kind: str) -> str:
    """Return a kind in the singular: « avenants » as « avenant »."""
    if kind.casefold() in ("devis", "avis", "pv", "minutes"):
        return kind
    if kind.casefold().endswith(("verbaux", "policies")):
        return kind.replace("verbaux", "verbal").replace("policies", "policy")
    return " ".join(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
                    for word in kind.split(" "))


def with_kind(labels: Sequence[str]) -> tuple[str, ...]:
    """Return labels of which an elliptic one has the kind of the one before: « l'avenant 58 », « l'avenant 59 »."""
    found: list[str] = []
    kind = ""
    for label in labels:
        said = Said.of(label, language="fr")
        match = DOCUMENT.fullmatch(said.plain)
        if match is not None:
            kind = _in_one(said.typed[match.start("kind") : match.end("kind")])
        elif kind:
            match = ELLIPTIC.fullmatch(said.plain)
        found.append(label if match is None else _label(kind, said, match))
    return tuple(found)


def is_identified(label: str) -> bool:
    """Return whether a label names a document by its kind and a number, letter or date."""
    return DOCUMENT.fullmatch(Said.of(label, language="fr").plain) is not None


def capitalised(text: str) -> str:
    """Return a text that begins with a capital."""
    return f"{text[:1].upper()}{text[1:]}"
