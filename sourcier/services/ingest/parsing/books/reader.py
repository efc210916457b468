"""An EPUB book: its chapters in the order of its spine, under the names that its table of contents gives them."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from functools import partial

from sourcier.services.chassis.errors import DocumentEncrypted, DocumentMalformed
from sourcier.services.ingest.documents import BlockKind, ParsedDocument
from sourcier.services.ingest.parsing.books.contents import chapter_names, is_contents
from sourcier.services.ingest.parsing.builder import DocumentBuilder
from sourcier.services.ingest.parsing.formats import Format
from sourcier.services.ingest.parsing.markup.reader import Files, append_page
from sourcier.services.ingest.parsing.office.archives import check_sizes
from sourcier.services.ingest.parsing.office.packages import (
    Element,
    Package,
    PackedPicture,
    attribute,
    child,
    children,
    descendants,
    part_at,
)
from sourcier.services.ingest.parsing.pictures.embedded import EmbeddedPictures
from sourcier.services.ingest.parsing.source import Source
from sourcier.services.ingest.parsing.text.encodings import decoded_text
from sourcier.services.ingest.parsing.titles import usable_title
from sourcier.services.ingest.reading_warnings import WarningCode

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_FONTS_ONLY = frozenset({
    "http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC",
})  # fmt: skip
_PAGES = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})
_DRAWN_PICTURE = re.compile(r"<(?:image|svg:image)\b", re.I)
_DECLARED = re.compile(r"\A\s*+<\?xml[^>]{0,200}\?>")


def parse_book(source: Source) -> ParsedDocument:
    """Read a book; raise DocumentEncrypted for one that its shop has locked."""
    builder = DocumentBuilder(source.limits, pictures=EmbeddedPictures(source))
    try:
        with zipfile.ZipFile(source.path) as archive:
            check_sizes(archive, source.path.stat().st_size, source.limits)
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise DocumentMalformed(f"“{source.filename}” is a damaged book: it was cut short or changed.") from error
    with Package(source.path, filename=source.filename) as package:
        _check_readable(package, source.filename)
        part = _package_part(package)
        root = package.xml(part) if part else None
        if root is None:
            raise DocumentMalformed(f"“{source.filename}” cannot be read as a book: it does not say what is in it.")
        book = _Book(package, part, root)
        for name, part, chapter in book.chapters():
            _append_chapter(name, chapter, source, builder, files=partial(_picture, package, part))
        title, authors = book.described("title"), ", ".join(book.all_described("creator"))
    builder.metadata.update({"author": authors})
    return builder.build(
        format=Format.EPUB,
        filename=source.filename,
        titles=(source.title, usable_title(title)),
        empty_reason=f"“{source.filename}” holds no text: only pictures or nothing at all.",
    )


class _Book:
    """A book's own list of what is in it."""

    def __init__(self, package: Package, part: str, root: Element) -> None:
        self._package = package
        self._folder = posixpath.dirname(part)
        self._root = root
        self._items = {attribute(item, "id"): item for item in children(child(root, "manifest"), "item")}

    def chapters(self) -> Iterator[tuple[str, str, str]]:
        """Yield the name, the part and the page of each chapter; the table of contents itself is none."""
        names = chapter_names(self._package, self._folder, list(self._items.values()))
        read: set[str] = set()
        for entry in children(child(self._root, "spine"), "itemref"):
            item = self._items.get(attribute(entry, "idref"))
            if item is None or attribute(item, "media-type") not in _PAGES or is_contents(item):
                continue
            part = part_at(self._folder, attribute(item, "href").partition("#")[0])
            content = self._package.read(part) if part not in read else None
            read.add(part)
            if content:
                yield names.get(part.lower(), ""), part, _DECLARED.sub("", decoded_text(content).text)

    def all_described(self, what: str) -> list[str]:
        """Return what the book says of itself."""
        found = descendants(self._root, f"dc:{what}", what)
        return [text for text in ((entry.text or "").strip() for entry in found) if text]

    def described(self, what: str) -> str:
        """Return the first thing that it says."""
        return next(iter(self.all_described(what)), "")


def _append_chapter(name: str, page: str, source: Source, builder: DocumentBuilder, *, files: Files) -> None:
    chapter = DocumentBuilder(source.limits, pictures=builder.pictures)
    append_page(page, source, chapter, files=files)
    # The page of a cover is a drawing that holds a picture.
    chapter.warnings.add(WarningCode.PICTURES, count=len(_DRAWN_PICTURE.findall(page)))
    chapter.end_section()
    if not chapter.length:
        builder.take(chapter)
        return
    builder.leave_headings()
    if name and not chapter.first_heading:
        builder.add(BlockKind.HEADING, name, level=1)
    builder.take(chapter)


def _picture(package: Package, part: str, address: str) -> PackedPicture | None:
    """Return the file of a picture that a chapter names; None where it is elsewhere, absent or damaged."""
    return package.picture_part(part_at(posixpath.dirname(part), address.partition("#")[0])) if address else None


def _check_readable(package: Package, filename: str) -> None:
    root = package.xml(_ENCRYPTION)
    if root is None:
        return
    methods = {attribute(found, "Algorithm") for found in root.iter() if str(found.tag).endswith("}EncryptionMethod")}
    if methods - _FONTS_ONLY:
        raise DocumentEncrypted(f"“{filename}” is locked by the shop that sold it: send a copy that is not.")


def _package_part(package: Package) -> str:
    root = package.xml(_CONTAINER)
    found = (attribute(entry, "full-path") for entry in descendants(root, "rootfile")) if root is not None else ()
    named = next(filter(None, found), "")
    return named or next((name for name in package.names() if name.lower().endswith(".opf")), "")
