"""From words to lines, and to the segments of a line: what no wide gap parts."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from sourcier.services.ingest.parsing.pdf.content.elements import Box, Word
from sourcier.services.ingest.parsing.pdf.marks import join_spaced_letters

_SAME_LINE = 0.3
_WIDE_GAP = 1.0
"""In sizes of the font: a wider gap may be one between columns."""
_OTHER_TYPE = 1.15
"""Sizes that differ by more are those of a heading and of text."""
_SPACE = 0.12
_SPACE_WITHIN_CONTENT = 0.25
_OVERLAP = 0.5
"""Words that lie over one another are two."""
_CLOSES = ".,;:!?)]}»…%"


@dataclass(frozen=True, slots=True)
class Segment:
    """Words of one line that no wide gap parts."""

    words: tuple[Word, ...]
    text: str
    left: float
    right: float
    baseline: float
    size: float
    bold: bool
    table: int = -1
    """Number of the drawn table of which this is a row's place; it has no words then."""

    @classmethod
    def of(cls, words: Sequence[Word]) -> Segment:
        """Measure words that are in their order."""
        if any(_is_leftward(word.text) for word in words):
            words = sorted(words, key=lambda word: -word.right)
        longest = max(words, key=lambda word: len(word.text))
        text = joined(words)
        bold = sum(len(word.text) for word in words if word.bold)
        return cls(
            tuple(words),
            text,
            min(word.left for word in words),
            max(word.right for word in words),
            longest.baseline,
            longest.size,
            2 * bold + len(words) > len(text) and words[0].bold,
        )

    @property
    def top(self) -> float:
        """Upper edge."""
        return self.baseline - 0.75 * self.size

    @property
    def bottom(self) -> float:
        """Lower edge."""
        return self.baseline + 0.22 * self.size

    @property
    def box(self) -> Box:
        """Its rectangle."""
        return Box(self.left, self.top, self.right, self.bottom)

    @property
    def foreign(self) -> bool:
        """It was added to the page by an annotation."""
        return all(word.foreign for word in self.words)


@dataclass(frozen=True, slots=True)
class Line:
    """What stands at one height, from left to right; baseline and size are those of its longest segment."""

    segments: tuple[Segment, ...]
    baseline: float
    size: float
    left: float
    right: float
    top: float
    bottom: float
    text: str
    """All of it, gaps as two spaces."""

    @classmethod
    def of(cls, segments: Sequence[Segment]) -> Self:
        """Measure segments that are in their order."""
        longest = max(segments, key=lambda segment: len(segment.text))
        return cls(
            tuple(segments),
            longest.baseline,
            longest.size,
            segments[0].left,
            max(segment.right for segment in segments),
            min(segment.top for segment in segments),
            max(segment.bottom for segment in segments),
            "  ".join(segment.text for segment in (segments[::-1] if _is_leftward(longest.text) else segments)),
        )

    @property
    def words(self) -> Iterator[Word]:
        """Its words in the order of its text."""
        longest = max(self.segments, key=lambda segment: len(segment.text))
        segments = self.segments[::-1] if _is_leftward(longest.text) else self.segments
        return (word for segment in segments for word in segment.words)

    @property
    def bold(self) -> bool:
        """All of it is."""
        return all(segment.bold for segment in self.segments)

    @property
    def written(self) -> bool:
        """It is text; a row of a drawn table is not."""
        return all(segment.table < 0 for segment in self.segments)

    @property
    def foreign(self) -> bool:
        """It was added to the page by annotations."""
        return all(segment.foreign for segment in self.segments)


def lines_of(words: Iterable[Word]) -> list[Line]:
    """Return the lines from the top, each cut at its wide gaps."""
    lines: list[Line] = []
    row: list[Word] = []
    for word in sorted(words, key=lambda word: (word.baseline, word.left)):
        if row and word.baseline - row[0].baseline > _SAME_LINE * min(word.size, row[0].size):
            lines.append(_line(row))
            row = []
        row.append(word)
    if row:
        lines.append(_line(row))
    return lines


def _is_leftward(text: str) -> bool:
    """Tell whether a word is of a script that is written from right to left."""
    return not text.isascii() and unicodedata.bidirectional(text[0]) in ("R", "AL")


def lines_of_segments(segments: Iterable[Segment]) -> list[Line]:
    """Group segments anew: those of another column may have pulled lines together."""
    lines: list[Line] = []
    row: list[Segment] = []
    for segment in sorted(segments, key=lambda segment: (segment.baseline, segment.left)):
        if row and segment.baseline - row[0].baseline > _SAME_LINE * min(segment.size, row[0].size):
            lines.append(Line.of(sorted(row, key=lambda segment: segment.left)))
            row = []
        row.append(segment)
    if row:
        lines.append(Line.of(sorted(row, key=lambda segment: segment.left)))
    return lines


def joined(words: Sequence[Word]) -> str:
    """Return the words' text with spaces where a reader sees some."""
    text = words[0].text
    for previous, word in pairwise(words):
        text += (" " if spaced(previous, word) else "") + word.text
    return text


def spaced(previous: Word, word: Word) -> bool:
    """Tell whether two neighbours on a line are parted by a space."""
    if word.glued:
        return False
    if word.text.startswith("[note "):
        return True
    gap = max(word.left - previous.right, previous.left - word.right)
    size = min(previous.size, word.size)
    if gap < -_OVERLAP * size:
        return True
    if previous.end == word.first and word.first > 0:
        return gap > _SPACE_WITHIN_CONTENT * size
    if previous.text.endswith("]") and word.text[0] in _CLOSES:
        return False
    if word.text[0] in ".," and gap < _SPACE_WITHIN_CONTENT * size:
        return False
    # PDFium saw a space there, or both come from different places of the content.
    return (0 < previous.end == word.first - 1) or gap > _SPACE * size


def segments_of(row: Sequence[Word]) -> list[Segment]:
    """Cut words of one line, from left to right, at wide gaps."""
    segments: list[Segment] = []
    current: list[Word] = []
    for word in join_spaced_letters(sorted(row, key=lambda word: word.left)):
        if current and word.left - max(current[-1].right, current[0].left) > _WIDE_GAP * _gap_size(current[-1], word):
            segments.append(Segment.of(current))
            current = []
        current.append(word)
    segments.append(Segment.of(current))
    return segments


def _gap_size(previous: Word, word: Word) -> float:
    """Return the size of type that a gap is measured in: where it changes, the smaller one, as beside a heading."""
    larger, smaller = max(previous.size, word.size), min(previous.size, word.size)
    added = previous.foreign or word.foreign
    return smaller if larger > _OTHER_TYPE * smaller and not added else larger


def _line(row: Sequence[Word]) -> Line:
    return Line.of(segments_of(row))
