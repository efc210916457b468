"""How much of the truth a reading holds: characters, order of blocks, cells, notes, and a form's values and boxes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from eval.reading.distance import error_rate
from eval.reading.readings import Reading, Rows
from eval.reading.truth import Document, Field, Note, Table

ANCHOR = 30
"""Characters at a block's start and end by which it is found."""
_SIGNS = re.compile(r"[*_#|~\\•◦▪·–—‐-]+")
_BLANK = re.compile(r"\s+")
_TICK, _EMPTY = r"(?:\[x\]|[☒☑✓✔✗])", r"(?:\[ ?\]|[☐□])"
_RUNNING_ALONE = 12
"""A running line that is shorter is only taken out where it is a line alone."""


@dataclass(frozen=True, slots=True)
class Share:
    """So many right of so many."""

    right: float = 0.0
    of: int = 0

    def __add__(self, other: Share) -> Share:
        return Share(self.right + other.right, self.of + other.of)

    @property
    def value(self) -> float:
        """The share."""
        return self.right / self.of if self.of else 0.0


def plain(text: str) -> str:
    """Return a text without the signs of Markdown, of lists and of broken words, blanks alike."""
    return _BLANK.sub(" ", _SIGNS.sub(" ", text.replace("’", "'"))).strip()


def compact(text: str | None) -> str:
    """Return a text without blanks and signs, for comparison."""
    return _BLANK.sub("", _SIGNS.sub("", (text or "").replace("’", "'").replace("<br>", "")))


def characters(document: Document, reading: Reading) -> float:
    """Return the share of characters that are wrong, in the order of the truth, without running lines."""
    truth = plain(" ".join(block.text for block in document.blocks))
    return error_rate(plain(without_running(document, reading.text)), truth)


def without_running(document: Document, text: str) -> str:
    """Return a text without the lines that run over all pages: they are told by some readers and left out by others."""
    lines = {compact(line) for line in document.running}
    kept = "\n".join(line for line in text.splitlines() if compact(line) not in lines)
    for line in sorted(set(document.running), key=len, reverse=True):
        kept = kept.replace(line, " ") if len(line) > _RUNNING_ALONE else kept
    return kept


def order(document: Document, reading: Reading) -> Share:
    """Return how many neighbouring blocks follow one another: the first one ends before the second one begins."""
    text = compact(reading.text)
    ends = [_places(text, tail, last=True) for tail in map(_tail, _anchored(document))]
    starts = [_places(text, head, last=False) for head in map(_head, _anchored(document))]
    right = 0
    for (_, following), (ended, _) in zip(pairwise(starts), pairwise(ends), strict=True):
        right += bool(ended and following and min(ended) <= max(following))
    return Share(right, max(len(starts) - 1, 0))


def _anchored(document: Document) -> list[tuple[str, str]]:
    """Return the beginning and the end of each block; a table is found by the names of its rows."""
    tables = iter(document.tables)
    anchors = []
    for block in document.blocks:
        if block.kind == "table":
            rows = next(tables).rows
            anchors.append((compact(rows[0][0]), compact(rows[-1][0])))
        else:
            anchors.append((compact(block.text), compact(block.text)))
    return anchors


def _head(block: tuple[str, str]) -> str:
    return block[0][:ANCHOR]


def _tail(block: tuple[str, str]) -> str:
    return block[1][-ANCHOR:]


def _places(text: str, part: str, *, last: bool) -> list[int]:
    """Return where a part begins in a text, or where it ends."""
    found = [match.start() for match in re.finditer(f"(?={re.escape(part)})", text)]
    return [place + len(part) for place in found] if last else found


def cells(table: Table, tables: Iterable[Rows]) -> Share:
    """Return how many of a table's cells stand in their row and below the names of their column."""
    labels = {compact(row[0]) for row in table.rows}
    best = [0] * len(table.rows)
    for grid in map(_filled, tables):
        names, body = _split(grid, labels)
        for number, row in enumerate(table.rows):
            for found in body:
                if compact(row[0]) in found:
                    best[number] = max(best[number], _right(table, row, names, found))
    return Share(sum(best), len(table.rows) * len(table.header))


def _split(grid: Sequence[Sequence[str]], labels: set[str]) -> tuple[list[str], Sequence[Sequence[str]]]:
    """Return what stands above each column, and the rows from the first one on that a label names."""
    start = next((number for number, row in enumerate(grid) if labels.intersection(row)), len(grid))
    width = max(map(len, grid), default=0)
    header = grid[:start]
    names = ["".join(dict.fromkeys(row[column] for row in header if column < len(row))) for column in range(width)]
    return names, grid[start:]


def _right(table: Table, row: Sequence[str], names: Sequence[str], found: Sequence[str]) -> int:
    right = 0
    for name, group, value in zip(table.header, table.groups, row, strict=True):
        wanted = {compact(name), compact(group + name)} if not group else {compact(group + name)}
        right += any(
            column < len(found) and compact(value) == found[column]
            for column, above in enumerate(names) if above in wanted
        )
    return right


def _filled(grid: Rows) -> list[list[str]]:
    """Return a table's cells for comparison; one that is part of its neighbour says what that says."""
    filled: list[list[str]] = []
    for row in grid:
        cells = list[str]()
        for column, cell in enumerate(row):
            if cell is not None:
                cells.append(compact(cell))
            elif column and row[column - 1] is not None:
                cells.append(cells[-1])
            else:
                cells.append(filled[-1][column] if filled and column < len(filled[-1]) else "")
        filled.append(cells)
    return filled


def note(each: Note, reading: Reading) -> bool:
    """Tell whether a note's number stands apart from the word before it, its sentence whole, and the note is told."""
    number, text = str(each.number), reading.text
    raised = "".join("⁰¹²³⁴⁵⁶⁷⁸⁹"[int(digit)] for digit in number)
    marker = rf"(?:[\s\[(^]|<sup>|note)+{number}(?:[\s\])^]|</sup>)+|\s*{raised}\s+"
    called = re.search(rf"(?<!\w){each.word}(?:{marker})(?=[a-z])", text)
    told = re.search(rf"(?<!\w)(?:{number}|{raised})(?!\w)[^\w]{{0,8}}{_loose(each.text)}", text)
    return bool(called and told)


def _loose(text: str) -> str:
    return r"\s+".join(map(re.escape, text.split()))


def values(fields: Iterable[Field], reading: Reading) -> tuple[Share, Share]:
    """Return how many typed values are told at all, and how many of them behind their labels."""
    typed = [each for each in fields if each.ticked is None]
    text = compact(reading.text)
    told = sum(compact(each.value) in text or each.value in reading.values for each in typed)
    beside = sum(bool(re.search(rf"{re.escape(compact(each.label))}:?{re.escape(compact(each.value))}", text))
                 for each in typed)
    return Share(told, len(typed)), Share(beside, len(typed))


def boxes(fields: Iterable[Field], reading: Reading) -> Share:
    """Return how many boxes are told as they are, beside their labels; the sign stands before or behind, throughout."""
    boxed = [each for each in fields if each.ticked is not None]
    text = reading.text.replace("’", "'")
    if not re.search(_TICK, text) and any(each.ticked for each in boxed):
        return Share(0, len(boxed))
    return Share(max(sum(_state(text, each.label, before=before) == each.ticked for each in boxed)
                     for before in (True, False)), len(boxed))


def _state(text: str, label: str, *, before: bool) -> bool | None:
    """Tell what a box says; one without a sign is empty, where others have signs; None where there is no label."""
    name = _loose(label)
    if not re.search(name, text):
        return None
    return re.search(rf"{_TICK}\s*{name}" if before else rf"{name}\s*{_TICK}", text) is not None
