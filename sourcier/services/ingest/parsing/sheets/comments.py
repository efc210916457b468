"""The comments of a sheet: notes of one writer, and threads of several."""

from __future__ import annotations

from sourcier.services.ingest.parsing.office.lines import Comment
from sourcier.services.ingest.parsing.office.packages import Element, Package, attribute, child, children, descendants
from sourcier.services.ingest.parsing.sheets.cells import parse_span

_THREADED = "tc="
"""How the author of the copy begins that is written of a thread for old programs."""


def sheet_comments(package: Package, part: str, people: str) -> dict[tuple[int, int], list[Comment]]:
    """Return the comments of a sheet's part by row and column; `people` is the part with the writers of threads."""
    found: dict[tuple[int, int], list[Comment]] = {}
    threads = [root for each in package.related(part, "threadedComment") if (root := package.xml(each)) is not None]
    for root in (root for each in package.related(part, "comments") if (root := package.xml(each)) is not None):
        authors = [(author.text or "").strip() for author in children(child(root, "x:authors"), "x:author")]
        for comment in descendants(root, "x:comment"):
            number = attribute(comment, "authorId", "0")
            author = authors[int(number)] if number.isdigit() and int(number) < len(authors) else ""
            text = "".join(each.text or "" for each in descendants(comment, "x:t"))
            if not (threads and author.startswith(_THREADED)):
                _add(found, comment, author, text.strip().removeprefix(f"{author}:"))
    names = _names(package.xml(people)) if people else {}
    for comment in (comment for root in threads for comment in descendants(root, "threadedComment")):
        text = "".join(each.text or "" for each in comment if str(each.tag).endswith("}text"))
        _add(found, comment, names.get(attribute(comment, "personId"), ""), text)
    return found


def _add(found: dict[tuple[int, int], list[Comment]], comment: Element, author: str, text: str) -> None:
    span = parse_span(attribute(comment, "ref"))
    if span is not None and text.strip():
        found.setdefault((span.top, span.left), []).append(Comment(author, " ".join(text.split())))


def _names(people: Element | None) -> dict[str, str]:
    return {
        attribute(person, "id"): attribute(person, "displayName")
        for person in (descendants(people, "person") if people is not None else ())
    }
