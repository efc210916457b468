"""What a reader makes of a document: its text, its tables and its form's values, one JSON object a line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

_ROW = re.compile(r"\s*\|(.*)\|\s*")
_RULE = re.compile(r"[\s|:-]+")
_CELL_END = re.compile(r"(?<!\\)\|")
Rows = list[list[str | None]]
"""A table; a cell that is None is part of its neighbour."""


@dataclass(slots=True)
class Reading:
    """One document as a reader gives it, all its pages."""

    name: str
    text: str = ""
    tables: list[Rows] | None = None
    """None where the reader has no notion of a table."""
    values: list[str] = field(default_factory=list)
    """Values of form fields that it tells beside its text."""
    error: str = ""


def write(path: Path, readings: Iterable[Reading]) -> None:
    """Write what a reader made of the documents."""
    with path.open("w", encoding="utf-8") as lines:
        for reading in readings:
            lines.write(json.dumps(asdict(reading), ensure_ascii=False) + "\n")


def read(path: Path) -> dict[str, Reading]:
    """Return the readings by the documents' names."""
    rows = (json.loads(line) for line in path.read_text("utf-8").splitlines())
    return {row["name"]: Reading(**row) for row in rows}


def write_cost(path: Path, cpu_seconds: float) -> None:
    """Write beside the readings what they took: processor seconds, and the most memory of this process in bytes."""
    # getrusage would tell the memory of the process that started this one, where that had more.
    peak = next(line for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM"))
    bytes_max = int(peak.split()[1]) * 1024
    path.with_suffix(".cost").write_text(json.dumps({"cpu_seconds": cpu_seconds, "bytes_max": bytes_max}))


def read_cost(path: Path) -> tuple[float, float]:
    """Return what `write_cost` wrote."""
    told = json.loads(path.with_suffix(".cost").read_text())
    return told["cpu_seconds"], told["bytes_max"]


def markdown_tables(text: str) -> list[Rows]:
    """Return the tables of a Markdown text, without the line below their headers."""
    tables: list[Rows] = []
    inside = False
    for line in text.splitlines():
        if not (match := _ROW.fullmatch(line)):
            inside = False
            continue
        if not inside:
            tables.append([])
        inside = True
        if not _RULE.fullmatch(line):
            cells: Sequence[str] = _CELL_END.split(match[1])
            tables[-1].append([cell.strip().replace("\\|", "|") for cell in cells])
    return tables
