"""The pages of docs/measured: short ones that people write, and a history beside each that commands write into.

A short page copies figures of its history by hand. `unsourced` finds those that the history does not hold (any more):
who publishes new figures learns what to write anew, and a test finds a figure that was never measured.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

MEASURED = Path(__file__).parents[1] / "docs" / "measured"
HISTORY = "history"

_GENERATED = re.compile(r"<!-- (\S+): begin -->.*?<!-- \1: end -->", re.DOTALL)
_SETTINGS = re.compile(r"^## How to set .*?(?=^## |\Z)", re.DOTALL | re.MULTILINE)
_CODE = re.compile(r"```.*?```|`[^`]*`", re.DOTALL)
_LINK = re.compile(r"\]\(([^)\s]+)\)")
_FIGURE = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?!\w)|\b[0-9a-f]{10}\b")
"""A number, or the first ten digits of a commit."""


def pages(folder: Path = MEASURED) -> list[Path]:
    """Return the short pages."""
    return sorted(page for page in folder.rglob("*.md") if page.parent != folder / HISTORY)


def history_of(page: Path, folder: Path = MEASURED) -> Path:
    """Return where a short page's tables and what was tried are kept."""
    return folder / HISTORY / page.name


def unsourced(page: Path, folder: Path = MEASURED) -> list[str]:
    """Return the figures of a short page that neither its history nor that of a page it links to holds.

    Generated blocks, code and sections on settings ("How to set …") are left out.
    """
    text = page.read_text("utf-8")
    sources = [history_of(page, folder), *(history_of(linked, folder) for linked in _linked(text, page, folder))]
    held = {figure for source in sources if source.exists() for figure in _FIGURE.findall(source.read_text("utf-8"))}
    written = _LINK.sub("]", _CODE.sub("", _SETTINGS.sub("", _GENERATED.sub("", text))))
    return list(dict.fromkeys(figure for figure in _FIGURE.findall(written) if figure not in held))


def outdated(folder: Path = MEASURED) -> str:
    """Return which short pages have figures that were published anew since, a line each; empty where none has."""
    found = {page: unsourced(page, folder) for page in pages(folder)}
    return "\n".join(
        f"{page} has figures that its history no longer has, write them anew: {', '.join(figures)}"
        for page, figures in found.items() if figures
    )


def _linked(text: str, page: Path, folder: Path) -> Iterator[Path]:
    """Yield the pages of the folder, short ones or histories, that a page links to."""
    for address in _LINK.findall(text):
        target = (page.parent / address.partition("#")[0]).resolve()
        if target.suffix == ".md" and folder.resolve() in target.parents:
            yield target
