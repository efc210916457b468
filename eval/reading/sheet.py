"""Pages drawn with reportlab: text broken into lines, in points from the upper left corner."""

from __future__ import annotations

import random
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from reportlab.pdfbase import pdfmetrics  # type: ignore[import-not-found, import-untyped, unused-ignore]
from reportlab.pdfbase.ttfonts import TTFont  # type: ignore[import-not-found, import-untyped, unused-ignore]
from reportlab.pdfgen.canvas import Canvas  # type: ignore[import-not-found, import-untyped, unused-ignore]

from eval.reading.truth import Block, Document

WIDTH, HEIGHT = 595.0, 842.0
FAMILIES = (("Helvetica", "Helvetica-Bold"), ("Times-Roman", "Times-Bold"), ("Vera", "VeraBd"))
"""Two that a file only names, and one whose characters are in the file."""
_TURNED = {90: (0, 1, -1, 0, HEIGHT, 0), 180: (-1, 0, 0, -1, WIDTH, HEIGHT), 270: (0, -1, 1, 0, 0, WIDTH)}
_SYLLABLE = re.compile(r"(?<=[aeiouyéèê])(?=[bcdfgjklmnpqrstvz][aeiouyéèê])")
_BROKEN_MIN = 3


@dataclass(frozen=True, slots=True)
class Style:
    """How text is set."""

    family: int = 0
    size: float = 10.0
    bold: bool = False
    leading: float = 1.3
    justified: bool = False
    broken: bool = False
    """Whether words are broken at the ends of lines."""

    @property
    def font(self) -> str:
        """The font's name."""
        return FAMILIES[self.family][self.bold]

    def width(self, text: str) -> float:
        """Return how long a text is."""
        return float(pdfmetrics.stringWidth(text, self.font, self.size))


class Sheet:
    """The pages of one document, drawn one after the other."""

    def __init__(self, folder: Path, document: Document, *, rotation: int = 0) -> None:
        for name in FAMILIES[2]:
            if name not in pdfmetrics.getRegisteredFontNames():
                pdfmetrics.registerFont(TTFont(name, f"{name}.ttf"))
        self.document = document
        self.page = 1
        self._rotation = rotation
        # It swaps the sides of a page that is turned by a quarter. The same pages give the same bytes.
        self.canvas: Any = Canvas(str(folder / document.name), pagesize=(WIDTH, HEIGHT), invariant=1)
        self._begin()

    def _begin(self) -> None:
        if self._rotation:
            self.canvas.setPageRotation(self._rotation)
            self.canvas.transform(*_TURNED[self._rotation])

    def next_page(self) -> None:
        """End a page and begin another one."""
        self.canvas.showPage()
        self.page += 1
        self.document.pages = self.page
        self._begin()

    def save(self) -> Document:
        """Write the file; return what stands in it."""
        self.canvas.save()
        return self.document

    def write(self, x: float, y: float, text: str, style: Style, *, align: str = "left") -> None:
        """Write a line whose baseline is `y`; `x` is its left or right edge, or its middle."""
        self.canvas.setFont(style.font, style.size)
        shift = {"left": 0.0, "right": style.width(text), "middle": style.width(text) / 2}[align]
        self.canvas.drawString(x - shift, HEIGHT - y, text)

    def rule(self, x0: float, y0: float, x1: float, y1: float, *, width: float = 0.6) -> None:
        """Draw a line."""
        self.canvas.setLineWidth(width)
        self.canvas.line(x0, HEIGHT - y0, x1, HEIGHT - y1)

    def fill(self, x0: float, y0: float, x1: float, y1: float, grey: float) -> None:
        """Fill a box."""
        self.canvas.setFillGray(grey)
        self.canvas.rect(x0, HEIGHT - y1, x1 - x0, y1 - y0, stroke=0, fill=1)
        self.canvas.setFillGray(0)

    def block(
        self, kind: str, text: str, x: float, y: float, width: float, style: Style, *, indent: float = 0,
        marker: str = "",
    ) -> float:
        """Write a block from the upper edge `y`; return its lower edge.

        `indent` is that of its first line, and `marker` what stands to the left of it.
        """
        lines = broken_lines(text, width, style, indent=indent)
        for number, line in enumerate(lines):
            y += style.size * style.leading
            start, room = (x + indent, width - indent) if number == 0 else (x, width)
            last = number == len(lines) - 1
            spaces = line.count(" ")
            if style.justified and not last and spaces:
                self.canvas.setFont(style.font, style.size)
                drawn = self.canvas.beginText(start, HEIGHT - y)
                drawn.setWordSpace((room - style.width(line)) / spaces)
                drawn.textOut(line)
                drawn.setWordSpace(0)
                self.canvas.drawText(drawn)
            else:
                self.write(start, y, line, style)
            if marker and number == 0:
                self.write(x - 16, y, marker, style)
        self.document.blocks.append(Block(kind, f"{marker} {text}".strip(), self.page))
        return y + style.size * 0.3


def broken_lines(text: str, width: float, style: Style, *, indent: float = 0.0) -> list[str]:
    """Return a text in lines of at most a width."""
    lines, line, room = list[str](), "", width - indent
    for word in text.split(" "):
        candidate = f"{line} {word}".strip()
        if not line or style.width(candidate) <= room:
            line = candidate
            continue
        head, tail = _broken(word, room - style.width(f"{line} "), style) if style.broken else ("", word)
        lines.append(f"{line} {head}-" if head else line)
        line, room = tail, width
    return [*lines, line]


def _broken(word: str, room: float, style: Style) -> tuple[str, str]:
    """Return a word in two parts, the first one as long as there is room for it with a hyphen, or empty."""
    if not word.isalpha():
        return "", word
    places = [match.start() for match in _SYLLABLE.finditer(word)]
    for place in reversed(places):
        if _BROKEN_MIN <= place <= len(word) - _BROKEN_MIN and style.width(word[:place] + "-") <= room:
            return word[:place], word[place:]
    return "", word


def styles(chance: random.Random) -> tuple[Style, Style]:
    """Return styles of a document's text and of its headings."""
    family, size = chance.randrange(3), chance.choice((9.0, 10.0, 11.0))
    leading = chance.choice((1.2, 1.3, 1.45))
    text = Style(family, size, leading=leading, justified=chance.random() < 0.5, broken=chance.random() < 0.4)
    return text, Style(family, size * chance.choice((1.25, 1.4, 1.6)), bold=True)
