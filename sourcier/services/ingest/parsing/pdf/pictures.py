"""The pictures of PDF pages: which are read, their numbers in the document, and their passages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.parsing.pdf.content.elements import Box, Embedded, Page
from sourcier.services.ingest.parsing.pictures.passages import picture_text, warn
from sourcier.services.ingest.parsing.pictures.results import PictureResult, PictureResults
from sourcier.services.ingest.parsing.placing.collector import box_standing
from sourcier.services.ingest.parsing.placing.words import PageFrame
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode

OF_PAGE_MAX = 24
"""Pictures of a page that are read: one process reads them within the time of a page."""
_LAYER_CHARACTERS_MIN = 40
"""A picture on which more of the page's own text stands has a text layer, or is a ground for text."""
_STAMP_CHARACTERS_MAX = 120
"""A picture that covers a page is what it says, where its own text is no longer than a stamp or a running line."""


@dataclass(frozen=True, slots=True)
class PagePicture:
    """A picture of a page, and its number in the document, from 1."""

    number: int
    page: int
    box: Box
    fingerprint: str


@dataclass(frozen=True, slots=True)
class ReadPicture:
    """A picture of a page with what was read of it."""

    picture: PagePicture
    result: PictureResult


def is_picture(page: Page) -> bool:
    """Tell whether a page is a scan."""
    if page.asides or page.remarks:
        return False
    characters = sum(len(word.text) for word in page.words)
    return page.drawn if not characters else page.pictured and characters <= _STAMP_CHARACTERS_MAX


def pictures_of(page: Page, limits: ParsingLimits) -> list[Embedded]:
    """Return the pictures that are read, each once, where the page is more than a picture."""
    if not limits.pictures or is_picture(page):
        return []
    found = {
        embedded.fingerprint: embedded for embedded in reversed(page.embedded)
        if limits.is_content(embedded.width, embedded.height) and not _has_text(page, embedded.box)
    }
    return list(reversed(found.values()))


def pictures_read(page: Page, limits: ParsingLimits) -> list[Embedded]:
    """Return the pictures that are read of a page; OCR, which has this page alone, takes the same ones."""
    return pictures_of(page, limits)[:OF_PAGE_MAX]


def numbered(pages: Iterable[Page], limits: ParsingLimits, *, warnings: ReadingWarnings) -> Iterator[PagePicture]:
    """Yield the pictures of a document, each once and where it stands first; those beyond the limits are told."""
    known: set[str] = set()
    count = 0
    for page in pages:
        found = pictures_of(page, limits)
        new = [embedded for embedded in found if embedded.fingerprint not in known]
        # What stands behind as many as are read of a page may stand before them on another.
        read = [embedded for embedded in found[:OF_PAGE_MAX] if embedded.fingerprint not in known]
        known.update(embedded.fingerprint for embedded in read)
        taken = read[: max(limits.pictures_max - count, 0)]
        warnings.add(
            WarningCode.PICTURES_LEFT_OUT, count=len(new) - len(taken), places=[str(page.number)],
            detail=f"at most {limits.pictures_max:,} pictures of a document are read, and {OF_PAGE_MAX} of a page",
        )
        for embedded in taken:
            count += 1
            yield PagePicture(count, page.number, embedded.box, embedded.fingerprint)


def with_results(
    pictures: Iterable[PagePicture], results: PictureResults | None, *, warnings: ReadingWarnings
) -> Mapping[int, Sequence[ReadPicture]]:
    """Return the pictures with what was read of them, by their page; where nothing reads them they are told."""
    found: dict[int, list[ReadPicture]] = {}
    for picture in pictures:
        if results is None:
            warnings.add(WarningCode.PICTURES, places=[str(picture.page)])
            continue
        result = results.of(picture.fingerprint, part=picture.page)
        found.setdefault(picture.page, []).append(ReadPicture(picture, result))
    return found


def append_picture(read: ReadPicture, page: PageFrame, builder: DocumentBuilder) -> None:
    """Append a picture's passage, which stands where the picture does, or tell that it has none."""
    text = picture_text(read.result, number=read.picture.number, page=page.number)
    warn(read.result, builder.warnings, text=text, place=str(page.number))
    left, top, right, bottom = read.picture.box
    standing = box_standing(
        page, left=max(left, 0.0), top=max(top, 0.0), right=min(right, page.width), bottom=min(bottom, page.height)
    )
    framed = standing.frame._replace(picture=read.picture.number)
    builder.add(BlockKind.PICTURE, text, page=page.number, standing=type(standing)(framed, standing.edges))


def _has_text(page: Page, box: Box) -> bool:
    characters = 0
    for word in page.words:
        if box.holds((word.left + word.right) / 2, (word.top + word.bottom) / 2):
            characters += len(word.text)
            if characters > _LAYER_CHARACTERS_MIN:
                return True
    return False
