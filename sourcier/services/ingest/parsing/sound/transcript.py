"""What speech recognition made of one part of a recording: sentences or so, with their times.

Each part is kept in the object store, so that a worker that takes over hears no part again.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

from sourcier.services.ingest.parsing.parts import packed, unpacked

PART_SECONDS = 300
"""Of a recording; the last part is what is left."""
_RECORDING = "recording.json"


class Segment(NamedTuple):
    """A few words that were said in one go; times in seconds from the recording's start."""

    start: float
    end: float
    text: str
    confidence: float
    """How likely its words are on average, 0 to 1."""


@dataclass(frozen=True, slots=True)
class TranscribedPart:
    """A part of a recording; an `error` says why it could not be read."""

    number: int
    """From 1."""
    segments: tuple[Segment, ...] = ()
    language: str = ""
    """ISO 639-1; empty where nothing was said."""
    damaged: int = 0
    """Pieces of the file that could not be decoded: a piece is 20 to 100 milliseconds."""
    error: str = ""

    def to_bytes(self) -> bytes:
        """Serialise as gzip JSON; the same part gives the same bytes."""
        body = {
            "number": self.number, "language": self.language, "damaged": self.damaged, "error": self.error,
            "segments": [
                [round(each.start, 2), round(each.end, 2), each.text, round(each.confidence, 3)]
                for each in self.segments
            ],
        }
        return packed(body)

    @classmethod
    def failed(cls, number: int, error: str) -> TranscribedPart:
        """Return the result of a part that could not be read."""
        return cls(number, error=error)

    @classmethod
    def from_bytes(cls, stored: bytes) -> TranscribedPart:
        """Read what `to_bytes` wrote; raise DocumentMalformed for anything else."""
        return unpacked(stored, cls._of, what="The stored transcript")

    @classmethod
    def _of(cls, body: dict[str, Any]) -> TranscribedPart:
        return cls(
            number=body["number"], language=body["language"], damaged=body["damaged"], error=body["error"],
            segments=tuple(Segment(*each) for each in body["segments"]),
        )


@dataclass(frozen=True, slots=True)
class Recording:
    """What is known of a recording without listening to it."""

    seconds: float
    """Of sound that is there."""
    promised_seconds: float
    """Of sound that the file says it has; 0 where it says nothing."""
    video: bool
    title: str

    def write(self, folder: Path) -> None:
        """Put it beside the parts that were heard."""
        (folder / _RECORDING).write_text(json.dumps(asdict(self)))

    @classmethod
    def read(cls, folder: Path) -> Recording:
        """Return what was put beside the parts."""
        return cls(**json.loads((folder / _RECORDING).read_text()))


class RefusedSound(Exception):
    """The endpoint does not take this sound; the message says what it answered."""


def part_count(seconds: float) -> int:
    """Return in how many parts a recording is read; a last one of less than a second is none."""
    whole, rest = divmod(max(seconds, 0.0), PART_SECONDS)
    return max(int(whole) + (rest >= 1), 1)


def clock(seconds: float) -> str:
    """Return a time of a recording as players show it: 12:40, 1:02:05."""
    minutes, second = divmod(int(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


def clock_range(start: float, end: float) -> str:
    """Return a part of a recording as people write it."""
    return f"{clock(start)}–{clock(end)}"
