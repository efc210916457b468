"""From lines to paragraphs and headings, by place and size alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Self

from sourcier.services.ingest.parsing.pdf.content.elements import Box, Word
from sourcier.services.ingest.parsing.pdf.lines import Line

_HEADING_CHARACTERS_MAX = 160
_HEADING_RATIO = 1.15
_BOLD_HEADING_RATIO = 1.04
_HEADING_LEVELS_MAX = 4
_BOLD_HEADING_CHARACTERS_MAX = 100
_FULL_LINE_SHARE = 0.8
"""A line that reaches this share of its paragraph's width was broken by the margin, not by its writer."""
_NOTE = re.compile(r"[0-9]{1,3}[.)]?\s")
_NOTE_RATIO = 0.95
_PARTED = 3.0
_GAP_RATIO = 1.55
_LINE_HEIGHT = 1.12
"""Height of a line of text, in sizes of its font."""
_BULLET = re.compile(r"(?:[•◦▪‣●○■□☐☒➢➤✓–—*-]|\(?[0-9]{1,2}[.)]|\(?[a-z][.)])\s+\S")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines that belong together; `level` is a heading's depth, 0 for body text."""

    text: str
    page: int
    level: int
    listed: bool
    box: Box
    size: float = 0.0
    closed: bool = True
    """It ends before the margin, or with a sentence: what comes next is not part of it."""
    words: tuple[Word, ...] = ()
    """What the text is made of, in its order."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The document's body size in points, and the sizes above it, largest first."""

    body_size: float
    heading_sizes: tuple[float, ...]

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Self:
        """Measure the document: the body is the size of most characters."""
        characters: Counter[float] = Counter()
        bold: set[float] = set()
        for line in lines:
            for segment in line.segments:
                size = _rounded(segment.size)
                characters[size] += len(segment.text)
                bold.update({size} if segment.bold else ())
        if not characters:
            return cls(0.0, ())
        body = max(characters, key=lambda size: (characters[size], -size))
        larger = sorted((size for size in characters if size > body * _ratio(size in bold)), reverse=True)
        # A document set in large type throughout has no heading that is most of its text.
        total = sum(characters.values())
        headings = tuple(size for size in larger if characters[size] < total * 0.25)
        return cls(body, headings[:_HEADING_LEVELS_MAX])

    @property
    def least_heading_size(self) -> float:
        """A larger line is a heading."""
        return self.body_size * _HEADING_RATIO

    def level(self, line: Line) -> int:
        """Return a heading's depth by its size, 0 for other lines."""
        text = line.text
        if (
            len(line.segments) > 2
            or len(text) > _HEADING_CHARACTERS_MAX
            or line.foreign
            or not _starts_like_heading(text)
        ):
            return 0
        if line.size <= self.body_size * _ratio(line.bold) or not self.heading_sizes:
            return 0
        return next(
            (depth for depth, size in enumerate(self.heading_sizes, 1) if _rounded(line.size) >= size),
            len(self.heading_sizes),
        )


def paragraphs(lines: Sequence[Line], layout: Layout, page: int) -> Iterator[Paragraph]:
    """Yield the headings and paragraphs of one column in order."""
    group: list[Line] = []
    for line in lines:
        if group and _breaks(group, line, layout):
            yield _paragraph(group, layout, page)
            group = []
        group.append(line)
    if group:
        yield _paragraph(group, layout, page)


def _breaks(group: Sequence[Line], line: Line, layout: Layout) -> bool:
    previous = group[-1]
    if layout.level(previous) != layout.level(line) or _bullet(line) or previous.foreign != line.foreign:
        return True
    if layout.level(line):
        return len(group) >= 3 or _gap(previous, line) > 2 * _GAP_RATIO
    if abs(previous.size - line.size) > 0.12 * max(previous.size, line.size) and _ends_sentence(previous):
        return True
    if line.text.startswith("[note ") or (
        line.size < _NOTE_RATIO * layout.body_size and _NOTE.match(line.text) and _ends_sentence(previous)
    ):
        return True
    if previous.bold != line.bold and (_short_bold(group) or (line.bold and _ends_sentence(previous))):
        return True
    return _gap(previous, line) > _GAP_RATIO or _gap(previous, line) < -0.5


def _gap(previous: Line, line: Line) -> float:
    """Return the distance of two baselines in line heights."""
    return (line.baseline - previous.baseline) / (_LINE_HEIGHT * max(previous.size, line.size, 1.0))


def _paragraph(group: Sequence[Line], layout: Layout, page: int) -> Paragraph:
    first, last = group[0], group[-1]
    level = layout.level(first)
    if not level and _short_bold(group) and not _bullet(first) and not _ends_sentence(last):
        level = len(layout.heading_sizes) + 1
    text = " ".join(_said(line) for line in group) if level else _reflow(group)
    left, right = min(line.left for line in group), max(line.right for line in group)
    full = len(group) > 1 and (last.right - left) >= _FULL_LINE_SHARE * max(right - left, 1.0)
    closed = bool(level) or not (full or text.endswith(("-", "\u2010"))) or text.endswith((".", "!", "?", ":", "…"))
    return Paragraph(
        text, page, level, not level and _bullet(first), Box(left, first.top, right, last.bottom), first.size, closed,
        tuple(word for line in group for word in line.words),
    )


def _reflow(group: Sequence[Line]) -> str:
    """Join lines that the margin broke; keep the breaks of short lines, which are addresses, verses and table rows."""
    left, right = min(line.left for line in group), max(line.right for line in group)
    width = max(right - left, 1.0)
    text = ""
    for line, following in zip(group, [*group[1:], None], strict=True):
        text += _said(line)
        if following is None:
            break
        full = (line.right - left) / width >= _FULL_LINE_SHARE
        hyphen = line.text.endswith(("-", "\u2010")) and following.text[:1].islower()
        parted = _is_parted(line) or (len(line.segments) > 1 and len(following.segments) > 1)
        text += "\n" if hyphen or parted or not full else " "
    return text


def _is_parted(line: Line) -> bool:
    """Tell whether a gap wider than any that justifies a line stands in it: a date at the right, a value."""
    return any(after.left - before.right > _PARTED * line.size for before, after in pairwise(line.segments))


def _said(line: Line) -> str:
    """Return a line's text: a label and its value of one line are one line."""
    return line.text.replace("  ", " ")


def _starts_like_heading(text: str) -> bool:
    # A fragment of a line, set apart by a change of font, begins with a comma or in the middle of a sentence.
    return (text[0].isalnum() or text[0] in "«“\"'‘(¿¡") and not text[0].islower() and any(map(str.isalpha, text))


def _short_bold(group: Sequence[Line]) -> bool:
    return (
        all(line.bold and len(line.segments) == 1 for line in group)
        and sum(len(line.text) for line in group) <= _BOLD_HEADING_CHARACTERS_MAX
        and _starts_like_heading(group[0].text)
    )


def _bullet(line: Line) -> bool:
    return _BULLET.match(line.text) is not None


def _ends_sentence(line: Line) -> bool:
    return line.text.endswith((".", "!", "?", ";", ":", "…", ","))


def _ratio(bold: bool) -> float:
    return _BOLD_HEADING_RATIO if bold else _HEADING_RATIO


def _rounded(size: float) -> float:
    return round(size * 2) / 2
