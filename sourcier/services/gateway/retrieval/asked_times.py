"""What a question says of time prefers documents by their own dates: « en 2024 », « depuis mars », « le dernier PV ».

A preference and never a filter: what is told of 2024 may stand in a paper of 2023, and many documents have no date.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date

from sourcier.services.index.language.analyser import analyse_subject
from sourcier.services.index.times.periods import Period
from sourcier.services.index.times.questions import Event, QuestionTimes, times_of_question

TIME_WEIGHT = 0.075
"""What a document of the time asked for gains, and one of another time loses. One without a date may be of any time: it
is told neither for nor against, and few papers of the year that are about something else pass it. Chosen on all sets at
once (docs/measured/history/retrieval.md)."""
LATEST_WEIGHT = 0.2
"""What the latest of the papers that the question names gains. More, for it is asked of those alone."""
EARLIER_SHARE = 0.5
"""Of the weight for the paper before, and so on."""
OVERLAP_SHARE = 0.5
"""Of the weight for a document of a year, where a month of it is asked for."""

YEAR_SHARE = 0.25
"""Of the weight for a document of a year that may be a part of a name: « budget 2026 » was adopted in 2025."""

_RECORDS = frozenset({"pv", "cr", "proces", "verbal", "verbaux", "proces-verbal", "proces-verbaux", "compte", "comptes",
                      "rendu", "rendus", "compte-rendu", "comptes-rendus", "minutes"})
_MEETINGS = frozenset({"reunion", "seance", "conseil", "comite", "assemblee", "commission", "codir", "comex", "cse",
                       "ag", "bureau", "meeting", "board", "committee", "council"})
_RECORD_TITLES = "PV procès-verbal procès-verbaux CR compte rendu comptes rendus minutes"
"""What minutes of a meeting are called: a question rarely has the title's word."""


@dataclass(frozen=True)
class Weights:
    """What time is worth in a re-ranking score."""

    time: float = TIME_WEIGHT
    latest: float = LATEST_WEIGHT
    earlier: float = EARLIER_SHARE


WEIGHTS = Weights()


@dataclass(frozen=True)
class AskedTimes:
    """The times that a question names, and the papers whose latest it asks for."""

    asked: QuestionTimes

    @property
    def subject(self) -> str:
        """Return the question without the dates that only bound what it asks for."""
        return self.asked.subject

    def shares(
        self, titles: Sequence[str], dates: Sequence[Period | None], *, weights: Weights = WEIGHTS
    ) -> list[float]:
        """Return what each candidate gains or loses, by its document's title and own date; 0 for one without a date."""
        periods = (*self.asked.periods, *self._of_events(titles, dates))
        fitting = [_fitting(each, periods) or YEAR_SHARE * _fitting(each, self.asked.years) for each in dates]
        latest = _latest_shares(_groups(self.asked.latest), titles, dates, earlier=weights.earlier)
        return [
            weights.time * time + weights.latest * share for time, share in zip(fitting, latest, strict=True)
        ]

    def _of_events(self, titles: Sequence[str], dates: Sequence[Period | None]) -> Iterator[Period]:
        """Yield the time on the asked side of each event that the title of a dated candidate names."""
        for event in self.asked.events:
            named = [
                period for title, period in zip(titles, dates, strict=True)
                if period is not None and _names(title, event)
            ]
            if named:
                yield event.opening.of(min(named, key=lambda period: (period.start, period.end)))


def asked_times(question: str, *, today: date) -> AskedTimes | None:
    """Return what a question says of time; None for nothing."""
    asked = times_of_question(question, today=today)
    return AskedTimes(asked) if asked else None


def _fitting(period: Period | None, asked: Sequence[Period]) -> float:
    """Return 1 for a document of the time, -1 for one of another time, and 0 where nothing is told of it."""
    if period is None or not asked:
        return 0.0
    if any(each.holds(period) for each in asked):
        return 1.0
    return OVERLAP_SHARE if any(period.start <= each.end and each.start <= period.end for each in asked) else -1.0


def _names(title: str, event: Event) -> bool:
    """Return whether a title has the word of an event."""
    return not _stems(title).isdisjoint(_stems(event.word))


def _latest_shares(
    groups: Sequence[frozenset[str]], titles: Sequence[str], dates: Sequence[Period | None], *, earlier: float
) -> list[float]:
    """Return 1 for the latest of the papers that are named, a share for the one before, and so on; 0 for others.

    Named are the titles with most of the words: of « le dernier PV du CSE » minutes, and no rules of the same council.
    """
    held = [_held(groups, title) if period is not None else 0 for title, period in zip(titles, dates, strict=True)]
    most = max(held, default=0)
    named = [period if most and count == most else None for count, period in zip(held, dates, strict=True)]
    days = sorted({period.start for period in named if period is not None}, reverse=True)
    return [0.0 if period is None else earlier ** days.index(period.start) for period in named]


def _groups(words: Sequence[str]) -> list[frozenset[str]]:
    """Return the stems of which a title has to have one, a set a word; what minutes are called is one word."""
    groups = [_stems(_RECORD_TITLES) if word in _RECORDS else _stems(word) for word in words]
    if any(word in _MEETINGS for word in words):
        # « Le dernier conseil » is told by its minutes.
        groups.append(_stems(_RECORD_TITLES))
    return [each for each in dict.fromkeys(groups) if each]


def _held(groups: Sequence[frozenset[str]], title: str) -> int:
    stems = _stems(title)
    return sum(not stems.isdisjoint(group) for group in groups)


def _stems(text: str) -> frozenset[str]:
    return frozenset().union(*map(frozenset, analyse_subject(text)))
