"""What a vision model says of a picture, as it is kept: by the picture's fingerprint, since a logo is one picture."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sourcier.services.ingest.parsing.parts import packed, unpacked

_FOLDER = "described"


@dataclass(frozen=True, slots=True)
class Description:
    """A description; of a `decorative` picture there is none, else an `error` says why there is none."""

    text: str = ""
    error: str = ""
    decorative: bool = False

    def to_bytes(self) -> bytes:
        """Serialise; the same description gives the same bytes."""
        return packed({"text": self.text, "error": self.error, "decorative": self.decorative})

    @classmethod
    def from_bytes(cls, stored: bytes) -> Description:
        """Read what `to_bytes` wrote; raise DocumentMalformed for anything else."""
        return unpacked(stored, cls._of, what="The stored description of a picture")

    @classmethod
    def _of(cls, body: dict[str, Any]) -> Description:
        return cls(str(body["text"]), str(body["error"]), bool(body["decorative"]))


def description_file(folder: Path, fingerprint: str) -> Path:
    """Return where the description of a picture is put, beside the results of parts."""
    (folder / _FOLDER).mkdir(exist_ok=True)
    return folder / _FOLDER / fingerprint


def description_files(folder: Path) -> Iterator[Path]:
    """Yield the descriptions; each file is named by its picture's fingerprint."""
    yield from sorted((folder / _FOLDER).glob("*"))
