"""What stands on the drawn pages: blocks in reading order, tables, notes, fields, and lines that run over all pages."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path

FILE = "truth.jsonl"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading, an item of a list or a table, as one text."""

    kind: str
    """`heading`, `paragraph`, `item` or `table`."""
    text: str
    page: int


@dataclass(frozen=True, slots=True)
class Table:
    """A table by its columns' names and its rows; the first cell of a row names it."""

    kind: str
    """How it is drawn: a key of `TABLE_KINDS`."""
    header: tuple[str, ...]
    groups: tuple[str, ...]
    """The name above each column's own that it shares with its neighbours, empty where there is none."""
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class Note:
    """A raised figure behind a word, and the note at the foot of the page that it calls."""

    word: str
    number: int
    text: str


@dataclass(frozen=True, slots=True)
class Field:
    """A field of a form by the label beside it: a typed value, or a box that is ticked or not."""

    label: str
    value: str = ""
    ticked: bool | None = None


@dataclass(slots=True)
class Document:
    """One file and what stands in it."""

    name: str
    kind: str
    pages: int = 1
    blocks: list[Block] = field(default_factory=list)
    tables: list[Table] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    fields: list[Field] = field(default_factory=list)
    running: list[str] = field(default_factory=list)
    """Lines at the head and foot of every page; no reader is blamed for telling or for leaving out these."""
    resolution: int = 0
    """Dots per inch of a scan, 0 for a text layer."""
    noisy: bool = False


TABLE_KINDS = {
    "grid": "ruled", "spans": "ruled", "long grid": "ruled",
    "lines": "unruled", "plain": "unruled", "long plain": "unruled", "beside text": "unruled",
}
"""Whether rules stand between the columns, by the way a table is drawn."""


def write(folder: Path, documents: Iterable[Document]) -> None:
    """Write the truth of a folder's files, one JSON object a line."""
    with (folder / FILE).open("w", encoding="utf-8") as lines:
        lines.writelines(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in documents)


def read(folder: Path) -> list[Document]:
    """Return what `write` wrote."""
    documents = []
    for line in (folder / FILE).read_text("utf-8").splitlines():
        row = json.loads(line)
        row["blocks"] = [Block(**each) for each in row["blocks"]]
        row["tables"] = [
            Table(each["kind"], tuple(each["header"]), tuple(each["groups"]), tuple(map(tuple, each["rows"])))
            for each in row["tables"]
        ]
        row["notes"] = [Note(**each) for each in row["notes"]]
        row["fields"] = [Field(**each) for each in row["fields"]]
        documents.append(Document(**row))
    return documents
