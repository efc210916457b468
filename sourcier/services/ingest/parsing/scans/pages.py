"""Which pages OCR has to read, and what it read put on them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.pdf.content.elements import Page
from sourcier.services.ingest.parsing.pdf.pictures import PagePicture, is_picture
from sourcier.services.ingest.parsing.scans.recognised import RecognisedPage, recognised_pages
from sourcier.services.ingest.parsing.scans.words import add_recognised
from sourcier.services.ingest.reading_warnings import WarningCode

CONFIDENCE_MIN = 0.85
"""Pages that are less sure on average are told."""


def pages_to_recognise(pages: Iterable[Page], pictures: Iterable[PagePicture]) -> tuple[int, ...]:
    """Return the numbers of pages that are pictures, or have some: nothing is read that has a text layer.

    A picture that comes again is no reason: a logo is on every page.
    """
    pictured = {picture.page for picture in pictures}
    return tuple(page.number for page in pages if is_picture(page) or page.number in pictured)


def add_recognised_pages(folder: Path | None, pages: Sequence[Page], builder: DocumentBuilder) -> None:
    """Put on the pages what OCR read of them, and tell what it could not read."""
    if folder is None:
        return
    known = {page.number: page for page in pages}
    failed: list[Page] = []
    unsure: list[RecognisedPage] = []
    for recognised in recognised_pages(folder):
        page = known.get(recognised.number)
        if page is None:
            continue
        if recognised.pictures or (recognised.error and page.embedded and not is_picture(page)):
            continue  # told of its pictures, one by one; a picture file has none inside
        page.unread = recognised.error
        if page.unread:
            failed.append(page)
        elif recognised.confidence < CONFIDENCE_MIN:
            unsure.append(recognised)
        add_recognised(page, recognised)
    for page in failed:
        builder.warnings.add(WarningCode.PAGES_NOT_RECOGNISED, places=[str(page.number)], detail=page.unread)
    builder.warnings.add(
        WarningCode.LOW_CONFIDENCE, count=len(unsure), places=[str(page.number) for page in unsure]
    )


def nothing_found(pages: Sequence[Page], what: str) -> str:
    """Return why a document whose pages OCR read has no text."""
    error = next((page.unread for page in pages if page.unread), "")
    return f"No text could be read in {what}: {error}." if error else f"No text was found in {what}."
