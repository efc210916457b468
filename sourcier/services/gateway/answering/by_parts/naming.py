"""Which documents of a collection a part of a question is about: by kind and number, letter or date, or by title."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sourcier.services.gateway.answering.by_parts.asking import PARTS_MAX, Family, Form, Several
from sourcier.services.gateway.answering.collection_questions import CollectionQuestion, Wanted
from sourcier.services.gateway.clauses import lexicon
from sourcier.services.gateway.prompting.marking import defused, one_line
from sourcier.services.index.documents.titles import DocumentTitle
from sourcier.services.index.language.stop_words import fold_in_place
from sourcier.services.index.times.dates import dates_in
from sourcier.services.index.times.periods import Period
from sourcier.services.index.times.reading import date_outside_text

NAMED_MAX = 3
"""Documents that a name without a number may stand for: what many are called names none of them."""
WORD_CHARACTERS_MIN = 4
_WORD = re.compile(r"[^\W_]+")
_LIGHT = lexicon.words(
    "le la les l d de du des un une et en au aux a n no numero numeros celui celle the of and in for to dit que sur "
    "document documents texte fichier"
)
_AMENDING = re.compile(
    r"\b(?:avenants?|rectificatifs?|modificati(?:f|ve|on)s?|amendements?|amendments?|modifie|modifiant|riders?|errat(?:um|a)|"
    r"revision|mise a jour)\b"
)
TITLE_CHARACTERS_MAX = 100


@dataclass(frozen=True)
class Part:
    """One part of a question."""

    label: str
    """What it is about, as it is shown."""
    question: str
    topic: str = ""
    """What is asked of its documents; empty where that is the question."""
    document_ids: tuple[str, ...] = ()
    """The documents that it is about; empty where all are searched."""
    missing: bool = False
    """Whether the document that it is about is not in the collection."""

    @property
    def is_whole(self) -> bool:
        """Whether it asks what its documents say, not what they say of something."""
        return bool(self.document_ids) and not self.topic


@dataclass(frozen=True)
class Parted:
    """A question in parts, and the documents that they are about."""

    form: Form
    parts: tuple[Part, ...]
    left_out: int = 0
    """Documents of a family beyond those that are asked."""


def parted(several: Several, titles: Sequence[DocumentTitle] | None, *, language: str) -> Parted | None:
    """Return a question's parts with their documents; None where it names none, and is one question after all.

    `titles` are all documents of the collections; None where that is not known.
    """
    if not several.form.names_documents:
        return Parted(several.form, tuple(Part(label, several.ask(label)) for label in several.labels))
    if titles is None:
        return None
    named = [Named.of(each) for each in titles]
    if several.family is not None:
        return _of_family(several, several.family, named, language=language)
    documents = [named_by(label, named) for label in several.labels]
    found = [each for each in documents if each]
    # Two names of one document are one thing. Where none is a document's, its text may have parts of these names.
    if not found or len(set(documents)) < len(documents) or (
        len(found) < len(documents) and not several.are_identified and not _is_named_like(several, documents)
    ):
        return None
    return Parted(several.form, tuple(
        Part(label, several.ask(label), several.topic, tuple(each.title.document_id for each in of_label),
             missing=not of_label)
        for label, of_label in zip(several.labels, documents, strict=True)
    ))


def _is_named_like(several: Several, documents: Sequence[tuple[Named, ...]]) -> bool:
    """Return whether the labels that no document has are called as those are that some have: « la charte A » and B."""
    kinds = {_words(label)[:1] for label, found in zip(several.labels, documents, strict=True) if found}
    return all(_words(label)[:1] in kinds for label, found in zip(several.labels, documents, strict=True) if not found)


def _of_family(
    several: Several, family: Family, named: Sequence[Named], *, language: str
) -> Parted | None:
    of_kind = CollectionQuestion(Wanted.LIST, family.kind)
    found = [each for each in named if of_kind.is_of_kind(each.name)]
    if family.amending:
        found = [each for each in found if _AMENDING.search(fold_in_place(each.name)) is not None]
    if family.period is not None:
        wanted = family.period
        found = [each for each in found if each.period is not None and wanted.holds(each.period)]
    # One document alone is asked for as any other: by its question.
    if len(found) < 2 and not (found and family.amending):
        return None
    if len(found) > PARTS_MAX and not family.kind and family.period is None:
        # « Qui signe ? » asks of a file, not of all documents that there are.
        return None
    latest = sorted(found, key=lambda each: each.order, reverse=True)[:PARTS_MAX]
    shown = sorted(latest, key=lambda each: each.order)
    return Parted(several.form, tuple(
        Part(each.shown, several.ask(f"« {each.shown} »" if language == "fr" else f"“{each.shown}”"), several.topic,
             (each.title.document_id,))
        for each in shown
    ), left_out=len(found) - len(shown))


@dataclass(frozen=True, eq=False)
class Named:
    """A document as it may be named."""

    title: DocumentTitle
    name: str
    words: frozenset[str]
    period: Period | None

    @classmethod
    def of(cls, title: DocumentTitle) -> Named:
        """Read a document's names."""
        name = f"{title.title} {title.filename}"
        return cls(title, name, frozenset(_words(name)), period_of(title))

    @property
    def shown(self) -> str:
        """Its name as it is shown."""
        name = defused(one_line(self.title.title or self.title.filename))
        return name if len(name) <= TITLE_CHARACTERS_MAX else f"{name[:TITLE_CHARACTERS_MAX].rstrip()} …"

    @property
    def order(self) -> tuple[str, tuple[tuple[int, int, str], ...]]:
        """What documents of a family are put in order by: their dates, then their names, numbers as numbers."""
        return ("" if self.period is None else self.period.start.isoformat()), tuple(
            (0, int(word), "") if word.isdecimal() else (1, 0, word)
            for word in _WORD.findall(self.title.title.casefold())
        )


def period_of(title: DocumentTitle) -> Period | None:
    """Return a document's date as it is stored; of one that nobody read yet, as title, name and metadata tell it."""
    if title.dated_from is not None and title.dated_to is not None:
        return Period(title.dated_from, title.dated_to)
    if title.is_read:
        return None
    return date_outside_text(title=title.title, name=title.filename, metadata=title.metadata)


def named_by(label: str, named: Iterable[Named]) -> tuple[Named, ...]:
    """Return the documents that a label names; none where it names none, or may be any of many."""
    dates = dates_in(label, years=True)
    period = dates[0].period if len(dates) == 1 else None
    rest = label if period is None else f"{label[: dates[0].start]} {label[dates[0].end :]}"
    words = frozenset(_words(rest))
    if not words or not any(len(word) >= WORD_CHARACTERS_MIN or word.isdecimal() for word in words):
        return ()
    found = [
        each for each in named if words <= each.words and (period is None or _is_of(each, period))
    ]
    exact = [each for each in found if frozenset(_words(each.title.title)) == words]
    found = exact or found
    if _AMENDING.search(fold_in_place(label)) is None:
        # « Avenant n° 2 au bail » bears the name of what it changes, and is not called so.
        found = [each for each in found if _AMENDING.search(fold_in_place(each.title.title)) is None] or found
    return tuple(found) if len(found) <= NAMED_MAX else ()


def _is_of(each: Named, period: Period) -> bool:
    """Return whether a document is of a date, or has it in its name."""
    if each.period is not None and period.holds(each.period):
        return True
    return any(date.period == period for date in dates_in(each.name, years=True))


def _words(text: str) -> tuple[str, ...]:
    """Return what tells a name from others: words in one number, numbers, and capitals that stand alone."""
    found = []
    for match in _WORD.finditer(text):
        typed = match.group()
        word = fold_in_place(typed)
        if len(typed) == 1 and typed.isalpha():
            # « Note A » is not « note à … ».
            found += [typed] if typed.isupper() else []
        elif word.isdecimal():
            found.append(word.lstrip("0") or "0")
        elif word not in _LIGHT:
            found.append(word if len(word) < WORD_CHARACTERS_MIN else word.rstrip("s"))
    return tuple(found)
