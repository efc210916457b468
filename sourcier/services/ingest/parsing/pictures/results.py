"""What was read of the pictures of a document: their text by OCR, and what a vision model says of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sourcier.services.ingest.parsing.pictures.described import Description, description_files
from sourcier.services.ingest.parsing.scans.recognised import RecognisedPicture, recognised_pages

TEXT_MIN = 3
CONFIDENCE_MIN = 0.7
"""What is less sure in a picture is its drawing taken for letters."""


_NONE = Description()


@dataclass(frozen=True, slots=True)
class PictureResult:
    """What a picture says, and why it could not be read or described; both may be empty."""

    text: str = ""
    description: Description = _NONE
    error: str = ""


class PictureResults:
    """The results of the pictures of one document, by what tells them from others."""

    def __init__(self, folder: Path) -> None:
        """Read the results of parts: pages of a PDF, or single pictures, by their number."""
        pages = list(recognised_pages(folder))
        self._errors = {page.number: page.error for page in pages if page.error}
        self._read: dict[str, RecognisedPicture] = {}
        for page in pages:
            for picture in page.pictures:
                self._read.setdefault(picture.fingerprint, picture)
        self._described = {
            path.name: Description.from_bytes(path.read_bytes()) for path in description_files(folder)
        }

    def of(self, fingerprint: str, *, part: int) -> PictureResult:
        """Return what was read of a picture that belongs to a part."""
        read = self._read.get(fingerprint)
        sure = read is not None and len(read.text) >= TEXT_MIN and read.confidence >= CONFIDENCE_MIN
        return PictureResult(
            text=read.text if read is not None and sure else "",
            description=self._described.get(fingerprint, _NONE),
            error=read.error if read is not None else self._errors.get(part, ""),
        )
