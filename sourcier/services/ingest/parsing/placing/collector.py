"""Collects the places of a document, block after block, as its reader knows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from sourcier.services.index.places.place_map import Frame, Kind, PlaceMap, Stretch
from sourcier.services.ingest.parsing.placing.source_lines import SourceLines
from sourcier.services.ingest.parsing.placing.words import PageFrame, PlacedWord, edges_on, stretches_of
from sourcier.services.ingest.parsing.tables import RULE


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a block stands that is not made of words on a page.

    `edges` has one entry for all of it, or one for each of its lines, the rule of a table left out; what they mean
    is told at `Stretch`.
    """

    frame: Frame
    edges: Sequence[tuple[int, int, int, int]] = ((0, 0, 0, 0),)
    pieces: Sequence[str] = ()
    """The block's parts in its order, where each has edges of its own and is no line."""


def box_standing(page: PageFrame, *, left: float, top: float, right: float, bottom: float) -> Standing:
    """Return where a box of a page stands, as of a picture; in points on the page as its text is upright."""
    return Standing(page.frame(), (edges_on(page, left=left, top=top, right=right, bottom=bottom),))


@dataclass(slots=True)
class PlaceCollector:
    """Collects the places of a document, block after block."""

    _frames: dict[Frame, int] = field(default_factory=dict)
    _stretches: list[Stretch] = field(default_factory=list)
    _pages: dict[int, PageFrame] = field(default_factory=dict)
    _numbers: dict[int, int] = field(default_factory=dict)
    """Of the frames of pages, by page."""
    _current: Standing | None = None
    _lines: SourceLines | None = None
    _paragraphs: int = -1
    """How many were read; −1 where they are not counted."""

    def add_page(self, page: PageFrame) -> None:
        """Make a page known whose words follow."""
        self._pages[page.number] = page

    def stand(self, standing: Standing) -> None:
        """Let all blocks that follow stand in one place, where nothing else is said of them."""
        self._current = standing

    def stand_in_lines(self, text: str) -> None:
        """Let the lines of the blocks that follow be looked for in a text file."""
        self._lines = SourceLines(text)

    def count_paragraphs(self) -> None:
        """Let the blocks that follow be counted, a row of a table as one."""
        self._paragraphs = 0

    def of_picture(self, number: int, standing: Standing | None) -> Standing:
        """Return where a picture stands that was met now: where it is said to, else where text would stand."""
        standing = standing or self._current
        if standing is None and self._paragraphs >= 0:
            paragraph = max(self._paragraphs, 1)
            standing = Standing(Frame(Kind.PARAGRAPHS), ((paragraph, paragraph, 0, 0),))
        standing = standing or Standing(Frame(Kind.FILE))
        return Standing(standing.frame._replace(picture=number), standing.edges)

    def add_block(
        self, text: str, start: int, *, page: int, words: Sequence[PlacedWord], standing: Standing | None
    ) -> None:
        """Keep where a block stands whose text begins at `start` of the document's."""
        known = self._pages.get(page)
        standing = standing or self._current
        if standing is not None:
            self._add_lines(text, start, standing)
        elif self._lines is not None:
            self._add_found_lines(text, start, self._lines)
        elif self._paragraphs >= 0:
            self._add_paragraphs(text, start)
        elif words:
            self._stretches.extend(stretches_of(text, start, words, self._pages, self._page_frame))
        elif known is not None:
            self._stretches.append(Stretch(start, start + len(text), self._page_frame(known)))

    def _add_lines(self, text: str, start: int, standing: Standing) -> None:
        """Give each line of a block its edges, or all of it the same ones."""
        frame = self._frame(standing.frame)
        if standing.pieces:
            self._add_pieces(text, start, frame, standing)
            return
        if len(standing.edges) == 1:
            self._stretches.append(Stretch(start, start + len(text), frame, *standing.edges[0]))
            return
        edges = iter(standing.edges)
        for line in text.split("\n"):
            end = start + len(line)
            if line and not RULE.fullmatch(line):
                found = next(edges, None)
                if found is None:
                    return
                self._stretches.append(Stretch(start, end, frame, *found))
            start = end + 1

    def _add_pieces(self, text: str, start: int, frame: int, standing: Standing) -> None:
        """Give each piece of a block its edges; one that is not in the text any more has none."""
        at = 0
        for piece, edges in zip(standing.pieces, standing.edges, strict=True):
            found = text.find(piece, at)
            if found >= 0:
                at = found + len(piece)
                self._stretches.append(Stretch(start + found, start + at, frame, *edges))

    def _add_found_lines(self, text: str, start: int, lines: SourceLines) -> None:
        frame = self._frame(Frame(Kind.LINES))
        for line in text.split("\n"):
            found = lines.find(line)
            if found is not None:
                self._stretches.append(Stretch(start, start + len(line), frame, *found))
            start += len(line) + 1

    def _add_paragraphs(self, text: str, start: int) -> None:
        frame = self._frame(Frame(Kind.PARAGRAPHS))
        for line in text.split("\n") if text.startswith("| ") else (text,):
            if not RULE.fullmatch(line):
                self._paragraphs += 1
                number = self._paragraphs
                self._stretches.append(Stretch(start, start + len(line), frame, number, number))
            start += len(line) + 1

    def map(self) -> PlaceMap:
        """Return what was collected."""
        return PlaceMap(tuple(self._frames), tuple(self._stretches))

    def _page_frame(self, page: PageFrame) -> int:
        number = self._numbers.get(page.number)
        if number is None:
            number = self._numbers[page.number] = self._frame(page.frame())
        return number

    def _frame(self, frame: Frame) -> int:
        return self._frames.setdefault(frame, len(self._frames))
