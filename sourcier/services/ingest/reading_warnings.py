"""What a reader could not read of a document, or left out of it: a code, how often, and where.

A code decides what people are told, in their language; the detail quotes what the code alone does not say.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from prometheus_client import Counter

reading_warnings_total = Counter(
    "sourcier_reading_warnings_total", "Things that were not read of documents, by kind.", ["code"]
)

PLACES_MAX = 20
DETAIL_CHARACTERS_MAX = 300


class WarningCode(StrEnum):
    """What happened while a document was read."""

    PAGES_UNREADABLE = "pages_unreadable"
    """Damaged pages."""
    PAGES_WITHOUT_TEXT = "pages_without_text"
    """Pages that are pictures alone: scans."""
    PAGES_NOT_RECOGNISED = "pages_not_recognised"
    """Pages that are pictures and that OCR could not read."""
    LOW_CONFIDENCE = "low_confidence"
    """Pages that OCR read without being sure of its letters."""
    SOUND_NOT_RECOGNISED = "sound_not_recognised"
    """Parts of a recording that speech recognition could not read."""
    SOUND_DAMAGED = "sound_damaged"
    """Pieces of a recording that cannot be decoded, or that a file that was cut short lacks."""
    SPEECH_UNSURE = "speech_unsure"
    """Words that were heard without being sure of them."""
    WITHOUT_SPEECH = "without_speech"
    """Long stretches of a recording in which nobody speaks: silence, music, noise."""
    RECORDING_TOO_LONG = "recording_too_long"
    """The end of a recording that is longer than what is read of one."""
    VIDEO_NOT_READ = "video_not_read"
    """The pictures of a video, of which the sound was read."""
    RUNNING_LINES = "running_lines"
    """Running headers and footers, left out after their first time."""
    HIDDEN_TEXT = "hidden_text"
    """Text that nobody sees on the page, left out."""
    UNMAPPED_CHARACTERS = "unmapped_characters"
    """Characters whose font does not say which letter they are."""
    UNREADABLE_TEXT = "unreadable_text"
    """Text that no person reads: long runs of one character, piles of combining marks."""
    PICTURES = "pictures"
    """Pictures of which there is neither text nor a description."""
    PICTURES_NOT_READ = "pictures_not_read"
    """Pictures that could not be read: damaged, too large, of a format that is not read."""
    PICTURES_LEFT_OUT = "pictures_left_out"
    """Pictures beyond the number and the bytes that are read of a document."""
    DESCRIPTIONS_FAILED = "descriptions_failed"
    """Pictures that the vision endpoint did not describe, although it was asked."""
    FORMULAS_WITHOUT_VALUE = "formulas_without_value"
    """Cells whose file stores a formula and no value for it."""
    HIDDEN_CELLS = "hidden_cells"
    """Hidden sheets, rows and columns, left out."""
    ENCODING_GUESSED = "encoding_guessed"
    """The encoding was told from the text itself, and another was nearly as likely."""
    INVALID_BYTES = "invalid_bytes"
    """Bytes that are no character of the encoding."""
    TYPE_DIFFERS = "type_differs"
    """The content is of another type than the name says."""
    NOT_READ = "not_read"
    """Something else that was not read; the detail says what."""


@dataclass(frozen=True, slots=True)
class ReadingWarning:
    """One kind of thing that was not read, with its places."""

    code: WarningCode
    count: int = 1
    places: tuple[str, ...] = ()
    """Page numbers, cells or slides, at most 20 of them, as a person would name them."""
    detail: str = ""


def as_json(warnings: Sequence[ReadingWarning]) -> str:
    """Return warnings as messages and the index keep them; nothing where there is none."""
    if not warnings:
        return ""
    rows = [[warning.code, warning.count, warning.places, warning.detail] for warning in warnings]
    return json.dumps(rows, ensure_ascii=False, separators=(",", ":"))


def count(warnings: Sequence[ReadingWarning]) -> None:
    """Count what was not read of a document."""
    for warning in warnings:
        reading_warnings_total.labels(warning.code).inc(warning.count)


class ReadingWarnings:
    """Collects warnings: those of one code and detail are one, with their counts added and their places joined."""

    def __init__(self) -> None:
        """Begin without any."""
        self._collected: dict[tuple[WarningCode, str], ReadingWarning] = {}

    def add(self, code: WarningCode, *, count: int = 1, places: Iterable[str] = (), detail: str = "") -> None:
        """Count what was not read; `places` beyond the first 20 are counted alone."""
        if count < 1:
            return
        detail = detail[:DETAIL_CHARACTERS_MAX]
        before = self._collected.get((code, detail))
        joined = dict.fromkeys((*(before.places if before else ()), *places))
        self._collected[code, detail] = ReadingWarning(
            code, count + (before.count if before else 0), tuple(joined)[:PLACES_MAX], detail
        )

    def all(self) -> tuple[ReadingWarning, ...]:
        """Return them in the order in which each was first met."""
        return tuple(self._collected.values())
