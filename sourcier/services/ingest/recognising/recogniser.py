"""From a drawn page to what stands on it: set upright and straight, its lines found and read, its ruling lines kept."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median

import cv2
import numpy as np

from sourcier.services.ingest.parsing.pdf.content.elements import Box
from sourcier.services.ingest.parsing.scans.pictures import DrawnPage
from sourcier.services.ingest.parsing.scans.recognised import (
    RecognisedLine,
    RecognisedPage,
    RecognisedPicture,
    RecognisedWord,
    in_rows,
)
from sourcier.services.ingest.recognising.detection import Corners, Detector, Extent, Pixels, cut_out
from sourcier.services.ingest.recognising.ligatures import mended
from sourcier.services.ingest.recognising.models import DETECTION, RECOGNITION, open_session
from sourcier.services.ingest.recognising.picture_files import cut_part
from sourcier.services.ingest.recognising.reading import Character, Reader
from sourcier.services.ingest.recognising.ruling import find_rules

LINE_CONFIDENCE_MIN = 0.5
"""Lines that are less sure are no text: stains, drawings, patterns."""
_SHORT_CONFIDENCE_MIN = 0.8
"""Of one or two signs: a pattern is easily taken for one."""
_DRAWING_SHARE = 0.4
"""A sign or two that take more of the page's height are a drawing."""
_SAMPLE = 4
_PICTURE_SIDE_MIN = 32
"""In drawn pixels."""
_SURE = 0.9
_TALL = 1.5
_SKEW_MIN = math.radians(0.25)
_SKEW_MAX = math.radians(30)
_FOUND_AGAIN = math.radians(2)
"""Lines that were more aslant are found anew: their boxes overlap those of their neighbours."""
_LONG = 6.0
"""A line of so many times its height tells the angle of the page."""


@dataclass(frozen=True, slots=True)
class _Upright:
    """A page whose text is upright and straight."""

    pixels: Pixels
    lines: list[Corners]
    turned: int


class Recogniser:
    """Both models of OCR, loaded."""

    def __init__(self, *, threads: int) -> None:
        self._detector = Detector(open_session(DETECTION, threads=threads))
        self._reader = Reader(open_session(RECOGNITION, threads=threads))

    def recognise(self, page: DrawnPage, number: int) -> RecognisedPage:
        """Read one page, or its pictures alone where it has a text layer."""
        if page.parts:
            return self._pictures(page, number)
        upright = self._upright(page.pixels)
        width, height = (page.height, page.width) if upright.turned % 2 else (page.width, page.height)
        scale = width / upright.pixels.shape[1]
        across = [corners for corners in upright.lines if not _is_tall(corners)]
        read = self._reader.read([cut_out(upright.pixels, corners) for corners in across])
        lines = (
            _line(corners, characters, scale=scale, page_height=upright.pixels.shape[0])
            for corners, characters in zip(across, read, strict=True)
        )
        horizontal, vertical = find_rules(upright.pixels, scale=scale)
        return RecognisedPage(
            number=number, width=width, height=height, turned=upright.turned,
            lines=tuple(line for line in lines if line is not None),
            horizontal=tuple(horizontal), vertical=tuple(vertical), asides=self._asides(upright),
        )

    def _pictures(self, page: DrawnPage, number: int) -> RecognisedPage:
        pictures = []
        for part in page.parts:
            pixels = cut_part(page, part.box)
            if min(pixels.shape[:2]) < _PICTURE_SIDE_MIN:
                pictures.append(RecognisedPicture(part.box, "", 0.0, part.fingerprint))
                continue
            read = self.recognise(DrawnPage(pixels, part.box.width, part.box.height), number)
            pictures.append(RecognisedPicture(part.box, in_rows(read.lines), read.confidence, part.fingerprint))
        return RecognisedPage(number, page.width, page.height, pictures=tuple(pictures))

    def _upright(self, pixels: Pixels) -> _Upright:
        lines = self._detector.find(pixels)
        turned = 0
        if _stand(lines):
            pixels, turned = np.ascontiguousarray(np.rot90(pixels)), 1
            lines = self._detector.find(pixels)
        pixels, lines = self._straight(pixels, lines)
        if lines and self._is_upside_down(pixels, lines):
            height, width = pixels.shape[:2]
            pixels, turned = np.ascontiguousarray(pixels[::-1, ::-1]), turned + 2
            lines = [np.array([width, height], np.float32) - corners[[2, 3, 0, 1]] for corners in lines]
        return _Upright(pixels, lines, turned)

    def _straight(self, pixels: Pixels, lines: list[Corners]) -> tuple[Pixels, list[Corners]]:
        angle = _skew(lines)
        if not _SKEW_MIN <= abs(angle) <= _SKEW_MAX:
            return pixels, lines
        height, width = pixels.shape[:2]
        turn = cv2.getRotationMatrix2D((width / 2, height / 2), math.degrees(angle), 1.0)
        ground = [float(value) for value in np.median(pixels[::16, ::16].reshape(-1, 3), axis=0)]
        straight: Pixels = cv2.warpAffine(  # type: ignore[assignment]
            pixels, turn, (width, height), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT, borderValue=ground
        )
        if abs(angle) > _FOUND_AGAIN:
            return straight, self._detector.find(straight)
        return straight, [(corners @ turn[:, :2].T + turn[:, 2]).astype(np.float32) for corners in lines]

    def _is_upside_down(self, pixels: Pixels, lines: Sequence[Corners]) -> bool:
        longest = sorted(lines, key=lambda corners: -Extent.of(corners).length)[:_SAMPLE]
        cut = [cut_out(pixels, corners) for corners in longest]
        as_it_is = _certainty(self._reader.read(cut))
        if as_it_is >= _SURE:
            return False
        return _certainty(self._reader.read([np.ascontiguousarray(line[::-1, ::-1]) for line in cut])) > as_it_is

    def _asides(self, page: _Upright) -> tuple[str, ...]:
        tall = [cut_out(page.pixels, corners) for corners in page.lines if _is_tall(corners)]
        texts = []
        # They are read from below or from above, whichever is surer.
        ways = [self._reader.read([np.ascontiguousarray(np.rot90(line, turns)) for line in tall]) for turns in (1, 3)]
        for upwards, downwards in zip(*ways, strict=True):
            characters = max(upwards, downwards, key=_confidence)
            text = "".join(character.text for character in characters).strip()
            if len(text) > 2 and _confidence(characters) >= _SURE:
                texts.append(text)
        return tuple(texts)


def _line(
    corners: Corners, characters: Sequence[Character], *, scale: float, page_height: float
) -> RecognisedLine | None:
    """Return a line in points, None where what was read is no text; the height of the page is in pixels."""
    short = len(characters) <= 2
    if _confidence(characters) < (_SHORT_CONFIDENCE_MIN if short else LINE_CONFIDENCE_MIN):
        return None
    if short and Extent.of(corners).height > _DRAWING_SHARE * page_height:
        return None
    (left, top), (right, bottom) = (corners.min(axis=0) * scale).tolist(), (corners.max(axis=0) * scale).tolist()
    words = tuple(_words(mended(characters), left, right))
    return RecognisedLine(Box(left, top, right, bottom), words) if words else None


def _words(characters: Sequence[Character], left: float, right: float) -> list[RecognisedWord]:
    words: list[RecognisedWord] = []
    group: list[Character] = []
    pitch = 1 / max(len(characters), 1)
    for character in (*characters, Character(" ", 1.0, 1.0)):
        if not character.text.isspace():
            group.append(character)
        elif group:
            # The middle of a character is known: half of one is added at each end.
            ends = max(group[0].at - pitch / 2, 0.0), min(group[-1].at + pitch / 2, 1.0)
            start, end = (left + at * (right - left) for at in ends)
            words.append(RecognisedWord("".join(c.text for c in group), start, end, _confidence(group)))
            group = []
    return words


def _is_tall(corners: Corners) -> bool:
    extent = Extent.of(corners)
    return extent.height > _TALL * extent.length


def _stand(lines: Sequence[Corners]) -> bool:
    """Tell whether most of the text runs upwards or downwards."""
    extents = [Extent.of(corners) for corners in lines]
    across = sum(extent.length for extent in extents if extent.length > 2 * extent.height)
    return sum(extent.height for extent in extents if extent.height > 2 * extent.length) > across


def _skew(lines: Sequence[Corners]) -> float:
    """Return the angle of the page's lines, in radians, downwards to the right."""
    angles = [
        math.atan2(float(corners[1][1] - corners[0][1]), float(corners[1][0] - corners[0][0]))
        for corners in lines
        if Extent.of(corners).length > _LONG * Extent.of(corners).height
    ]
    return median(angles) if angles else 0.0


def _confidence(characters: Sequence[Character]) -> float:
    return fmean(character.confidence for character in characters) if characters else 0.0


def _certainty(lines: Sequence[Sequence[Character]]) -> float:
    return fmean(map(_confidence, lines))
