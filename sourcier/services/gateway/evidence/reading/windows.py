"""The windows of a passage that a reader is shown with a sentence: where the passage speaks of the same thing.

A window is one to four neighbouring sentences; a row of a table comes with the line of its columns' names, an item of a
list with the line that leads in to it. Title and headings come with it where they hold a word of the sentence that it
lacks: what « il » is may be said there alone.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from sourcier.services.gateway.clauses.cutting import ITEM
from sourcier.services.gateway.evidence.wording import Piece, Wording, all_forms, forms
from sourcier.services.gateway.figures.tables import tables_in
from sourcier.services.index.language.stop_words import FUNCTION_WORDS
from sourcier.services.index.language.words import split_words

WINDOWS_MAX = 3
"""Of one passage, the closest sentence alone among them. Each one costs the reader some ten milliseconds."""
PIECES_MAX = 4
CHARACTERS_PER_TOKEN = 3.5
"""Of French text, as the tokenizer of multilingual models cuts it."""
CHARACTERS_MIN, CHARACTERS_MAX = 160, 320
"""Of a window, however long or short question and sentence are; a longer sentence is a window of its own."""
ABOVE_CHARACTERS_MAX = 300
"""Of the line of a table or list above a window."""
CONTEXT_CHARACTERS_MAX = 120
"""Of title and headings."""
QUESTION_WEIGHT = 0.5
"""What a word of the question counts beside one of the sentence, where the sentence does not hold it."""
_MARK = re.compile(r"\(?(?:\d{1,3}|[a-z])[.)°]")


@dataclass(frozen=True, slots=True)
class Window:
    """A part of a passage, as it is read."""

    start: int
    """In the passage's text, without what is read above it."""
    end: int
    text: str
    """With title and headings where they are needed, and the line of its table or list."""
    above: tuple[int, int] | None = None
    """Where that line stands."""
    sentences: tuple[tuple[int, int], ...] = ()
    """Where each of its sentences stands."""


@dataclass(frozen=True, slots=True)
class Unit:
    """A piece of a passage, or a row of one of its tables, with the line that it needs above it."""

    start: int
    end: int
    stems: frozenset[str]
    above: tuple[int, int] | None = None


class Windows:
    """The windows of one passage, for any sentence."""

    def __init__(self, wording: Wording) -> None:
        self._text = wording.text
        self._context = wording.context.strip()[-CONTEXT_CHARACTERS_MAX:]
        self._context_stems = all_forms(self._context)
        self._units = units_of(wording)
        self._frequencies = Counter(stem for unit in self._units for stem in unit.stems)

    def of(self, sentence: str, question: str = "", *, tokens_max: int) -> list[Window]:
        """Return the windows closest in wording, the closest first; with the sentence each fits into so many tokens.

        The closest sentence is read alone, too: beside its neighbours a reader sees less of what it denies.
        """
        own = telling_words(sentence)
        words = dict.fromkeys(own, 1.0)
        for word in telling_words(question):
            words.setdefault(word, QUESTION_WEIGHT)
        scores = [self._score(unit, words) for unit in self._units]
        room = int(tokens_max * CHARACTERS_PER_TOKEN) - len(sentence) - len(question)
        room = min(max(room, CHARACTERS_MIN), CHARACTERS_MAX)
        chosen: list[Window] = []
        covered: set[int] = set()
        for place in sorted(range(len(scores)), key=lambda place: (-scores[place], place)):
            if len(chosen) >= WINDOWS_MAX or (chosen and not scores[place]):
                break
            if place in covered:
                continue
            first, last = self._grown(place, scores, room, covered)
            if not chosen and first < last:
                chosen.append(self._window(place, place, own))
            chosen.append(self._window(first, last, own))
            covered.update(range(first, last + 1))
        return chosen

    def _score(self, unit: Unit, words: dict[frozenset[str], float]) -> float:
        found = 0.0
        for word, weight in words.items():
            held = max((self._frequencies[stem] for stem in word & unit.stems), default=0)
            if held:
                found += weight * math.log(1 + len(self._units) / held)
        return found

    def _grown(
        self, place: int, scores: Sequence[float], room: int, covered: Collection[int]
    ) -> tuple[int, int]:
        """Return the first and the last of the neighbours that are read with a piece, none of them read before."""
        first = last = place
        if self._units[place].above is not None:
            return first, last
        while last - first + 1 < PIECES_MAX:
            # What stands before is worth as much as what follows: it says what « il » is.
            sides = [
                side for side in (first - 1, last + 1)
                if 0 <= side < len(scores) and side not in covered and self._units[side].above is None
                and self._length(min(first, side), max(last, side)) <= room
            ]
            if not sides:
                break
            side = max(sides, key=lambda side: (scores[side], -side))
            first, last = min(first, side), max(last, side)
        return first, last

    def _length(self, first: int, last: int) -> int:
        return self._units[last].end - self._units[first].start

    def _window(self, first: int, last: int, words: Sequence[frozenset[str]]) -> Window:
        units = self._units[first : last + 1]
        start, end, above = units[0].start, units[-1].end, units[0].above
        text = self._text[start:end]
        if above is not None:
            # « … il est interdit de : » ends with what matters.
            text = f"{self._text[above[0] : above[1]][-ABOVE_CHARACTERS_MAX:]}\n{text}"
        held = frozenset[str]().union(*(unit.stems for unit in units))
        if any(word & self._context_stems and not word & held for word in words):
            text = f"{self._context}\n{text}"
        return Window(start, end, text, above, tuple((unit.start, unit.end) for unit in units))


def telling_words(text: str) -> list[frozenset[str]]:
    """Return the forms of each word of a text that carries meaning."""
    return list(dict.fromkeys(forms(word) for word in split_words(text) if word not in FUNCTION_WORDS))


def units_of(wording: Wording) -> list[Unit]:
    """Return the sentences, lines and rows of a passage, in its order; none overlaps another."""
    tables = tables_in(wording.text)
    found = [
        Unit(row.start, row.end, all_forms(wording.text[row.start : row.end]), table.head)
        for table in tables for row in table.rows
    ]
    pieces = [
        piece for piece in wording.pieces
        if not any(table.start <= piece.start < table.end for table in tables)
    ]
    return sorted([*found, *_led(wording.text, pieces)], key=lambda unit: unit.start)


def _led(text: str, pieces: Sequence[Piece]) -> list[Unit]:
    """Give each item of a list the line that leads in to it."""
    found: list[Unit] = []
    lead: Piece | None = None
    for piece in pieces:
        line = _line(text, piece.start).lstrip()
        if _MARK.fullmatch(piece.text):
            # The number of an item, which the next piece has before it.
            continue
        if ITEM.match(line) is None:
            lead = piece if piece.text.endswith(":") else None
            found.append(Unit(piece.start, piece.end, piece.stems))
            continue
        if lead is not None and found[-1].start == lead.start:
            # With its items it is read anyway.
            found.pop()
        above, stems = (None, piece.stems) if lead is None else ((lead.start, lead.end), piece.stems | lead.stems)
        found.append(Unit(piece.start, piece.end, stems, above))
    return found


def _line(text: str, place: int) -> str:
    end = text.find("\n", place)
    return text[text.rfind("\n", 0, place) + 1 : len(text) if end < 0 else end]
