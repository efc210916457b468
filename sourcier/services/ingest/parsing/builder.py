"""Collects blocks in reading order and joins them into the one text of a document."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from sourcier.services.chassis.cleaning import clean, clean_line
from sourcier.services.chassis.errors import DocumentEmpty, DocumentTooLarge
from sourcier.services.ingest.documents import TITLE_CHARACTERS_MAX, Block, BlockKind, Member, ParsedDocument, described
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.pictures.passages import picture_text, warn
from sourcier.services.ingest.parsing.placing.collector import PlaceCollector, Standing
from sourcier.services.ingest.parsing.placing.words import PageFrame, PlacedWord
from sourcier.services.ingest.parsing.rejoining import squeeze_spaces
from sourcier.services.ingest.parsing.unreadable import without_unreadable
from sourcier.services.ingest.reading_warnings import PLACES_MAX, ReadingWarnings, WarningCode

if TYPE_CHECKING:
    # With it comes Pillow, which the service itself does not load.
    from sourcier.services.ingest.parsing.pictures.embedded import EmbeddedPictures, PackedFile

_INDENTED_LEVELS_MAX = 6
_STRUCK = re.compile(r"~~(?=\S)(?:[^~]++|~(?!~))++~~ ?")
_TIGHT = frozenset({BlockKind.LIST_ITEM})


@dataclass(frozen=True, slots=True)
class _PicturePassage:
    """A passage of a picture that waits for the end of its section."""

    text: str
    page: int
    standing: Standing


class DocumentBuilder:
    """Appends blocks; cleans each, keeps the headings above it, and refuses to grow without end."""

    def __init__(self, limits: ParsingLimits, *, pictures: EmbeddedPictures | None = None) -> None:
        """Without `pictures`, those that are added are told alone."""
        self._limits = limits
        self.pictures = pictures
        self._waiting: list[_PicturePassage] = []
        self._picture_standings: dict[int, Standing] = {}
        self._pieces: list[str] = []
        self._blocks: list[Block] = []
        self._length = 0
        self._headings: list[tuple[int, str]] = []
        self.warnings = ReadingWarnings()
        self.metadata: dict[str, str] = {}
        self.members: list[Member] = []
        self._unreadable = 0
        self._unreadable_characters = 0
        self._unreadable_pages: list[str] = []
        self._places = PlaceCollector()

    @property
    def reads_comments(self) -> bool:
        """Whether comments of other documents than PDF are read; else they are told."""
        return self._limits.comments == "all"

    @property
    def length(self) -> int:
        """How many characters there are so far."""
        return self._length

    @property
    def first_heading(self) -> str:
        """The first heading added, or nothing."""
        return next((block.heading_path[-1] for block in self._blocks if block.kind is BlockKind.HEADING), "")

    def add_page(self, page: PageFrame) -> None:
        """Make a page known before the blocks whose words stand on it."""
        self._places.add_page(page)

    def stand(self, standing: Standing) -> None:
        """Let all blocks that follow stand in one place: a slide, a file without finer places."""
        self._places.stand(standing)

    def stand_in_lines(self, text: str) -> None:
        """Let the blocks that follow be found by line in the text they are read from."""
        self._places.stand_in_lines(text)

    def count_paragraphs(self) -> None:
        """Let the blocks that follow be counted as paragraphs."""
        self._places.count_paragraphs()

    def add(
        self, kind: BlockKind, text: str, *, page: int = 0, level: int = 0, words: Sequence[PlacedWord] = (),
        standing: Standing | None = None,
    ) -> None:
        """Append a block; one without visible text is left out.

        Where it stands is told by its `words` on pages, or by its `standing`.
        """
        text = self._unstruck(text, kind, page=page)
        text = self._readable(clean_line(text) if kind is BlockKind.HEADING else clean(text), page=page)
        if kind in (BlockKind.PARAGRAPH, BlockKind.LIST_ITEM, BlockKind.CAPTION):
            text = squeeze_spaces(text)
        text = text.rstrip().lstrip("\n") if kind is BlockKind.CODE else text.strip()
        if not text:
            return
        if kind is BlockKind.HEADING:
            self.end_section()
            self._enter_heading(max(level, 1), text)
        separator = self._separator(kind)
        if kind is BlockKind.LIST_ITEM:
            # The depth of a list item shows in the text, outside its block.
            separator += "  " * (min(level, _INDENTED_LEVELS_MAX) - 1)
        start = self._length + len(separator)
        self._grow(separator + text)
        self._places.add_block(text, start, page=page, words=words, standing=standing)
        path = tuple(heading for _, heading in self._headings)
        self._blocks.append(Block(kind, start, self._length, page, level, path))

    def add_picture(
        self, file: bytes | PackedFile | None, *, page: int = 0, place: str = "", alternative: str = "",
        standing: Standing | None = None,
    ) -> None:
        """Take a picture out of the document; what was read of it follows the text of its section, not amid it.

        Without a file it is told alone. `place` is where it stands for people, where that is not its page.
        """
        place = place or (str(page) if page else "")
        if self.pictures is None:
            self.warnings.add(WarningCode.PICTURES, places=[place] if place else [])
            return
        taken, results = self.pictures.take(file, self.warnings, place=place), self.pictures.results
        if taken is None or results is None:
            return
        result = results.of(taken.fingerprint, part=taken.number)
        text = picture_text(result, number=taken.number, page=page, alternative=alternative)
        warn(result, self.warnings, text=text, place=place)
        if text:
            self._waiting.append(_PicturePassage(text, page, self._places.of_picture(taken.number, standing)))

    def end_section(self) -> None:
        """Append the passages of pictures that were met in this section."""
        waiting, self._waiting = self._waiting, []
        for each in waiting:
            before = len(self._blocks)
            self.add(BlockKind.PICTURE, each.text, page=each.page, standing=each.standing)
            if len(self._blocks) > before:
                self._picture_standings[self._blocks[-1].start] = each.standing

    def leave_headings(self) -> None:
        """Forget the headings: a new slide or sheet stands under none of them."""
        self.end_section()
        self._headings.clear()

    def take(self, other: DocumentBuilder) -> None:
        """Append all that another builder has."""
        other.end_section()
        text = "".join(other._pieces)
        for block in other._blocks:
            self.add(
                block.kind, text[block.start : block.end], page=block.page, level=block.level,
                standing=other._picture_standings.get(block.start),
            )
        for warning in other.warnings.all():
            self.warnings.add(warning.code, count=warning.count, places=warning.places, detail=warning.detail)

    def build(
        self, *, format: str, filename: str, page_count: int = 0, titles: Sequence[str] = (), empty_reason: str = "",
        scanned: Sequence[int] = (), recorded: bool = False,
    ) -> ParsedDocument:
        """Return the document, titled by the first of `titles` that says something, its first heading or its name.

        `scanned` are pages that OCR has still to read, or else pictures that were added; what is `recorded` is still to
        be heard. Of anything else, a document without text is refused.
        """
        self.end_section()
        pictures = self.pictures.unread if self.pictures else ()
        scanned = scanned or tuple(picture.number for picture in pictures)
        if not (self._blocks or scanned or recorded):
            raise DocumentEmpty(empty_reason or f"“{filename}” holds no text.")
        if self._unreadable:
            self.warnings.add(
                WarningCode.UNREADABLE_TEXT, count=self._unreadable, places=self._unreadable_pages,
                detail=f"{self._unreadable_characters:,} characters were left out",
            )
        own = next((line for line in map(clean_line, (*titles, self.first_heading)) if line), "")
        title = own or clean_line(PurePath(filename).stem) or clean_line(filename)
        return ParsedDocument(
            title=title[:TITLE_CHARACTERS_MAX].strip(),
            text="".join(self._pieces),
            blocks=tuple(self._blocks),
            page_count=page_count,
            format=format,
            warnings=self.warnings.all(),
            titled=bool(own),
            places=self._places.map(),
            scanned=tuple(scanned),
            recorded=recorded,
            pictures=pictures,
            metadata=described(self.metadata),
            members=tuple(self.members),
        )

    def _readable(self, text: str, *, page: int) -> str:
        readable, removed = without_unreadable(text)
        if removed:
            self._unreadable += 1
            self._unreadable_characters += removed
            if page and len(self._unreadable_pages) < PLACES_MAX and str(page) not in self._unreadable_pages:
                self._unreadable_pages.append(str(page))
        return readable

    def _unstruck(self, text: str, kind: BlockKind, *, page: int) -> str:
        """Leave out what is struck out, where that is wanted."""
        if self._limits.struck or kind is BlockKind.CODE or "~~" not in text:
            return text
        kept, count = _STRUCK.subn("", text)
        places = [str(page)] if page else []
        self.warnings.add(WarningCode.NOT_READ, count=count, places=places, detail="struck-out text")
        return kept

    def _enter_heading(self, level: int, text: str) -> None:
        while self._headings and self._headings[-1][0] >= level:
            self._headings.pop()
        self._headings.append((level, text[:TITLE_CHARACTERS_MAX]))

    def _separator(self, kind: BlockKind) -> str:
        if not self._blocks:
            return ""
        return "\n" if kind in _TIGHT and self._blocks[-1].kind in _TIGHT else "\n\n"

    def _grow(self, piece: str) -> None:
        self._length += len(piece)
        if self._length > self._limits.characters:
            raise DocumentTooLarge(f"The document holds more than {self._limits.characters:,} characters of text.")
        self._pieces.append(piece)
