"""The pictures that a document holds as files: taken out in its order, each once, within the limits."""

from __future__ import annotations

import hashlib
import io
import struct
from typing import NamedTuple, Protocol

from PIL import Image

from sourcier.services.ingest.documents import EmbeddedPicture
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.pictures.results import PictureResults
from sourcier.services.ingest.parsing.scans.pictures import FORMATS
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode

UNREADABLE = (
    OSError, ValueError, SyntaxError, KeyError, TypeError, OverflowError, IndexError, EOFError, ArithmeticError,
    AttributeError, NotImplementedError, struct.error,
)
"""What Pillow raises for pictures that are damaged, or made to be."""
_NO_PICTURE = "damaged, or of a format that is not read"
_FINGERPRINT_BYTES = 16


class PackedFile(Protocol):
    """A picture in an archive, which names one more than once."""

    @property
    def part(self) -> str:
        """What tells it from others of the archive."""
        ...

    def read(self) -> bytes | None:
        """Unpack it; None where it is damaged."""
        ...


class _Seen(NamedTuple):
    size: tuple[int, int] | None
    """None for what is no picture that can be read."""
    fingerprint: str
    is_there: bool
    content: bytes
    """Empty where the part was met before."""


class EmbeddedPictures:
    """Takes the pictures of one document, and knows what was read of them."""

    def __init__(self, source: Source) -> None:
        self._limits = source.limits
        self._results = PictureResults(source.recognised) if source.recognised else None
        self._read = source.limits.pictures and (source.ocr or source.recognised is not None)
        self._known: set[str] = set()
        self._parts: dict[str, _Seen] = {}
        self._bytes = 0
        self.taken: list[EmbeddedPicture] = []

    @property
    def unread(self) -> tuple[EmbeddedPicture, ...]:
        """The pictures that OCR has still to read; none once there are results."""
        return () if self._results is not None else tuple(self.taken)

    @property
    def results(self) -> PictureResults | None:
        """What was read of the pictures; None before they are read."""
        return self._results

    def take(
        self, file: bytes | PackedFile | None, warnings: ReadingWarnings, *, place: str
    ) -> EmbeddedPicture | None:
        """Return a picture that is read; None for decoration, for what came before, and for what is told instead."""
        places = [place] if place else []
        seen = self._look(file)
        if seen.size is not None and not self._limits.is_content(*seen.size):
            return None
        if not self._read or not seen.is_there:
            warnings.add(WarningCode.PICTURES, places=places)
            return None
        if seen.size is None:
            warnings.add(WarningCode.PICTURES_NOT_READ, places=places, detail=_NO_PICTURE)
            return None
        if seen.fingerprint in self._known:
            return None
        self._known.add(seen.fingerprint)
        content = seen.content
        if len(self.taken) >= self._limits.pictures_max or self._bytes + len(content) > self._limits.pictures_bytes_max:
            warnings.add(WarningCode.PICTURES_LEFT_OUT, places=places, detail=left_out(self._limits))
            return None
        self._bytes += len(content)
        picture = EmbeddedPicture(len(self.taken) + 1, seen.fingerprint, content)
        self.taken.append(picture)
        return picture

    def _look(self, file: bytes | PackedFile | None) -> _Seen:
        """Return what is known of a picture; each part of an archive is unpacked once, however often it is named."""
        if file is None or isinstance(file, bytes):
            return self._seen(file)
        seen = self._parts.get(file.part)
        if seen is None:
            seen = self._seen(file.read())
            self._parts[file.part] = seen._replace(content=b"")
        return seen

    def _seen(self, content: bytes | None) -> _Seen:
        size = _size(content) if content else None
        if not content or size is None:
            return _Seen(size, "", bool(content), b"")
        # Nothing is asked of the fingerprint of what is not read.
        is_read = self._read and self._limits.is_content(*size)
        return _Seen(size, fingerprint_of(content) if is_read else "", True, content)


def fingerprint_of(content: bytes) -> str:
    """Return what tells a picture from others, as 32 hexadecimal digits."""
    return hashlib.blake2b(content, digest_size=_FINGERPRINT_BYTES).hexdigest()


def left_out(limits: ParsingLimits) -> str:
    """Return why pictures are left out of a document that has more than are read."""
    return f"at most {limits.pictures_max:,} pictures of a document are read, and {limits.pictures_bytes_max:,} bytes"


def _size(content: bytes) -> tuple[int, int] | None:
    """Return a picture's width and height by its header; None for what is no picture that can be read."""
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as picture:
            return picture.size
    except UNREADABLE:
        return None
