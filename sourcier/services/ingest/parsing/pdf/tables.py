"""Tables of a page: cells by row and column, and where they stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sourcier.services.ingest.parsing.pdf.content.elements import Box, Word
from sourcier.services.ingest.parsing.pdf.lines import lines_of


@dataclass(slots=True)
class Table:
    """Rows of cells, an empty cell an empty text; `edges` are where its columns begin and the last one ends."""

    page: int
    box: Box
    rows: list[list[str]]
    edges: tuple[float, ...] = ()
    header_rows: int = 1
    ruled: bool = False
    continued: bool = False
    """It goes on from the page before."""
    extra: list[str] = field(default_factory=list)

    @property
    def width(self) -> int:
        """Number of columns."""
        return max(map(len, self.rows), default=0)


def cell_text(words: Sequence[Word]) -> str:
    """Return a cell's lines, each on a line of its own, so that broken words can be joined."""
    return "\n".join("  ".join(s.text for s in line.segments) for line in lines_of(words))
