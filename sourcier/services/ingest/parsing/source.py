"""What a parser is given."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sourcier.services.chassis.errors import DocumentTooLarge
from sourcier.services.ingest.parsing.limits import ParsingLimits


@dataclass(frozen=True, slots=True)
class Source:
    """A file to read, its name, and the title its sender gave it (empty: take the document's own)."""

    path: Path
    filename: str
    content_type: str = ""
    title: str = ""
    limits: ParsingLimits = field(default_factory=ParsingLimits)
    ocr: bool = False
    """Whether pages that are pictures may be left to OCR."""
    speech: bool = False
    """Whether recordings may be left to speech recognition."""
    recognised: Path | None = None
    """A folder with what OCR read of such pages, or what was heard of a recording: a file for each part."""
    unpacked: Path | None = None
    """The folder that documents inside this one are written to; None: they are named alone."""

    def check_pages(self, count: int, what: str = "pages") -> None:
        """Refuse a file of too many pages, slides or sheets; raise DocumentTooLarge."""
        if count > self.limits.pages:
            raise DocumentTooLarge(f"The document has {count:,} {what}; at most {self.limits.pages:,} are read.")

    def read(self) -> bytes:
        """Return the whole content."""
        return self.path.read_bytes()
