"""Generated parts of documents that people write: Markdown tables, and blocks between two markers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path


def markdown_table(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as a Markdown table; the first is the head."""
    head, *body = rows
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in body])


def write_block(document: Path, name: str, body: str, *, title: str = "Quality") -> None:
    """Put a block in the place of the one of that name, or at the end of the document, which is made if need be."""
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    block = f"{begin}\n{body.strip()}\n{end}"
    text = document.read_text("utf-8") if document.exists() else f"# {title}\n"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    known = pattern.search(text) is not None
    text = pattern.sub(lambda _: block, text) if known else f"{text.rstrip()}\n\n{block}\n"
    document.parent.mkdir(parents=True, exist_ok=True)
    document.write_text(text, "utf-8")
