"""When a document is of, from when to when it holds, and what it says that it replaces: read by rule from its title,
its name, its metadata and its beginning."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import date
from enum import Enum

from sourcier.services.gateway.clauses.tokens import Token, tokens_of
from sourcier.services.gateway.periods import Period
from sourcier.services.gateway.times.dates import Dated, date_of_name, dates_in, without_dates
from sourcier.services.index.language.stop_words import fold, fold_in_place

HEAD_CHARACTERS_MAX = 2_000
OPENING_CHARACTERS_MAX = 300
"""Of a document's beginning, in which a date without a word before it is the document's."""
TARGET_CHARACTERS_MAX = 160


class Origin(Enum):
    """Where a document's date was read."""

    METADATA = "metadata"
    TITLE = "title"
    TEXT = "text"
    NAME = "name"


@dataclass(frozen=True, slots=True)
class Replaced:
    """What a document says that it replaces, as it names it."""

    words: frozenset[str]
    """Its words, without dates and numbers."""
    dates: tuple[Period, ...]
    version: tuple[int, ...]
    """Of « version 1.2 »; empty for none."""
    everything: bool
    """« annule et remplace toutes les notes précédentes », « la précédente version »."""


@dataclass(frozen=True, slots=True)
class DocumentTimes:
    """What is known of when a document holds."""

    period: Period | None
    """Of its title, signature, publication: None where none is told."""
    origin: Origin | None
    start: date | None
    """Since when it holds: its date of effect, else the first day of its date."""
    end: date | None
    """Until when, where it says so."""
    version: tuple[int, ...]
    """Of « version 2.0 »; empty for none."""
    replaces: tuple[Replaced, ...]
    family: frozenset[str]
    """The words of its title, without dates and numbers."""

    def replaces_document(self, other: DocumentTimes) -> bool:
        """Return whether it says that it replaces the other one."""
        return any(_names(target, other, by=self) for target in self.replaces)


_METADATA = (
    "date_effet", "date_d_effet", "effective", "effective_date", "valid_from", "date", "date_document", "document_date",
    "signed", "date_signature", "published", "date_publication", "publication_date",
)
_UNTIL_METADATA = ("date_fin", "valid_until", "expires", "expiry", "end_date")
_EFFECT = re.compile(
    r"(?:entre(?:nt)? en vigueur|entree en vigueur|prend(?:ra|nent)? effet|prenant effet|date d['’ ]effet|"
    r"applicables? (?:a compter|a partir)|en vigueur (?:depuis|a compter|a partir)|effective (?:as of|from|date)|"
    r"in force (?:since|from)|(?:takes|taking) effect)[^.\n\d]{0,40}$"
)
_UNTIL = re.compile(
    r"(?:valables? jusqu['’ ]|en vigueur jusqu['’ ]|applicables? jusqu['’ ]|prend(?:ra)? fin|expire(?:ra)?|"
    r"valid until|expires|in force until)[^.\n\d]{0,30}$"
)
_SIGNED = re.compile(
    r"(?:fait a|signe a|fait le|en date du|date ?:|du ?:|mise? a jour|"
    r"(?:version|edition|revision|indice) ?[\d.]{1,12}|publiee? le|adoptee? le|dated|date:|updated|published|signed|"
    r"issued|emis le)[^.\n\d]{0,60}$"
)
_VERSION = re.compile(r"\b(?:version|v|rev(?:ision)?|edition|indice)\.?\s?(?P<version>\d{1,3}(?:\.\d{1,3}){0,3})\b")
_REPLACES = re.compile(
    r"\b(?:annulent|annule|abrogent|abroge|remplacent|remplace|se substituent?|cancels|supersedes|replaces|repeals)\b"
    r"(?:\s(?:et|and)\s(?:remplacent|remplace|abroge|annule|replaces|supersedes)\b)?"
    r"(?:\s(?:a|aux?)\b)?\s?(?P<target>(?:[^.;\n]|\.(?=\d)){3,160})"
)
_PREVIOUS = re.compile(r"\b(?:preceden|anterieu|previous|earlier|prior)")
# « remplace M. Dupont », « remplace le filtre »: what is replaced must be a document.
_PAPERS = re.compile(
    r"\b(?:version|note|notice|circulaire|instruction|procedure|reglement|accord|avenant|convention|charte|decision|"
    r"deliberation|arrete|decret|directive|consigne|document|texte|dispositions?|edition|organigramme|tarifs?|guide|"
    r"politique|fiche|contrat|protocole|annexe|precedente?|memo|policy|procedure|agreement|rules?|notice|circular|"
    r"handbook|manual|celle|celui|ceux|celles)"
)


def times_of(
    *, title: str, name: str, head: str, metadata: Mapping[str, object] | None = None
) -> DocumentTimes:
    """Return what is known of a document; `head` is its beginning."""
    opening = head[:HEAD_CHARACTERS_MAX]
    by_data = _by_data(metadata or {})
    dated = dates_in(opening, years=False)
    folded = fold_in_place(opening)
    effect = next(_after(_EFFECT, folded, dated), None)
    until = next(_after(_UNTIL, folded, dated), None)
    found = _own_date(title, name, opening, folded, dated, by_data)
    told_until = _first_date(by_data, _UNTIL_METADATA)
    end = told_until or until
    start = effect.start if effect is not None else found[0].start if found is not None else None
    spoken = f"{title}\n{name}\n{opening[:OPENING_CHARACTERS_MAX]}"
    return DocumentTimes(
        period=found[0] if found is not None else effect, origin=found[1] if found is not None else (
            None if effect is None else Origin.TEXT
        ),
        start=start, end=end.end if end is not None else None, version=_version(spoken), replaces=tuple(
            _replaced(folded)
        ), family=family_of(title or name),
    )


def date_outside_text(*, title: str, name: str, metadata: Mapping[str, object]) -> Period | None:
    """Return a document's date as its metadata, title or name tells it: for lists, which do without the texts."""
    found = _own_date(title, name, "", "", [], _by_data(metadata))
    return None if found is None else found[0]


def family_of(title: str) -> frozenset[str]:
    """Return the words by which documents of one kind are told: a title's, without dates, numbers and versions."""
    plain = without_dates(_VERSION.sub(" ", fold_in_place(title)))
    return frozenset(
        word for token in tokens_of(plain) if token.tells and not _is_figure(token) for word in (token.text,)
    )


def same_family(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether two titles are of editions of one document."""
    return bool(first) and bool(second) and len(first & second) >= 0.75 * len(first | second)


def _by_data(metadata: Mapping[str, object]) -> dict[str, str]:
    return {fold(str(key).casefold()).replace("-", "_"): str(value) for key, value in metadata.items()}


def _own_date(
    title: str, name: str, opening: str, folded: str, dated: list[Dated], by_data: Mapping[str, str]
) -> tuple[Period, Origin] | None:
    told = _first_date(by_data, _METADATA)
    if told is not None:
        return told, Origin.METADATA
    if in_title := dates_in(title, years=True):
        return in_title[-1].period, Origin.TITLE
    signed = next(_after(_SIGNED, folded, dated), None)
    if signed is not None:
        return signed, Origin.TEXT
    if named := date_of_name(name):
        return named, Origin.NAME
    first = next((each for each in dated if each.end <= OPENING_CHARACTERS_MAX), None)
    if first is not None and _alone(opening, first):
        return first.period, Origin.TEXT
    return None


def _alone(text: str, each: Dated) -> bool:
    """Return whether a date stands in a line that says nothing else: « Paris, le 3 mars 2024 », « Mars 2024 »."""
    start = text.rfind("\n", 0, each.start) + 1
    end = text.find("\n", each.end)
    line = text[start : len(text) if end < 0 else end]
    return len(line.split()) <= (each.end - each.start) // 5 + 6


def _first_date(by_data: Mapping[str, str], keys: tuple[str, ...]) -> Period | None:
    for key in keys:
        if key in by_data and (found := dates_in(by_data[key], years=True)):
            return found[0].period
    return None


def _after(pattern: re.Pattern[str], folded: str, dated: list[Dated]) -> Iterator[Period]:
    """Give the dates that stand behind such words."""
    for each in dated:
        if pattern.search(folded[max(0, each.start - 80) : each.start]):
            yield each.period


def _version(text: str) -> tuple[int, ...]:
    match = _VERSION.search(fold_in_place(text))
    if match is None:
        return ()
    numbers = [int(part) for part in match.group("version").split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _replaced(folded: str) -> Iterator[Replaced]:
    for match in _REPLACES.finditer(folded):
        target = match.group("target")[:TARGET_CHARACTERS_MAX]
        if not _PAPERS.search(target):
            continue
        yield Replaced(
            family_of(target), tuple(each.period for each in dates_in(target, years=True)), _version(target),
            _PREVIOUS.search(target) is not None,
        )


def _names(target: Replaced, other: DocumentTimes, *, by: DocumentTimes) -> bool:
    """Return whether what is replaced is the other document: by its date or version, and its kind."""
    if other.start is not None and by.start is not None and other.start > by.start:
        return False
    of_one_family = same_family(by.family, other.family)
    if target.version:
        return of_one_family and target.version == other.version
    kind = bool(target.words & other.family) or of_one_family
    if target.dates:
        return kind and other.period is not None and any(
            each.start <= other.period.start <= each.end or other.period.start <= each.start <= other.period.end
            for each in target.dates
        )
    if target.everything:
        return of_one_family
    # « remplace le règlement des astreintes »: nearly all of the other's title.
    return bool(other.family) and len(target.words & other.family) >= 0.75 * len(other.family) and len(
        other.family
    ) >= 2


def _is_figure(token: Token) -> bool:
    return token.text[:1].isdecimal()
