"""Reads by rule when a document holds and what it replaces: from its title, its name, its metadata, its beginning, and
what is signed at its end."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sourcier.services.index.language.light_words import CARRYING_NOTHING
from sourcier.services.index.language.stop_words import fold, fold_in_place
from sourcier.services.index.times.dates import Dated, date_of_name, dates_in, without_dates
from sourcier.services.index.times.document import (
    NUMBER_MARK,
    PAPERS,
    DateKind,
    DocumentDate,
    DocumentTimes,
    Origin,
    Relation,
    RelationKind,
)
from sourcier.services.index.times.periods import Period

RULES = 4
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
    r"applicables? (?:a compter|a partir|au|des)|en vigueur (?:depuis|a compter|a partir|au|des|le)|"
    r"(?:a|avec) effet (?:du|au)|date d['’ ]application|effective (?:as of|from|date)|"
    r"in force (?:since|from)|(?:takes|taking) effect)[^.\n\d]{0,40}$"
)
_UNTIL = re.compile(
    r"(?:valables? jusqu['’ ]|en vigueur jusqu['’ ]|applicables? jusqu['’ ]|prend(?:ra)? fin|expire(?:ra)?|"
    r"valid until|expires|in force until)[^.\n\d]{0,30}$"
)
_OWN = re.compile(
    r"(?:(?P<signature>(?:fait|signe|conclu) (?:a|le|en)\b|dated|signed)|"
    r"(?P<publication>mise? a jour|publiee? le|updated|published|issued|emis le)|"
    r"en date du|date ?:|du ?:|(?:version|edition|revision|indice) ?[\d.]{1,12}|(?:version|edition|revision) (?:du|of)|"
    r"adoptee? le|date:)[^.\n\d]{0,60}$"
)
_SIGNED_AT_END = re.compile(r"(?:fait|signe|conclu|done|signed) (?:a|le|en|at|in|on)\b[^.\n\d]{0,60}$")
_VERSION = re.compile(r"\b(?:version|v|rev(?:ision)?|edition|indice)\.?\s?(?P<version>\d{1,3}(?:\.\d{1,3}){0,3})\b")
_TARGET = r"(?P<target>(?:[^.;\n]|\.(?=\d)){3,160})"
_AMENDS_IN_TITLE = re.compile(
    r"\W?(?:avenant|rider|amendment|additif|addendum|rectificatif|erratum|modificatif)\b"
)
_REPLACES = re.compile(
    r"\b(?:annulent|annule|abrogent|abroge|remplacent|remplace|se substitue(?:nt)?|rapporte(?:nt)?|"
    r"(?:vient|viennent) en remplacement|en remplacement|(?:prend|prennent) la (?:place|suite)|tient lieu|"
    r"tiennent lieu|"
    r"succede(?:nt)?|met(?:tent)? fin|rend(?:ent)? (?:caduc|caduque|sans objet)s?|cancels|supersedes|replaces|repeals|"
    r"revokes|rescinds|withdraws|takes the place|is issued in place)\b"
    r"(?:\s(?:et|and)\s(?:remplacent|remplace|abroge|annule|replaces|supersedes)\b)?"
    rf"(?:\s(?:a|aux?|of|de|du|d['’])(?!\w))?\s?{_TARGET}"
)
_AMENDS = re.compile(
    rf"\b(?:modifient|modifie|modifiant|completent|complete|portant (?:modification|revision) d[eu]s?|amends|amending)"
    rf"\s{_TARGET}"
)
_RIDER = re.compile(rf"\b(?:avenant|rider|amendment)\s(?:n ?[°ºo]?\.? ?)?\d{{1,4}}\s"
                    rf"(?:(?:du|of) \S{{1,12}} \S{{1,12}} \d{{4}} )?"
                    rf"(?:a l['’]|au|a la|a|to(?: the)?)\s?{_TARGET}")
# « La note du 3 mars 2020 est annulée »: what is meant stands before; replaced by a third one is nothing of this one.
_PASSIVE = re.compile(
    r"\b(?:(?:est|sont) (?:annule|abroge|remplace|rapporte|retire|(?P<amends>modifie|complete))e?s?\b"
    r"(?: et (?:abroge|remplace)e?s?\b)?|(?:est|sont)(?: desormais)? (?:caducs?|caduques?|sans objet)\b|"
    r"(?:ne |n['’])(?:s['’]applique(?:nt)?|est|sont)(?: plus)(?: (?:applicables?|en vigueur|valables?))?\b|"
    r"(?:cesse|cessent) de s['’]appliquer\b|(?:is|are) (?:hereby )?(?:cancelled|repealed|superseded|revoked|rescinded|"
    r"withdrawn|replaced)\b|(?:lapses?|no longer appl(?:y|ies)|ceases? to apply|(?:is|are) no longer in force)\b)"
    r"(?! (?:par|pas|by)\b(?! (?:la presente|le present|les presentes|les dispositions|ce qui suit|this|the present)))"
)
_NOT = re.compile(r"(?:pas|plus|point|par|en rien|aucun)\b")
_PREVIOUS = re.compile(r"\b(?:preceden|anterieu|previous|earlier|prior)")
_PART = re.compile(
    r"^(?:les dispositions (?:de |du |des )?)?(?:l['’]|les? |la |the )?(?P<part>(?:article|paragraphe|alinea|annexe|"
    r"chapitre|section|point|titre|clause|paragraph|appendix|annex|chapter)s? [a-z]{0,2}\.? ?\d[\w.-]{0,8}"
    r"(?: (?:et|a) \d[\w.-]{0,8})?) (?:de|du|des|of)\b"
)
# « remplace M. Dupont », « remplace le filtre »: what is replaced must be a document.
_PAPERS = re.compile(
    r"\b(?:version|note|notice|circulaire|instruction|procedure|reglement|accord|avenant|convention|charte|decision|"
    r"deliberation|arrete|decret|directive|consigne|document|texte|dispositions?|edition|organigramme|tarifs?|guide|"
    r"politique|fiche|contrat|protocole|annexe|precedente?|memo|policy|procedure|agreement|rules?|notice|circular|"
    r"handbook|manual|bail|baux|marche|statuts|devis|lease|contract|licen[cs]e|celle|celui|ceux|celles)"
)
_WORD = re.compile(r"[^\W\d_]{1,5}\d\w*|[^\W\d_]+")
_NUMBERED = re.compile(
    r"\b(?P<kind>note|circulaire|instruction|decision|deliberation|arrete|memo|circular|notice|directive|consigne|"
    r"procedure|message)s?\b(?: (?:de|d'|of) [a-z]{1,14}| [a-z]{1,14}ale?| interne)? ?"
    r"(?:(?:n ?[°ºo]\.? ?|numero |no\.? ?)(?P<number>\d{1,4}(?:[-/]\d{1,4})?)|(?P<bare>\d{1,3}))(?![\w%°])"
)
"""What numbers a paper: « note n° 3 », "memo 14"."""


_Named = tuple[tuple[int, int], Relation]
"""What names another document, where it does so, and what is said of it."""


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
    heading, opening = _Text.of(title), _Text.of(head[:HEAD_CHARACTERS_MAX])
    spoken = f"{title}\n{name}\n{opening.text[:OPENING_CHARACTERS_MAX]}"
    named = list(_relations(heading)), list(_relations(opening))
    if not any(named):
        named = _rider_of_title(title), []
    found = (*_of_metadata(metadata or {}), *_of_title(title, named[0]), *_of_text(opening, named[1]), *_of_end(tail),
             *_of_name(name), *_of_a_line(opening))
    dates: dict[DateKind, DocumentDate] = {}
    for each in found:
        dates.setdefault(each.kind, each)
    relations = {(each.kind, each.words, each.dates, each.part): each for _, each in reversed([*named[0], *named[1]])}
    return DocumentTimes(
        tuple(dates.values()), _version(spoken), tuple(reversed(relations.values()))[:RELATIONS_MAX],
        family_of(title or name),
    )


def _rider_of_title(title: str) -> list[_Named]:
    """Return what a rider is one to where only words that both titles share tell it: « Avenant, salle Prévert »."""
    folded = fold_in_place(title)
    words = family_of(title) - PAPERS
    if not _AMENDS_IN_TITLE.match(folded) or len(words) < 2:
        return []
    return [((0, 0), Relation(words, (), (), False, RelationKind.RIDER, "", title[:WORDS_CHARACTERS_MAX]))]


def date_outside_text(*, title: str, name: str, metadata: Mapping[str, object]) -> Period | None:
    """Return a document's date as its metadata, title or name tells it: for lists, which do without the texts."""
    return times_of(title=title, name=name, head="", metadata=metadata).period


def family_of(title: str) -> frozenset[str]:
    """Return the words by which documents of one kind are told: a title's, without dates, numbers and versions."""
    plain = without_dates(_VERSION.sub(" ", fold_in_place(title)))
    words = (fold(word) for word in _WORD.findall(plain))
    return frozenset((
        *(word for word in words if len(word) >= 2 and word not in CARRYING_NOTHING),
        *(f"{NUMBER_MARK}{match['kind']} {match['number'] or match['bare']}" for match in _NUMBERED.finditer(plain)),
    ))


def _of_metadata(metadata: Mapping[str, object]) -> Iterator[DocumentDate]:
    by_key = {fold(str(key).casefold()).replace("-", "_"): str(value) for key, value in metadata.items()}
    for kind, keys in _METADATA.items():
        for key in keys:
            if key in by_key and (found := dates_in(by_key[key], years=True)):
                words = f"{key}: {by_key[key]}"[:WORDS_CHARACTERS_MAX]
                yield DocumentDate(kind, found[0].period, Origin.METADATA, words)
                break


def _of_title(title: str, named: Sequence[_Named]) -> Iterator[DocumentDate]:
    # « Avenant n° 58 du 12 mars 2023 à la convention du 3 avril 1990 » is not of 1990.
    if found := [each for each in dates_in(title, years=True) if not _is_named(each, named)]:
        # « Avenant du 2 mars 2026 au contrat de Mme Renard du 3 février 2025 »: its own date stands first.
        own = found[0] if _AMENDS_IN_TITLE.match(fold_in_place(title)) else found[-1]
        yield DocumentDate(DateKind.DOCUMENT, own.period, Origin.TITLE)


def _of_text(opening: _Text, named: Sequence[_Named]) -> Iterator[DocumentDate]:
    for kind, pattern in ((DateKind.EFFECT, _EFFECT), (DateKind.END, _UNTIL)):
        yield from _first(kind, opening, pattern)
    for each, match in opening.after(_OWN):
        if match.group().startswith(("dated", "en date du")) and _is_named(each, named):
            continue
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


def _is_named(each: Dated, named: Sequence[_Named]) -> bool:
    """Return whether a date is that of another document, which a relation names."""
    return any(start <= each.start < end for (start, end), _ in named)


def _relations(text: _Text) -> Iterator[_Named]:
    """Give what a text says of other documents, and where it names them."""
    for kind, pattern in ((RelationKind.REPLACES, _REPLACES), (RelationKind.AMENDS, _AMENDS),
                          (RelationKind.RIDER, _RIDER)):
        for match in pattern.finditer(text.folded):
            span = match.start("target"), min(match.end("target"), match.start("target") + TARGET_CHARACTERS_MAX)
            if not _NOT.match(text.folded, span[0]):
                yield from _relation(kind, text, span, match.start())
    for match in _PASSIVE.finditer(text.folded):
        start = max(*(text.folded.rfind(sign, 0, match.start()) + 1 for sign in ".;\n"),
                    match.start() - TARGET_CHARACTERS_MAX)
        kind = RelationKind.AMENDS if match.group("amends") else RelationKind.REPLACES
        yield from _relation(kind, text, (start, match.start()), start)


def _relation(kind: RelationKind, text: _Text, span: tuple[int, int], begin: int) -> Iterator[_Named]:
    target = text.folded[span[0] : span[1]].lstrip()
    if not _PAPERS.search(target):
        return
    part = _PART.search(target)
    if part is not None:
        target = target[part.end() :]
        kind = RelationKind.AMENDS if kind is RelationKind.REPLACES else kind
    yield span, Relation(
        family_of(target), tuple(each.period for each in dates_in(target, years=True)), _version(target),
        _PREVIOUS.search(target) is not None, kind, "" if part is None else part.group("part"),
        text.text[begin : min(span[1], begin + WORDS_CHARACTERS_MAX)].strip(),
    )
