"""Tables of a page: cells by row and column, and where they stand."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sourcier.services.ingest.parsing.pdf.content.elements import Box, Word
from sourcier.services.ingest.parsing.pdf.lines import Segment, lines_of
from sourcier.services.ingest.parsing.tables import HEADER_JOINT


class Cell(NamedTuple):
    """A cell's text, and the words that it is made of."""

    text: str = ""
    words: tuple[Word, ...] = ()


@dataclass(slots=True)
class Table:
    """Rows of cells, an empty cell an empty text; `edges` are where its columns begin and the last one ends."""

    page: int
    box: Box
    rows: list[list[Cell]]
    edges: tuple[float, ...] = ()
    bands: tuple[tuple[float, float], ...] = ()
    """From where to where the cells of each column reach, where no rules say so."""
    header_rows: int = 1
    ruled: bool = False
    continued: bool = False
    """It goes on from the page before."""
    title: Cell = field(default_factory=Cell)
    """What a first row over all columns says."""
    extra: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Number of columns."""
        return max(map(len, self.rows), default=0)


def places_of(table: Table, number: int) -> Iterator[Segment]:
    """Yield what holds a drawn table's place among the lines of its page: a piece of its width for each line in it."""
    cells = (table.title, *(cell for row in table.rows for cell in row))
    words = sorted((word for cell in cells for word in cell.words), key=lambda word: word.baseline)
    at = -math.inf
    for word in words:
        if word.baseline - at > 0.5 * word.size:
            at = word.baseline
            yield Segment((), "", table.box.left, table.box.right, at, word.size, bold=False, table=number)


def cell_of(words: Sequence[Word]) -> Cell:
    """Return a cell with its lines, each on a line of its own, so that broken words can be joined."""
    lines = lines_of(words)
    text = "\n".join("  ".join(s.text for s in line.segments) for line in lines)
    return Cell(text, tuple(word for line in lines for segment in line.segments for word in segment.words))


def cell_of_segments(segments: Sequence[Segment]) -> Cell:
    """Return a cell of pieces of lines that are in their order."""
    return Cell("\n".join(s.text for s in segments), tuple(word for s in segments for word in s.words))


def joined_header(table: Table) -> list[list[Cell]]:
    """Return the rows with those of the header joined into one, which each part of a long table can carry."""
    height = table.header_rows
    if not 1 < height < len(table.rows):
        return table.rows
    header: list[Cell] = []
    for column in range(table.width):
        above = (row[column] for row in table.rows[:height] if column < len(row))
        # A name over several rows is said in each.
        names = {cell.text: cell for cell in above if cell.text}
        words = tuple(word for cell in names.values() for word in cell.words)
        header.append(Cell(HEADER_JOINT.join(names), words))
    return [header, *table.rows[height:]]
