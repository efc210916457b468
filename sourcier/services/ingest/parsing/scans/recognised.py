"""What OCR read of one page: lines with their words, and ruling lines; lengths in points from the upper left corner.

The page is upright and straight: text lines run from left to right. Each page is kept in the object store, so that a
worker that takes over reads no page again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from sourcier.services.ingest.parsing.parts import packed, part_files, unpacked
from sourcier.services.ingest.parsing.pdf.content.elements import Box, Rule


@dataclass(frozen=True, slots=True)
class RecognisedWord:
    """A word, its horizontal extent, and how sure each of its characters is on average: 0 to 1."""

    text: str
    left: float
    right: float
    confidence: float


@dataclass(frozen=True, slots=True)
class RecognisedLine:
    """Words of one line, from left to right."""

    box: Box
    words: tuple[RecognisedWord, ...]

    @property
    def text(self) -> str:
        """All words, parted by spaces."""
        return " ".join(word.text for word in self.words)


@dataclass(frozen=True, slots=True)
class RecognisedPicture:
    """What stands in a picture of a document that has a text of its own."""

    box: Box
    text: str
    confidence: float
    fingerprint: str = ""
    """What tells it from others: a logo is one picture wherever it stands."""
    error: str = ""
    """Why it could not be read."""


@dataclass(frozen=True, slots=True)
class RecognisedPage:
    """A page as OCR read it; an `error` says why it could not be read."""

    number: int
    width: float = 0.0
    height: float = 0.0
    turned: int = 0
    """By how many quarter turns clockwise a viewer shows it turned, seen from where its text is upright."""
    lines: tuple[RecognisedLine, ...] = ()
    horizontal: tuple[Rule, ...] = ()
    vertical: tuple[Rule, ...] = ()
    pictures: tuple[RecognisedPicture, ...] = ()
    """Where the page has a text layer, which is never read by OCR: its pictures in their place of its lines."""
    error: str = ""
    asides: tuple[str, ...] = ()
    """Text set at a right angle to the lines: remarks at the margin."""

    @property
    def confidence(self) -> float:
        """How sure its characters are on average, 0 to 1; 1 for a page without any."""
        words = [word for line in self.lines for word in line.words]
        characters = sum(len(word.text) for word in words)
        return fmean(
            (word.confidence for word in words), weights=[len(word.text) for word in words]
        ) if characters else 1.0

    def to_bytes(self) -> bytes:
        """Serialise as gzip JSON; the same page gives the same bytes."""
        body = {
            "number": self.number, "width": self.width, "height": self.height,
            "turned": self.turned, "error": self.error, "asides": self.asides,
            "pictures": [
                [
                    _rounded(picture.box), picture.text, round(picture.confidence, 3), picture.fingerprint,
                    picture.error,
                ]
                for picture in self.pictures
            ],
            "horizontal": self.horizontal, "vertical": self.vertical,
            "lines": [
                [_rounded(line.box), [
                    [word.text, *_rounded((word.left, word.right)), round(word.confidence, 3)] for word in line.words
                ]]
                for line in self.lines
            ],
        }
        return packed(body)

    @classmethod
    def failed(cls, number: int, error: str) -> RecognisedPage:
        """Return the result of a page that could not be read."""
        return cls(number, error=error)

    @classmethod
    def from_bytes(cls, stored: bytes) -> RecognisedPage:
        """Read what `to_bytes` wrote; raise DocumentMalformed for anything else."""
        return unpacked(stored, cls._of, what="The stored result of OCR")

    @classmethod
    def _of(cls, body: dict[str, Any]) -> RecognisedPage:
        return cls(
            number=body["number"], width=body["width"], height=body["height"], turned=body["turned"],
            lines=tuple(
                RecognisedLine(Box(*box), tuple(RecognisedWord(*word) for word in words))
                for box, words in body["lines"]
            ),
            horizontal=tuple(Rule(*rule) for rule in body["horizontal"]),
            vertical=tuple(Rule(*rule) for rule in body["vertical"]),
            pictures=tuple(RecognisedPicture(Box(*box), *told) for box, *told in body["pictures"]),
            error=body["error"], asides=tuple(body["asides"]),
        )


def recognised_pages(folder: Path) -> Iterator[RecognisedPage]:
    """Yield what OCR read, part by part: pages, or single pictures."""
    for path in part_files(folder):
        yield RecognisedPage.from_bytes(path.read_bytes())


def _rounded(lengths: tuple[float, ...]) -> list[float]:
    return [round(length, 2) for length in lengths]


def in_rows(lines: Iterable[RecognisedLine]) -> str:
    """Return what stands in a picture, row by row: a diagram's label and its figure are one line."""
    rows: list[list[RecognisedLine]] = []
    for line in sorted(lines, key=lambda each: each.box.top + each.box.bottom):
        # Compared with the first of the row: rows that climb slowly would else become one.
        first = rows[-1][0].box if rows else line.box
        apart = abs(line.box.top + line.box.bottom - first.top - first.bottom)
        if rows and apart < min(line.box.height, first.height):
            rows[-1].append(line)
        else:
            rows.append([line])
    return "\n".join(
        " ".join(line.text for line in sorted(row, key=lambda each: each.box.left)) for row in rows
    )
