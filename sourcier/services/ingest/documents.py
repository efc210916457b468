"""A document once read: one cleaned text, and the blocks that are spans over it.

Everything later (chunks, citations, highlights) counts characters in this one text, so an offset means the same thing
at every stage, whatever the original format was.
"""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import PurePath

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.index.places import encoding
from sourcier.services.index.places.place_map import PlaceMap
from sourcier.services.ingest.reading_warnings import ReadingWarning, WarningCode

ARTEFACT_VERSION = 4
"""Version 2 had sentences for warnings, version 3 no places; both are read."""
_READ_VERSIONS = (2, 3, ARTEFACT_VERSION)
TITLE_CHARACTERS_MAX = 250
DESCRIBED_KEYS_MAX, DESCRIBED_KEY_CHARACTERS_MAX, DESCRIBED_VALUE_CHARACTERS_MAX = 32, 64, 500
"""What a document says of itself beside its text, at most; a sender's own metadata has limits of its own."""


class BlockKind(StrEnum):
    """What a block is to a reader."""

    HEADING = "heading"
    PARAGRAPH = "paragraph"
    LIST_ITEM = "list_item"
    TABLE = "table"
    CODE = "code"
    CAPTION = "caption"
    PICTURE = "picture"
    """What a picture says, a passage of its own."""
    ASIDE = "aside"
    """What stands around a page's content: banners, share lines, footers."""


@dataclass(frozen=True, slots=True)
class Block:
    """A span of the text: characters `start` to `end`, the end not included."""

    kind: BlockKind
    start: int
    end: int
    page: int = 0
    """From 1; 0 where the format has no pages."""
    level: int = 0
    """A heading's depth from 1; a list item's from 1; 0 elsewhere."""
    heading_path: tuple[str, ...] = ()
    """The headings the block stands under, outermost first; a heading's own path ends with itself."""


@dataclass(frozen=True, slots=True)
class Member:
    """A document that came inside another one: its name in there, folders included, and its media type."""

    name: str
    content_type: str = ""


@dataclass(frozen=True, slots=True)
class EmbeddedPicture:
    """A picture inside a document, as its file: its number, from 1, and what tells it from others."""

    number: int
    fingerprint: str
    content: bytes


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    """What parsing hands on: a title, the cleaned text and its structure."""

    title: str
    text: str
    blocks: tuple[Block, ...]
    page_count: int
    """Pages, slides or sheets; 0 where the format has none."""
    format: str
    warnings: tuple[ReadingWarning, ...] = field(default=())
    titled: bool = True
    """Whether the title is the document's own; otherwise it is its file's name, and not that of a copy's."""
    scanned: tuple[int, ...] = ()
    """Pages that OCR has still to read. They are not part of the artefact: one is kept of whole documents alone."""
    pictures: tuple[EmbeddedPicture, ...] = ()
    """The files of pictures that OCR has still to read, where it is they that are `scanned`; not in the artefact."""
    recorded: bool = False
    """Whether it is a recording that speech recognition has still to hear: there is nothing of it yet."""
    places: PlaceMap = field(default_factory=PlaceMap)
    """Where each character of the text stands in the file; empty for what an earlier release read."""
    metadata: Mapping[str, str] = field(default_factory=dict)
    """What the document says of itself: a mail's sender, the front matter of a text."""
    members: tuple[Member, ...] = ()
    """The documents inside it, in the order of the files that they were unpacked to."""

    def named(self, *, title: str, filename: str) -> ParsedDocument:
        """Return the document with the title its sender gave it, its own, or its file's name, in this order."""
        title = clean_line(title)
        if not title and not self.titled:
            title = clean_line(PurePath(filename).stem) or clean_line(filename)
        return replace(self, title=title[:TITLE_CHARACTERS_MAX].strip()) if title else self

    def block_text(self, block: Block) -> str:
        """Return the block's characters."""
        return self.text[block.start : block.end]

    def to_bytes(self) -> bytes:
        """Serialise as gzip JSON; the same document gives the same bytes, whatever its file is called.

        One content may be read under two names at once: whichever is stored last has to be what both said it is.
        """
        body: dict[str, object] = {
            "version": ARTEFACT_VERSION,
            "title": self.title if self.titled else "",
            "titled": self.titled,
            "text": self.text,
            "format": self.format,
            "page_count": self.page_count,
            "warnings": [[w.code, w.count, w.places, w.detail] for w in self.warnings],
            "blocks": [[b.kind, b.start, b.end, b.page, b.level, b.heading_path] for b in self.blocks],
            "places": base64.b64encode(encoding.encode(self.places)).decode(),
        }
        if self.metadata:
            body["metadata"] = dict(self.metadata)
        if self.members:
            body["members"] = [[member.name, member.content_type] for member in self.members]
        encoded = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        # Level 6 costs a third of level 9 for 1 % more bytes; mtime 0 keeps the artefact's hash stable.
        return gzip.compress(encoded, compresslevel=6, mtime=0)

    @classmethod
    def from_bytes(cls, artefact: bytes) -> ParsedDocument:
        """Read what `to_bytes` wrote; raise DocumentMalformed for anything else."""
        try:
            body = json.loads(gzip.decompress(artefact))
            if body["version"] not in _READ_VERSIONS:
                raise DocumentMalformed(
                    f"The parsed artefact has version {body['version']}, this release reads {ARTEFACT_VERSION}: "
                    "parse the document again."
                )
            blocks = tuple(
                Block(BlockKind(kind), start, end, page, level, tuple(path))
                for kind, start, end, page, level, path in body["blocks"]
            )
            return cls(
                title=body["title"],
                titled=body["titled"],
                text=body["text"],
                blocks=blocks,
                page_count=body["page_count"],
                format=body["format"],
                warnings=tuple(_warning(item) for item in body["warnings"]),
                places=encoding.decode(base64.b64decode(body.get("places", ""))),
                metadata=dict(body.get("metadata", {})),
                members=tuple(Member(name, content_type) for name, content_type in body.get("members", ())),
            )
        except (OSError, EOFError, zlib.error, ValueError, KeyError, TypeError) as error:
            raise DocumentMalformed("The parsed artefact cannot be read: parse the document again.") from error


def described(found: Mapping[str, str]) -> dict[str, str]:
    """Return what a document says of itself, within the limits and fit to be stored."""
    pairs = ((clean_line(name), clean_line(value)) for name, value in found.items())
    kept = [
        (name, value[:DESCRIBED_VALUE_CHARACTERS_MAX]) for name, value in pairs
        if value and 0 < len(name) <= DESCRIBED_KEY_CHARACTERS_MAX
    ]
    return dict(kept[:DESCRIBED_KEYS_MAX])


def _warning(item: str | list[object]) -> ReadingWarning:
    if isinstance(item, str):
        return ReadingWarning(WarningCode.NOT_READ, detail=item)
    code, count, places, detail = item
    if not (isinstance(count, int) and isinstance(places, list)):
        raise TypeError(f"no warning: {item!r}")
    return ReadingWarning(WarningCode(str(code)), count, tuple(map(str, places)), str(detail))
