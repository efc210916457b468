"""What is known of when a document holds: its dates, its edition, and what it says that it replaces or amends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from enum import Enum

from sourcier.services.index.times.periods import Period

FAMILY_SHARE_MIN = 0.75
"""Of the words of two titles together, from which on they are of editions of one document."""


class Origin(Enum):
    """Where a document's date was read."""

    USER = "user"
    """Somebody set it."""
    METADATA = "metadata"
    TITLE = "title"
    TEXT = "text"
    NAME = "name"


_RANKS = {origin: rank for rank, origin in enumerate(Origin)}

NUMBER_MARK = "#"
"""Before what numbers a paper, among the words of a title: « Note n° 3 »."""
_PAPER_WORDS = (
    "note notes service circulaire circulaires instruction instructions procedure procedures reglement "
    "reglements accord avenant convention charte decision decisions deliberation arrete arretes decret "
    "directive consigne consignes document documents texte textes disposition dispositions edition version "
    "versions tarif tarifs guide politique fiche contrat protocole annexe precedent precedente precedents "
    "precedentes anterieur anterieure anterieurs anterieures toute toutes tout tous memo memos policy "
    "policies agreement rules notice notices circular handbook manual lease contract all any earlier previous "
    "prior present presente presentes information informations message relatif relative relatives rider "
    "amendment addendum additif rectificatif erratum modificatif prorogation prolongation modification "
    "variation deed"
)
PAPERS = frozenset(_PAPER_WORDS.split())
"""Words of papers that do not tell what they are about."""


class DateKind(Enum):
    """What a date of a document is."""

    EFFECT = "effect"
    """Since when it holds."""
    END = "end"
    """Until when it holds, that day included."""
    SIGNATURE = "signature"
    PUBLICATION = "publication"
    DOCUMENT = "document"
    """Its own, where no word tells which: of a title, a name, a line that says nothing else."""


class RelationKind(Enum):
    """What a document does to another one."""

    REPLACES = "replaces"
    AMENDS = "amends"
    """It changes or replaces a part of it."""
    RIDER = "rider"
    """It is an « avenant » to it."""


@dataclass(frozen=True, slots=True)
class DocumentDate:
    """A date of a document."""

    kind: DateKind
    period: Period
    origin: Origin
    words: str = ""
    """The words that tell it; empty where nothing but the date does."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What a document says that it does to another one, as it names it."""

    words: frozenset[str]
    """Its words, without dates and numbers."""
    dates: tuple[Period, ...]
    version: tuple[int, ...]
    """Of « version 1.2 »; empty for none."""
    everything: bool
    """« annule et remplace toutes les notes précédentes », « la précédente version »."""
    kind: RelationKind = RelationKind.REPLACES
    part: str = ""
    """« article 4 »; empty for all of it."""
    quote: str = ""
    """The words that say it."""


@dataclass(frozen=True, slots=True)
class DocumentTimes:
    """What is known of when a document holds."""

    dates: tuple[DocumentDate, ...]
    """One of a kind at most."""
    version: tuple[int, ...]
    """Of « version 2.0 »; empty for none."""
    relations: tuple[Relation, ...]
    family: frozenset[str]
    """The words of its title, without dates and numbers."""

    def date_of(self, kind: DateKind) -> DocumentDate | None:
        """Return its date of a kind."""
        return next((each for each in self.dates if each.kind is kind), None)

    @property
    def own(self) -> DocumentDate | None:
        """Its own date: what somebody set first, then its metadata's, its title's, its text's, its name's."""
        dates = [each for each in self.dates if each.kind not in (DateKind.EFFECT, DateKind.END)]
        return min(dates, key=lambda each: _RANKS[each.origin], default=self.date_of(DateKind.EFFECT))

    @property
    def period(self) -> Period | None:
        """Its own date; None where none is told."""
        own = self.own
        return None if own is None else own.period

    @property
    def origin(self) -> Origin | None:
        """Where its own date was read."""
        own = self.own
        return None if own is None else own.origin

    @property
    def start(self) -> date | None:
        """Since when it holds: its date of effect, else the first day of its own date."""
        effect = self.date_of(DateKind.EFFECT) or self.own
        return None if effect is None else effect.period.start

    @property
    def end(self) -> date | None:
        """Until when it holds, where it says so."""
        end = self.date_of(DateKind.END)
        return None if end is None else end.period.end

    def with_dates_set(self, dates: Mapping[DateKind, Period]) -> DocumentTimes:
        """Return the same with dates that somebody set in the place of those that were read."""
        told = tuple(DocumentDate(kind, period, Origin.USER) for kind, period in dates.items())
        return replace(self, dates=(*told, *(each for each in self.dates if each.kind not in dates)))

    def replaces_document(self, other: DocumentTimes) -> bool:
        """Return whether it says that it replaces the other one."""
        return any(
            self.names(target, other) for target in self.relations if target.kind is RelationKind.REPLACES
        )

    def names(self, target: Relation, other: DocumentTimes) -> bool:
        """Return whether what one of its relations names is the other document: by its date or version, and kind."""
        if other.start is not None and self.start is not None and other.start > self.start:
            return False
        numbers = numbers_of(target.words)
        if numbers and (others := numbers_of(other.family)):
            # « La note n° 3 » is no other note, whatever their dates.
            return not numbers.isdisjoint(others)
        of_one_family = same_family(self.family, other.family)
        if target.version:
            return of_one_family and target.version == other.version
        kind = bool(target.words & other.family) or of_one_family
        if target.dates:
            return kind and other.period is not None and any(
                each.start <= other.period.start <= each.end or other.period.start <= each.start <= other.period.end
                for each in target.dates
            )
        if target.everything:
            # « Les instructions précédentes sur le wifi invité »: what they are about tells which are meant.
            return of_one_family or bool((target.words & other.family) - PAPERS - numbers)
        if target.kind is RelationKind.RIDER and len(subject := target.words - PAPERS - numbers) >= 2 and (
            subject <= other.family
        ):
            return True
        # « remplace le règlement des astreintes »: nearly all of the other's title.
        return bool(other.family) and len(target.words & other.family) >= FAMILY_SHARE_MIN * len(
            other.family
        ) and len(other.family) >= 2


def numbers_of(family: frozenset[str]) -> frozenset[str]:
    """Return the words of a title that number its paper: `#note 3`."""
    return frozenset(word for word in family if word.startswith(NUMBER_MARK))


def same_family(first: frozenset[str], second: frozenset[str]) -> bool:
    """Return whether two titles are of editions of one document."""
    first, second = first - numbers_of(first), second - numbers_of(second)
    return bool(first) and bool(second) and len(first & second) >= FAMILY_SHARE_MIN * len(first | second)
