"""An OpenDocument file as the XML parts that it is: an archive, or one flat file."""

from __future__ import annotations

import base64
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from sourcier.services.chassis.errors import DocumentEncrypted, DocumentMalformed
from sourcier.services.ingest.parsing.office.archives import PROLOGUE_BYTES, check_archive, declares_entities
from sourcier.services.ingest.parsing.office.packages import (
    Element,
    Package,
    PackedPicture,
    attribute,
    child,
    descendants,
    parse_xml,
)
from sourcier.services.ingest.parsing.source import Source

_MANIFEST = "META-INF/manifest.xml"
_PACKED_WHOLE = "encrypted-package"
_ENCRYPTED = re.compile(rb"<(?:\w{1,40}:)?encryption-data\b")
# Older programs declare the manifest's type; it is not read as XML.
_UNREAD = frozenset({_MANIFEST})


@dataclass(slots=True)
class OpenDocument:
    """The roots of what a file holds; a part that lacks is None."""

    content: Element | None
    styles: Element | None
    meta: Element | None
    package: Package | None = None
    """None of a flat file, which holds its objects where they stand."""
    _objects: dict[str, Element | None] = field(default_factory=dict)

    def body(self, kind: str) -> Element | None:
        """Return the body of a text, a spreadsheet or a presentation."""
        return child(self.content, "office:body", f"office:{kind}")

    def title(self) -> str:
        """Return the title among the file's properties, or nothing."""
        found = descendants(self.meta, "dc:title") if self.meta is not None else ()
        return next((entry.text or "" for entry in found), "")

    def picture(self, image: Element) -> bytes | PackedPicture | None:
        """Return the file of a picture; None where it is elsewhere, absent or damaged."""
        inside = child(image, "office:binary-data")
        if inside is not None:
            try:
                return base64.b64decode("".join((inside.text or "").split()))
            except ValueError:
                return None
        part = attribute(image, "xlink:href").removeprefix("./")
        return self.package.picture_part(part) if self.package is not None and part else None

    def object(self, frame: Element) -> Element | None:
        """Return the content of an object that a frame embeds: a chart or a formula."""
        inside = next(descendants(frame, "office:document", "math:math"), None)
        if inside is not None or self.package is None:
            return inside
        part = attribute(frame, "xlink:href").removeprefix("./").strip("/")
        if part not in self._objects:
            try:
                self._objects[part] = self.package.xml(f"{part}/content.xml") if part else None
            except DocumentMalformed:
                self._objects[part] = None  # a chart is no reason to refuse the document
        return self._objects[part]


@contextmanager
def opened(source: Source, *, label: str) -> Iterator[OpenDocument]:
    """Open a file; raise what is wrong with it."""
    if not zipfile.is_zipfile(source.path):
        root = _flat_root(source, label)
        yield OpenDocument(root, root, child(root, "office:meta"))
        return
    check_archive(source.path, source.limits, unread=_UNREAD)
    with Package(source.path, filename=source.filename) as package:
        _check_readable(package, source.filename)
        content = package.xml("content.xml")
        if content is None:
            raise DocumentMalformed(f"“{source.filename}” cannot be read as {label}: it has no content.")
        try:
            meta = package.xml("meta.xml")
        except DocumentMalformed:
            meta = None  # a title is no reason to refuse the document
        yield OpenDocument(content, package.xml("styles.xml"), meta, package)


def _check_readable(package: Package, filename: str) -> None:
    manifest = package.read(_MANIFEST) or b""
    if _PACKED_WHOLE in package.names() or _ENCRYPTED.search(manifest):
        raise DocumentEncrypted(f"“{filename}” is protected by a password: save it without one and send it again.")


def _flat_root(source: Source, label: str) -> Element:
    content = source.read()
    if declares_entities(content[:PROLOGUE_BYTES]):
        raise DocumentMalformed(f"“{source.filename}” declares XML entities, which {label} files never do.")
    return parse_xml(content, what=f"“{source.filename}”")
