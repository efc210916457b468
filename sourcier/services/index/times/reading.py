"""Reads by rule when a document holds and what it replaces: from its title, its name, its metadata, its beginning, and
what is signed at its end."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from sourcier.services.index.language.light_words import CARRYING_NOTHING
from sourcier.services.index.language.stop_words import fold, fold_in_place
from sourcier.services.index.times.dates import Dated, date_of_name, dates_in, without_dates
from sourcier.services.index.times.document import (
    DateKind,
    DocumentDate,
    DocumentTimes,
    Origin,
    Relation,
    RelationKind,
)
from sourcier.services.index.times.periods import Period

RULES = 1
"""Of these rules: what earlier ones read is read again. Count it up with each change of what is read."""
HEAD_CHARACTERS_MAX = 2_000
TAIL_CHARACTERS_MAX = 600
"""Of a document's end, where only what is signed is read."""
OPENING_CHARACTERS_MAX = 300
"""Of a document's beginning, in which a date without a word before it is the document's."""
TARGET_CHARACTERS_MAX = 160
WORDS_CHARACTERS_MAX = 120
RELATIONS_MAX = 20

_METADATA: Mapping[DateKind, tuple[str, ...]] = {
    DateKind.EFFECT: ("date_effet", "date_d_effet", "effective", "effective_date", "valid_from"),
    DateKind.DOCUMENT: ("date", "date_document", "document_date"),
    DateKind.SIGNATURE: ("signed", "date_signature"),
    DateKind.PUBLICATION: ("published", "date_publication", "publication_date"),
    DateKind.END: ("date_fin", "valid_until", "expires", "expiry", "end_date"),
}
_EFFECT = re.compile(
    r"(?:entre(?:nt)? en vigueur|entree en vigueur|prend(?:ra|nent)? effet|prenant effet|date d['’ ]effet|"
    r"applicables? (?:a compter|a partir)|en vigueur (?:depuis|a compter|a partir)|effective (?:as of|from|date)|"
    r"in force (?:since|from)|(?:takes|taking) effect)[^.\n\d]{0,40}$"
)
_UNTIL = re.compile(
    r"(?:valables? jusqu['’ ]|en vigueur jusqu['’ ]|applicables? jusqu['’ ]|prend(?:ra)? fin|expire(?:ra)?|"
    r"valid until|expires|in force until)[^.\n\d]{0,30}$"
)
_OWN = re.compile(
    r"(?:(?P<signature>fait a|signe a|fait le|signe le|dated|signed)|"
    r"(?P<publication>mise? a jour|publiee? le|updated|published|issued|emis le)|"
    r"en date du|date ?:|du ?:|(?:version|edition|revision|indice) ?[\d.]{1,12}|adoptee? le|date:)[^.\n\d]{0,60}$"
)
_SIGNED_AT_END = re.compile(r"(?:fait|signe|done|signed) (?:a|le|at|in|on)\b[^.\n\d]{0,60}$")
_VERSION = re.compile(r"\b(?:version|v|rev(?:ision)?|edition|indice)\.?\s?(?P<version>\d{1,3}(?:\.\d{1,3}){0,3})\b")
_TARGET = r"(?P<target>(?:[^.;\n]|\.(?=\d)){3,160})"
_REPLACES = re.compile(
    r"\b(?:annulent|annule|abrogent|abroge|remplacent|remplace|se substituent?|cancels|supersedes|replaces|repeals)\b"
    r"(?:\s(?:et|and)\s(?:remplacent|remplace|abroge|annule|replaces|supersedes)\b)?"
    rf"(?:\s(?:a|aux?)\b)?\s?{_TARGET}"
)
_AMENDS = re.compile(rf"\b(?:modifient|modifie|modifiant|completent|complete|amends|amending)\s{_TARGET}")
_RIDER = re.compile(rf"\b(?:avenant|rider|amendment)\s(?:n ?[°ºo]? ?)?\d{{1,4}}\s(?:du \S{{1,12}} \S{{1,12}} \d{{4}} )?"
                    rf"(?:a l['’]|au|a la|a|to(?: the)?)\s?{_TARGET}")
_PREVIOUS = re.compile(r"\b(?:preceden|anterieu|previous|earlier|prior)")
_PART = re.compile(
    r"^(?:l['’]|les? |la |the )?(?P<part>(?:article|paragraphe|alinea|annexe|chapitre|section|point|titre|clause|"
    r"paragraph|appendix|annex|chapter)s? [a-z]{0,2}\.? ?\d[\w.-]{0,8}) (?:et [\w.-]{1,8} )?(?:de|du|des|of)\b"
)
# « remplace M. Dupont », « remplace le filtre »: what is replaced must be a document.
_PAPERS = re.compile(
    r"\b(?:version|note|notice|circulaire|instruction|procedure|reglement|accord|avenant|convention|charte|decision|"
    r"deliberation|arrete|decret|directive|consigne|document|texte|dispositions?|edition|organigramme|tarifs?|guide|"
    r"politique|fiche|contrat|protocole|annexe|precedente?|memo|policy|procedure|agreement|rules?|notice|circular|"
    r"handbook|manual|celle|celui|ceux|celles)"
)
_WORD = re.compile(r"[^\W\d_]{1,5}\d\w*|[^\W\d_]+")


@dataclass(frozen=True)
class _Text:
    """A part of a document's text with the dates in it."""

    text: str
    folded: str
    dated: list[Dated]

    @classmethod
    def of(cls, text: str) -> _Text:
        return cls(text, fold_in_place(text), dates_in(text, years=False))

    def after(self, pattern: re.Pattern[str]) -> Iterator[tuple[Dated, re.Match[str]]]:
        """Give the dates that stand behind such words."""
        for each in self.dated:
            if match := pattern.search(self.folded[max(0, each.start - 80) : each.start]):
                yield each, match

    def words(self, each: Dated) -> str:
        """Return the line of a date, from at most so many characters before it."""
        start = max(self.text.rfind("\n", 0, each.start) + 1, each.end - WORDS_CHARACTERS_MAX, 0)
        return self.text[start : each.end].strip()


def times_of(
    *, title: str, name: str, head: str, tail: str = "", metadata: Mapping[str, object] | None = None
) -> DocumentTimes:
    """Return what is known of a document; `head` is its beginning, `tail` its end where that is another part."""
    opening = _Text.of(head[:HEAD_CHARACTERS_MAX])
    spoken = f"{title}\n{name}\n{opening.text[:OPENING_CHARACTERS_MAX]}"
    found = (*_of_metadata(metadata or {}), *_of_title(title), *_of_text(opening), *_of_end(tail), *_of_name(name),
             *_of_a_line(opening))
    dates: dict[DateKind, DocumentDate] = {}
    for each in found:
        dates.setdefault(each.kind, each)
    return DocumentTimes(tuple(dates.values()), _version(spoken), tuple(_relations(opening, title)), family_of(
        title or name
    ))


def date_outside_text(*, title: str, name: str, metadata: Mapping[str, object]) -> Period | None:
    """Return a document's date as its metadata, title or name tells it: for lists, which do without the texts."""
    return times_of(title=title, name=name, head="", metadata=metadata).period


def family_of(title: str) -> frozenset[str]:
    """Return the words by which documents of one kind are told: a title's, without dates, numbers and versions."""
    plain = without_dates(_VERSION.sub(" ", fold_in_place(title)))
    words = (fold(word) for word in _WORD.findall(plain))
    return frozenset(word for word in words if len(word) >= 2 and word not in CARRYING_NOTHING)


def _of_metadata(metadata: Mapping[str, object]) -> Iterator[DocumentDate]:
    by_key = {fold(str(key).casefold()).replace("-", "_"): str(value) for key, value in metadata.items()}
    for kind, keys in _METADATA.items():
        for key in keys:
            if key in by_key and (found := dates_in(by_key[key], years=True)):
                words = f"{key}: {by_key[key]}"[:WORDS_CHARACTERS_MAX]
                yield DocumentDate(kind, found[0].period, Origin.METADATA, words)
                break


def _of_title(title: str) -> Iterator[DocumentDate]:
    if found := dates_in(title, years=True):
        yield DocumentDate(DateKind.DOCUMENT, found[-1].period, Origin.TITLE)


def _of_text(opening: _Text) -> Iterator[DocumentDate]:
    for kind, pattern in ((DateKind.EFFECT, _EFFECT), (DateKind.END, _UNTIL)):
        yield from _first(kind, opening, pattern)
    for each, match in opening.after(_OWN):
        kind = DateKind(match.lastgroup) if match.lastgroup else DateKind.DOCUMENT
        yield DocumentDate(kind, each.period, Origin.TEXT, opening.words(each))


def _of_end(tail: str) -> Iterator[DocumentDate]:
    yield from _first(DateKind.SIGNATURE, _Text.of(tail[-TAIL_CHARACTERS_MAX:]), _SIGNED_AT_END)


def _of_name(name: str) -> Iterator[DocumentDate]:
    if found := date_of_name(name):
        yield DocumentDate(DateKind.DOCUMENT, found, Origin.NAME)


def _of_a_line(opening: _Text) -> Iterator[DocumentDate]:
    first = next((each for each in opening.dated if each.end <= OPENING_CHARACTERS_MAX), None)
    if first is not None and _alone(opening.text, first):
        yield DocumentDate(DateKind.DOCUMENT, first.period, Origin.TEXT, opening.words(first))


def _first(kind: DateKind, text: _Text, pattern: re.Pattern[str]) -> Iterator[DocumentDate]:
    for each, _ in text.after(pattern):
        yield DocumentDate(kind, each.period, Origin.TEXT, text.words(each))
        return


def _alone(text: str, each: Dated) -> bool:
    """Return whether a date stands in a line that says nothing else: « Paris, le 3 mars 2024 », « Mars 2024 »."""
    start = text.rfind("\n", 0, each.start) + 1
    end = text.find("\n", each.end)
    line = text[start : len(text) if end < 0 else end]
    return len(line.split()) <= (each.end - each.start) // 5 + 6


def _version(text: str) -> tuple[int, ...]:
    match = _VERSION.search(fold_in_place(text))
    if match is None:
        return ()
    numbers = [int(part) for part in match.group("version").split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)


def _relations(opening: _Text, title: str) -> Iterable[Relation]:
    found = [
        relation
        for kind, pattern, texts in (
            (RelationKind.REPLACES, _REPLACES, (opening,)),
            (RelationKind.AMENDS, _AMENDS, (opening,)),
            (RelationKind.RIDER, _RIDER, (_Text(title, fold_in_place(title), []), opening)),
        )
        for text in texts for match in pattern.finditer(text.folded)
        if (relation := _relation(kind, text, match)) is not None
    ]
    riders = [each for each in found if each.kind is RelationKind.RIDER]
    return [each for each in found if each not in riders[1:]][:RELATIONS_MAX]


def _relation(kind: RelationKind, text: _Text, match: re.Match[str]) -> Relation | None:
    target = match.group("target")[:TARGET_CHARACTERS_MAX]
    if not _PAPERS.search(target):
        return None
    part = _PART.search(target)
    if part is not None:
        target = target[part.end() :]
        kind = RelationKind.AMENDS if kind is RelationKind.REPLACES else kind
    end = min(match.end("target"), match.start() + WORDS_CHARACTERS_MAX)
    return Relation(
        family_of(target), tuple(each.period for each in dates_in(target, years=True)), _version(target),
        _PREVIOUS.search(target) is not None, kind, "" if part is None else part.group("part"),
        text.text[match.start() : end].strip(),
    )
