"""The table of contents of a book: what each of its files is called."""

from __future__ import annotations

import posixpath

from sourcier.services.chassis.cleaning import clean_line
from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.parsing.office.packages import Element, Package, attribute, child, descendants, part_at

_NCX = "application/x-dtbncx+xml"
_NAMES_MAX = 20_000


def chapter_names(package: Package, folder: str, items: list[Element]) -> dict[str, str]:
    """Return the names of a book's files, by their parts in small letters; a file's first name is the chapter's."""
    names: dict[str, str] = {}
    for item in items:
        if is_contents(item) or attribute(item, "media-type") == _NCX:
            part = part_at(folder, attribute(item, "href"))
            try:
                root = package.xml(part)
            except DocumentMalformed:
                continue  # chapters without their names are chapters
            for address, name in _entries(root) if root is not None else ():
                target = part_at(posixpath.dirname(part), address.partition("#")[0]).lower()
                if name and len(names) < _NAMES_MAX:
                    names.setdefault(target, name)
    return names


def is_contents(item: Element) -> bool:
    """Tell whether an item of a book is its table of contents."""
    return "nav" in attribute(item, "properties").split()


def _entries(root: Element) -> list[tuple[str, str]]:
    points = [
        (attribute(child(point, "content"), "src"), _text(child(point, "navLabel")))
        for point in descendants(root, "navPoint")
    ]
    return points or [(attribute(link, "href"), _text(link)) for link in descendants(root, "a")]


def _text(element: Element | None) -> str:
    return clean_line(" ".join(element.itertext())) if element is not None else ""
