"""The comments of a slide, in the older form and in the newer one with threads."""

from __future__ import annotations

from collections.abc import Iterator

from sourcier.services.ingest.parsing.office.lines import Comment
from sourcier.services.ingest.parsing.office.packages import Element, Package, attribute, descendants

_AUTHORS = ("commentAuthors", "authors")
_COMMENTS = frozenset({"cm", "reply"})
_MAIN = "ppt/presentation.xml"


def slide_comments(package: Package, part: str) -> Iterator[Comment]:
    """Yield the comments of a slide's part, with their answers, in the file's order."""
    names: dict[str, str] = {}
    for each in package.related(package.main_part(_MAIN), *_AUTHORS):
        root = package.xml(each)
        for author in root if root is not None else ():
            names[attribute(author, "id")] = attribute(author, "name")
    for each in package.related(part, "comments"):
        root = package.xml(each)
        for comment in root.iter() if root is not None else ():
            if _local(comment) in _COMMENTS:
                text = " ".join(_own_text(comment).split())
                if text:
                    yield Comment(names.get(attribute(comment, "authorId"), ""), text)


def _own_text(comment: Element) -> str:
    for part in comment:
        if _local(part) == "text":
            return part.text or ""
        if _local(part) == "txBody":
            return " ".join(text.text or "" for text in descendants(part, "a:t"))
    return ""


def _local(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]
