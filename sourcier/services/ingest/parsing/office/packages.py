"""An Office archive as parts of XML and the relationships between them; nothing is unpacked to disk."""

from __future__ import annotations

import posixpath
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self, TypeAlias
from urllib.parse import unquote

import lxml.etree  # type: ignore[import-untyped]

from sourcier.services.chassis.errors import DocumentMalformed

Element: TypeAlias = lxml.etree._Element

# Transitional and strict files differ in their namespaces alone: both get the same short names.
_PREFIXES = {
    "http://schemas.openxmlformats.org/wordprocessingml/2006/main": "w",
    "http://purl.oclc.org/ooxml/wordprocessingml/main": "w",
    "http://schemas.openxmlformats.org/spreadsheetml/2006/main": "x",
    "http://purl.oclc.org/ooxml/spreadsheetml/main": "x",
    "http://schemas.openxmlformats.org/presentationml/2006/main": "p",
    "http://purl.oclc.org/ooxml/presentationml/main": "p",
    "http://schemas.openxmlformats.org/drawingml/2006/main": "a",
    "http://purl.oclc.org/ooxml/drawingml/main": "a",
    "http://schemas.openxmlformats.org/drawingml/2006/chart": "c",
    "http://purl.oclc.org/ooxml/drawingml/chart": "c",
    "http://schemas.openxmlformats.org/drawingml/2006/diagram": "dgm",
    "http://purl.oclc.org/ooxml/drawingml/diagram": "dgm",
    "http://schemas.openxmlformats.org/officeDocument/2006/math": "m",
    "http://purl.oclc.org/ooxml/officeDocument/math": "m",
    "http://schemas.openxmlformats.org/officeDocument/2006/relationships": "r",
    "http://purl.oclc.org/ooxml/officeDocument/relationships": "r",
    "http://schemas.openxmlformats.org/markup-compatibility/2006": "mc",
    "http://schemas.microsoft.com/office/word/2010/wordml": "w14",
    "http://schemas.microsoft.com/office/word/2010/wordprocessingShape": "wps",
    "urn:schemas-microsoft-com:vml": "v",
    **{
        f"urn:oasis:names:tc:opendocument:xmlns:{namespace}:1.0": prefix
        for namespace, prefix in (
            ("office", "office"), ("text", "text"), ("table", "table"), ("style", "style"), ("drawing", "draw"),
            ("xsl-fo-compatible", "fo"), ("presentation", "presentation"), ("form", "form"), ("chart", "chart"),
            ("meta", "meta"), ("svg-compatible", "svg"), ("manifest", "manifest"),
        )
    },
    "urn:org:documentfoundation:names:experimental:office:xmlns:loext:1.0": "loext",
    "http://www.w3.org/1999/xlink": "xlink",
    "http://www.w3.org/1998/Math/MathML": "math",
    "http://www.w3.org/XML/1998/namespace": "xml",
    "http://purl.org/dc/elements/1.1/": "dc",
}
PICTURE_BYTES_MAX = 128 * 1024 * 1024
"""Of one picture, unpacked: more than any that is read has, 64 million pixels and most of them compressed."""
_NAMES: dict[str, str] = {}
_NAMES_MAX = 10_000


@dataclass(frozen=True, slots=True)
class Relationship:
    """What a part names: its kind (the last word of the type), and the part or address."""

    kind: str
    target: str
    external: bool


def name(element: Element) -> str:
    """Return an element's name with its usual prefix, such as `w:p`; of an unknown namespace, the bare name."""
    return _short(element.tag)


def attribute(element: Element | None, wanted: str, default: str = "") -> str:
    """Return an attribute by its bare name or its usual prefix and name, whichever dialect the file is written in."""
    if element is None:
        return default
    value = element.get(wanted)
    if value is not None:
        return str(value)
    prefixed = wanted if ":" in wanted else f":{wanted}"
    for key, value in element.attrib.items():
        if _short(key).endswith(prefixed):
            return str(value)
    return default


def child(element: Element | None, *path: str) -> Element | None:
    """Return the first child of that name, its first child of the next name, and so on; None where one lacks."""
    for wanted in path:
        if element is None:
            return None
        element = next((found for found in element if _short(found.tag) == wanted), None)
    return element


def children(element: Element | None, wanted: str) -> Iterator[Element]:
    """Yield the children of that name."""
    if element is not None:
        yield from (found for found in element if _short(found.tag) == wanted)


def descendants(element: Element, *wanted: str) -> Iterator[Element]:
    """Yield what stands below an element under one of these names."""
    return (found for found in element.iter() if _short(found.tag) in wanted)


def whole_number(value: str, default: int = 0, *, most: int = 1_048_576) -> int:
    """Return a count that a file names, `most` at the most; the default where it is none."""
    return min(int(value), most) if value.isascii() and value.isdigit() and len(value) < 10 else default


@dataclass(frozen=True, slots=True)
class PackedPicture:
    """A picture in an archive: named as often as a document likes, and unpacked when it is looked at."""

    package: Package
    part: str

    def read(self) -> bytes | None:
        """Return the file; None where it is damaged, which is no reason to refuse the document."""
        try:
            return self.package.read(self.part)
        except DocumentMalformed:
            return None


class Package:
    """An open archive; a context manager."""

    def __init__(self, path: Path, *, filename: str) -> None:
        self._archive = zipfile.ZipFile(path)
        self._filename = filename
        self._related: dict[str, dict[str, Relationship]] = {}
        self._names = {member.lower().lstrip("/"): member for member in self._archive.namelist()}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._archive.close()

    def names(self) -> list[str]:
        """Return the names of all parts."""
        return list(self._names.values())

    def read(self, part: str) -> bytes | None:
        """Return a part's bytes; None where the archive lacks it. Raise DocumentMalformed for a damaged one."""
        member = self._names.get(part.lower().lstrip("/"))
        if member is None:
            return None
        try:
            return self._archive.read(member)
        except (zipfile.BadZipFile, EOFError, OSError, ValueError, RuntimeError, NotImplementedError) as error:
            raise DocumentMalformed(f"“{self._filename}” is damaged: its part “{part}” cannot be unpacked.") from error

    def xml(self, part: str) -> Element | None:
        """Return a part's root element, without comments; None where the archive lacks it or it is empty."""
        content = self.read(part)
        return parse_xml(content, what=f"“{self._filename}”, part “{part}”,") if content else None

    def relationships(self, part: str) -> dict[str, Relationship]:
        """Return what a part names, by its identifiers; the empty part stands for the whole archive."""
        folder, base = posixpath.split(part)
        root = self.xml(posixpath.join(folder, "_rels", f"{base}.rels"))
        found: dict[str, Relationship] = {}
        for entry in root if root is not None else ():
            external = entry.get("TargetMode") == "External"
            target = entry.get("Target", "")
            if not external:
                target = part_at(folder, target)
            found[entry.get("Id", "")] = Relationship(entry.get("Type", "").rpartition("/")[2], target, external)
        return found

    def targets(self, part: str) -> Callable[[str], str]:
        """Return what gives the address outside of the archive that an identifier of a part names, or nothing."""

        def target(identifier: str) -> str:
            found = self._relationships(part).get(identifier)
            return found.target if found is not None and found.external else ""

        return target

    def related(self, part: str, *kinds: str) -> list[str]:
        """Return the parts that a part names as one of these kinds."""
        return [
            found.target for found in self.relationships(part).values() if found.kind in kinds and not found.external
        ]

    def picture(self, part: str, identifier: str) -> PackedPicture | None:
        """Return the file of a picture that a part names; None where it is elsewhere, as of `picture_part`."""
        found = self._relationships(part).get(identifier)
        return self.picture_part(found.target) if found is not None and not found.external else None

    def picture_part(self, part: str) -> PackedPicture | None:
        """Return the file of a picture, still packed; None where it is absent or too large to be unpacked."""
        member = self._names.get(part.lower().lstrip("/"))
        if member is None or self._archive.getinfo(member).file_size > PICTURE_BYTES_MAX:
            return None
        return PackedPicture(self, member)

    def _relationships(self, part: str) -> dict[str, Relationship]:
        if part not in self._related:
            self._related[part] = self.relationships(part)
        return self._related[part]

    def main_part(self, fallback: str) -> str:
        """Return the name of the part that is the document itself."""
        return next(iter(self.related("", "officeDocument")), fallback)


def part_at(folder: str, address: str) -> str:
    """Return the part of an archive that an address names, seen from a folder."""
    return posixpath.normpath(posixpath.join("/" + folder, unquote(address))).lstrip("/")


def parse_xml(content: bytes, *, what: str) -> Element:
    """Return the root element; entities are not resolved, nothing is fetched. Raise DocumentMalformed."""
    parser = lxml.etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True, remove_pis=True)
    try:
        return lxml.etree.fromstring(content, parser)
    except (lxml.etree.XMLSyntaxError, ValueError) as error:
        raise DocumentMalformed(f"{what} is no valid XML: the file is damaged.") from error


def _short(tag: object) -> str:
    if not isinstance(tag, str):
        return ""  # an entity that was not resolved
    short = _NAMES.get(tag)
    if short is None:
        namespace, _, local = tag.rpartition("}")
        prefix = _PREFIXES.get(namespace.lstrip("{"))
        short = f"{prefix}:{local}" if prefix else local
        if len(_NAMES) < _NAMES_MAX:
            _NAMES[tag] = short
    return short
