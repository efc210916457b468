"""The sentences of a passage that may answer a question: whole ones, with the line that leads in to them; table rows.

A sentence is never cut to a part of it: what it denies, plans or excepts goes with what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from sourcier.services.gateway.clauses.cutting import Clause, clauses_of
from sourcier.services.gateway.clauses.tokens import forms_in, tokens_of

QUOTED_CHARACTERS_MAX = 600
"""Of a quotation: a longer sentence is left out, since a part of it may say the opposite."""
SEPARATOR = " · "
"""Between the cells of a row that is quoted."""
ROWS_MAX = 200
CELLS_MAX = 40

_ROW = re.compile(r"^[ \t]*\|.*\|[ \t]*$", re.MULTILINE)
_RULE = re.compile(r"[\s|:-]*")


@dataclass(frozen=True)
class Cell:
    """A cell of a row, with the header of its column."""

    start: int
    """In the passage's text."""
    end: int
    header: str


@dataclass(frozen=True)
class Sentence:
    """A sentence or a row, where it stands, and what it takes over from around it."""

    number: int
    """Its passage, from 1."""
    start: int
    end: int
    clauses: tuple[Clause, ...]
    """Empty for a row."""
    own: frozenset[str]
    """The forms of its words, and of those of the line that leads in to it."""
    around: frozenset[str]
    """Of the subject before it, and of its columns."""
    above: frozenset[str]
    """Of title and headings."""
    lead: tuple[int, int] | None = None
    before: tuple[int, int] | None = None
    """The sentence that its pronoun refers to."""
    cells: tuple[Cell, ...] = ()

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """What is quoted, in the passage's order."""
        return tuple(span for span in (self.lead, self.before, (self.start, self.end)) if span is not None)

    @property
    def length(self) -> int:
        """Characters of its quotation."""
        return sum(end - start for start, end in self.spans)


def sentences_of(number: int, text: str, context: str) -> list[Sentence]:
    """Return the sentences and rows of a passage; `context` are its title and headings."""
    above = forms_in(tokens_of(context))
    tables = [match.span() for match in _ROW.finditer(text)]
    clauses = [clause for clause in clauses_of(text, context)
               if not any(start <= clause.start < end for start, end in tables)]
    found = [*_whole(number, text, clauses, above), *_rows(number, text, tables, above)]
    return [sentence for sentence in found if sentence.length <= QUOTED_CHARACTERS_MAX]


def joint(text: str, end: int, start: int) -> str:
    """Return what parts two pieces of a text in a quotation, the first up to `end`: dots where words are left out."""
    return " … " if text[end:start].strip() else " "


def _whole(number: int, text: str, clauses: Sequence[Clause], above: frozenset[str]) -> Iterator[Sentence]:
    """Give sentences whose halves behind a semicolon on the same line are put together again."""
    groups: list[list[Clause]] = []
    for clause in clauses:
        last = groups[-1][-1] if groups else None
        if last is not None and (clause.sentence == last.sentence or _goes_on(text, last, clause)):
            groups[-1].append(clause)
        else:
            groups.append([clause])
    previous: tuple[int, int] | None = None
    for group in groups:
        start, end = group[0].start, max(clause.end for clause in group)
        subject = group[0].subject
        own = frozenset[str]().union(*(forms_in(clause.tokens) for clause in group))
        yield Sentence(
            number, start, end, tuple(group), own, forms_in(subject), above, group[0].lead,
            previous if subject and group[0].lead is None and _near(text, previous, start) else None,
        )
        previous = (start, end)


def _goes_on(text: str, last: Clause, clause: Clause) -> bool:
    between = text[last.end : clause.start]
    return text[last.end - 1 : last.end] == ";" and "\n" not in between and not between.strip()


def _near(text: str, previous: tuple[int, int] | None, start: int) -> bool:
    return previous is not None and not text[previous[1] : start].strip()


def _rows(number: int, text: str, lines: Sequence[tuple[int, int]], above: frozenset[str]) -> Iterator[Sentence]:
    header: list[str] = []
    ended = -2
    for start, end in lines[:ROWS_MAX]:
        if start > ended + 1:
            header = []
        ended = end
        cells = _cells(text, start, end)
        if _RULE.fullmatch(text[start:end]):
            continue
        if not header:
            header = [text[first:last] for first, last in cells]
            continue
        told = [Cell(first, last, header[place] if place < len(header) else "")
                for place, (first, last) in enumerate(cells)]
        yield Sentence(
            number, start, end, (), forms_in(tokens_of(text[start:end])), forms_in(tokens_of(" ".join(header))), above,
            cells=tuple(told),
        )


def _cells(text: str, start: int, end: int) -> list[tuple[int, int]]:
    bars = [place for place in range(start, end) if text[place] == "|"][: CELLS_MAX + 1]
    return [_trimmed(text, first + 1, last) for first, last in pairwise(bars)]


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    cell = text[start:end]
    first = start + len(cell) - len(cell.lstrip())
    return first, max(first, start + len(cell.rstrip()))
