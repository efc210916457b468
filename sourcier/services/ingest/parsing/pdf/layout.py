"""From lines to paragraphs and headings, by place and size alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from sourcier.services.ingest.parsing.pdf.lines import Line

_HEADING_CHARACTERS_MAX = 160
_HEADING_RATIO = 1.15
_BOLD_HEADING_RATIO = 1.04
_HEADING_LEVELS_MAX = 4
_BOLD_HEADING_CHARACTERS_MAX = 100
_FULL_LINE_SHARE = 0.8
"""A line that reaches this share of its paragraph's width was broken by the margin, not by its writer."""
_GAP_RATIO = 1.55
_SAME_ROW_GAP = 0.3
_BULLET = re.compile(r"(?:[•◦▪‣●○■□➢➤✓–—*-]|\(?[0-9]{1,2}[.)]|\(?[a-z][.)])\s+\S")


@dataclass(frozen=True, slots=True)
class Paragraph:
    """Lines that belong together; `level` is a heading's depth, 0 for body text."""

    text: str
    page: int
    level: int
    listed: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """The document's body size in points, and the sizes above it, largest first."""

    body_height: float
    heading_heights: tuple[float, ...]

    @classmethod
    def of(cls, lines: Iterable[Line]) -> Self:
        """Measure the document: the body is the size of most characters."""
        characters: Counter[float] = Counter()
        bold: set[float] = set()
        for line in lines:
            characters[_rounded(line.height)] += len(line.text)
            bold.update({_rounded(line.height)} if line.bold else ())
        if not characters:
            return cls(0.0, ())
        body = max(characters, key=lambda height: (characters[height], -height))
        larger = sorted((height for height in characters if height > body * _ratio(height in bold)), reverse=True)
        # A document set in large type throughout has no heading that is most of its text.
        total = sum(characters.values())
        headings = tuple(height for height in larger if characters[height] < total * 0.25)
        return cls(body, headings[:_HEADING_LEVELS_MAX])

    def level(self, line: Line) -> int:
        """Return a heading's depth by its size, 0 for other lines."""
        if len(line.text) > _HEADING_CHARACTERS_MAX or not _starts_like_heading(line.text):
            return 0
        if line.height <= self.body_height * _ratio(line.bold) or not self.heading_heights:
            return 0
        return next(
            (depth for depth, height in enumerate(self.heading_heights, 1) if _rounded(line.height) >= height),
            len(self.heading_heights),
        )


def paragraphs(lines: Sequence[Line], layout: Layout) -> Iterator[Paragraph]:
    """Yield the page's headings and paragraphs in order."""
    group: list[Line] = []
    for line in lines:
        if group and _breaks(group, line, layout):
            yield _paragraph(group, layout)
            group = []
        group.append(line)
    if group:
        yield _paragraph(group, layout)


def _breaks(group: Sequence[Line], line: Line, layout: Layout) -> bool:
    previous = group[-1]
    if layout.level(previous) != layout.level(line) or _bullet(line):
        return True
    if layout.level(line):
        return len(group) >= 3 or _gap(previous, line) > 2 * _GAP_RATIO
    if previous.bold != line.bold and (_short_bold(group) or (line.bold and _ends_sentence(previous))):
        return True
    if line.bottom > previous.last_bottom + previous.height:  # a new column
        return _ends_sentence(previous)
    return _gap(previous, line) > _GAP_RATIO


def _gap(previous: Line, line: Line) -> float:
    """Return the distance of two baselines in line heights."""
    height = max(previous.height, line.height, 1.0)
    return abs(previous.last_bottom - line.bottom) / height


def _paragraph(group: Sequence[Line], layout: Layout) -> Paragraph:
    first = group[0]
    level = layout.level(first)
    if not level and _short_bold(group) and not _bullet(first) and not _ends_sentence(group[-1]):
        level = len(layout.heading_heights) + 1
    text = " ".join(line.text for line in group) if level else _reflow(group)
    return Paragraph(text, first.page, level, listed=not level and _bullet(first))


def _reflow(group: Sequence[Line]) -> str:
    """Join lines that the margin broke; keep the breaks of short lines, which are addresses, verses and table rows."""
    left, right = min(line.left for line in group), max(line.right for line in group)
    width = max(right - left, 1.0)
    text = ""
    for line, following in zip(group, [*group[1:], None], strict=True):
        text += line.text
        if following is None:
            break
        full = (line.right - left) / width >= _FULL_LINE_SHARE
        hyphen = line.text.endswith(("-", "\u2010")) and following.text[:1].islower()
        same_row = _gap(line, following) < _SAME_ROW_GAP and following.left >= line.right
        text += "\n" if hyphen or not (full or same_row) else " "
    return text


def _starts_like_heading(text: str) -> bool:
    # A fragment of a line, set apart by a change of font, begins with a comma or in the middle of a sentence.
    return (text[0].isalnum() or text[0] in "«“\"'‘(¿¡") and not text[0].islower() and any(map(str.isalpha, text))


def _short_bold(group: Sequence[Line]) -> bool:
    return (
        all(line.bold for line in group)
        and sum(len(line.text) for line in group) <= _BOLD_HEADING_CHARACTERS_MAX
        and _starts_like_heading(group[0].text)
    )


def _bullet(line: Line) -> bool:
    return _BULLET.match(line.text) is not None


def _ends_sentence(line: Line) -> bool:
    return line.text.endswith((".", "!", "?", ";", ":", "…", ","))


def _ratio(bold: bool) -> float:
    return _BOLD_HEADING_RATIO if bold else _HEADING_RATIO


def _rounded(height: float) -> float:
    return round(height * 2) / 2
