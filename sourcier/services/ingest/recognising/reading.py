"""Reads the lines that were found: characters with their places along the line and how sure each is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import cv2
import numpy as np
import numpy.typing as npt
import onnxruntime

from sourcier.services.ingest.recognising.detection import Pixels
from sourcier.services.ingest.recognising.models import characters_of

_HEIGHT = 48
_WIDTH_MAX = 3_200
_BATCH_PIXELS_MAX = 48 * 3_200
"""Of lines that are read together: the model gives 18,000 numbers for each eighth pixel of their width."""
_LATIN_SHARE = 0.7
_LATIN_END = 0x0250
_SIGNS = frozenset("€–—…‘’“”•·°§²³¹†‡‰−×÷≤≥≠≈±→←↑↓☐☑☒□■✓✔✗ΩαβγδλμπσφΔΣ«»№™œŒ")
_LIGATURES = "œŒ"
_LIGATURE_MIN = 0.01
_SPACE_MIN = 0.1
"""How likely a space must be between two characters that stand beside one another: where a gap is narrow, it is the
second choice. Of 8,535 pairs within words of drawn and stained lines none was over 0.05, of dropped spaces all were."""


@dataclass(frozen=True, slots=True)
class Character:
    """One character: `at` is its middle along the line, 0 to 1."""

    text: str
    at: float
    confidence: float
    ligature: bool = False
    """It may as well be œ or Œ."""


class Reader:
    """The recognition model."""

    def __init__(self, session: onnxruntime.InferenceSession) -> None:
        self._session = session
        self._input = session.get_inputs()[0].name
        self._characters = characters_of(session)
        self._latin = np.array([index for index, text in enumerate(self._characters) if _is_latin(text)])
        self._ligatures = [self._characters.index(text) for text in _LIGATURES]
        self._space = self._characters.index(" ")

    def read(self, lines: Sequence[Pixels]) -> list[list[Character]]:
        """Return the characters of each line, in the order of the lines."""
        read: list[list[Character]] = [[] for _ in lines]
        widths = [_width(line) for line in lines]
        batch: list[int] = []
        # Of like width together: a batch is as wide as its widest line.
        for index in sorted(range(len(lines)), key=lambda index: widths[index]):
            if batch and (len(batch) + 1) * widths[index] * _HEIGHT > _BATCH_PIXELS_MAX:
                self._read_batch(lines, batch, widths, read)
                batch = []
            batch.append(index)
        if batch:
            self._read_batch(lines, batch, widths, read)
        return read

    def _read_batch(
        self, lines: Sequence[Pixels], batch: list[int], widths: list[int], read: list[list[Character]]
    ) -> None:
        width = max(320, widths[batch[-1]])
        pixels = np.zeros((len(batch), 3, _HEIGHT, width), np.float32)
        for place, index in enumerate(batch):
            sized = cv2.resize(lines[index], (widths[index], _HEIGHT))
            pixels[place, :, :, : widths[index]] = (sized.astype(np.float32) / 127.5 - 1.0).transpose(2, 0, 1)
        likelihoods = self._session.run(None, {self._input: pixels})[0]
        for place, index in enumerate(batch):
            read[index] = self._decode(likelihoods[place], share=widths[index] / width)

    def _decode(self, likelihoods: npt.NDArray[np.float32], *, share: float) -> list[Character]:
        """Return the characters of one line, which takes a share of the width."""
        best = likelihoods.argmax(axis=1)
        written = [self._characters[index] for index in best[_changes(best)]]
        latin = sum(map(_is_latin, written))
        # Few lines mix scripts: a single sign of another is a stain, or a letter taken for it.
        if latin < len(written) and latin >= _LATIN_SHARE * len(written):
            best = self._latin[likelihoods[:, self._latin].argmax(axis=1)]
        steps = len(best) * share
        return [
            Character(
                self._characters[index], min((step + 0.5) / steps, 1.0), float(likelihoods[step, index]),
                self._may_be_ligature(likelihoods, step),
            )
            for step, index in with_spaces(best, likelihoods, space=self._space)
        ]

    def _may_be_ligature(self, likelihoods: npt.NDArray[np.float32], step: int) -> bool:
        around = likelihoods[max(step - 1, 0) : step + 2]
        return bool(around[:, self._ligatures].max() >= _LIGATURE_MIN)


def with_spaces(
    best: npt.NDArray[np.int64], likelihoods: npt.NDArray[np.float32], *, space: int
) -> Iterator[tuple[int, int]]:
    """Yield the step and the index of each character of a line, with the spaces that are a likely second choice.

    `best` has the index of the likeliest character of each step, 0 for none; `likelihoods` is steps × characters.
    """
    before: int | None = None
    for step in map(int, np.flatnonzero(_changes(best))):
        if before is not None and step > before + 1 and space not in (best[before], best[step]):
            between = before + 1 + int(likelihoods[before + 1 : step, space].argmax())
            if likelihoods[between, space] >= _SPACE_MIN:
                yield between, space
        yield step, int(best[step])
        before = step


def _width(line: Pixels) -> int:
    width: int = round(_HEIGHT * line.shape[1] / line.shape[0])
    return min(max(width, 8), _WIDTH_MAX)


def _changes(best: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
    """Tell where a character begins: what is repeated is one, what is 0 is none (CTC)."""
    changes: npt.NDArray[np.bool_] = best != 0
    changes[1:] &= best[1:] != best[:-1]
    return changes


def _is_latin(text: str) -> bool:
    return all(character < chr(_LATIN_END) or character in _SIGNS for character in text)
