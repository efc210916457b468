"""Running headers and footers: lines at the edge of most pages that differ in their page number alone.

What is not certain is text: a line is left out only where the same line, its page number apart, stands at the same
place of most pages, set apart from the page's text, and never where a page would lose most of what it says.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from itertools import pairwise, takewhile
from statistics import median
from typing import NamedTuple

from sourcier.services.ingest.parsing.pdf.lines import Line

_EDGE_LINES = 4
_EDGE_SHARE = 0.17
"""How far from the edge, in heights of the page, a running line may stand."""
_PAGES_MIN = 3
_SHARE_MIN = 0.5
_SIDE_SHARE_MIN = 0.7
_LOST_MAX = 0.5
_APART = 1.25
_APART_SHARE = 0.6
_PLACE = 6.0
_NUMBER = re.compile(r"[0-9]{1,5}|[ivxlcdmIVXLCDM]{1,9}")
_PAGE_WORDS = frozenset(
    ["page", "pages", "p", "pg", "p.", "pg.", "seite", "s.", "página", "pagina", "pag", "pag.", "folio", "f°"]
)
_OF_WORDS = frozenset(["/", "sur", "of", "de", "von", "di", "sur:"])
_SIGNS = frozenset(["-", "–", "—", "|", "·", "•", "/", "~", "[", "]", "(", ")"])
_PIECES = re.compile(r"[\w°.]+|[^\w\s]")
_ROMAN = {"i": 1, "v": 5, "x": 10, "l": 50, "c": 100, "d": 500, "m": 1000}
_TEXT_MAX = 200


class _Edge(NamedTuple):
    """A line at the edge of a page, and whether a gap sets it and those beyond it apart from the page's text."""

    page: int
    line: Line
    place: int
    """Its distance from the edge, coarse; negative below."""
    apart: bool


class _Form(NamedTuple):
    """A line's text without its page number, and what number that is: -1 without one."""

    text: str
    number: int
    bare: bool
    """Nothing but a page number."""
    named: bool = False
    """Its number says that it is a page's: `Page 4`, `4 sur 12`."""


class Running(NamedTuple):
    """What is left out: places of lines by page, and the texts as a person would name them."""

    lines: frozenset[tuple[int, int]]
    """Index of the page and identity of the line."""
    texts: tuple[str, ...]


def running_lines(pages: Sequence[Sequence[Line]], heights: Sequence[float], heading_size: float) -> Running:
    """Find the running lines of pages, each a list of lines outside its ruled tables from the top.

    A line larger than `heading_size` is a heading, whatever it repeats.
    """
    groups: dict[tuple[str, int], list[tuple[_Edge, _Form]]] = defaultdict(list)
    for index, lines in enumerate(pages):
        for edge in _edges(index, lines, heights[index]):
            form = _form(edge.line)
            if form.text or form.bare:
                groups[form.text, edge.place].append((edge, form))
    written = [index for index, lines in enumerate(pages) if lines]
    chosen: dict[int, list[Line]] = defaultdict(list)
    texts: dict[str, None] = {}
    for (text, place), members in groups.items():
        near = [*members, *groups.get((text, place + 1), ()), *groups.get((text, place - 1), ())]
        apart = members[0][1].bare or sum(edge.apart for edge, _ in near) >= _APART_SHARE * len(near)
        if apart and _are_most({edge.page for edge, _ in near}, written) and _counts(near):
            for edge, form in members:
                # A page's number is no heading, however large; "Fiche – 4" may be one.
                if edge.line.size < heading_size or form.named:
                    chosen[edge.page].append(edge.line)
                    texts.setdefault(text or "#")
    return Running(frozenset(_bounded(chosen, pages)), tuple(texts))


def _are_most(found: set[int], written: Sequence[int]) -> bool:
    """Tell whether these are most of the pages, or most of the left or of the right ones."""
    if len(found) < _PAGES_MIN:
        return False
    alike = [index for index in written if index % 2 == min(found) % 2]
    one_sided = all(index % 2 == min(found) % 2 for index in found)
    return len(found) >= _SHARE_MIN * len(written) or (one_sided and len(found) >= _SIDE_SHARE_MIN * len(alike))


def _bounded(chosen: dict[int, list[Line]], pages: Sequence[Sequence[Line]]) -> list[tuple[int, int]]:
    """Keep what stands within a page's text, and all of a page that would lose half of it, its bare number apart."""
    kept: list[tuple[int, int]] = []
    for index, lines in chosen.items():
        page, names = pages[index], {id(line) for line in lines}
        outer = {*_outer(page, names), *_outer(page[::-1], names)}
        going = [line for line in lines if id(line) in outer]
        whole, lost = sum(len(line.text) for line in page), sum(len(line.text) for line in going)
        if lost > _LOST_MAX * whole:
            going = [line for line in going if _form(line).bare]
        kept.extend((index, id(line)) for line in going)
    return kept


def _outer(lines: Sequence[Line], chosen: set[int]) -> list[int]:
    """Return the running lines with no other line between them and the edge: what follows a page's text is text."""
    return [id(line) for line in takewhile(lambda line: id(line) in chosen, lines)]


def _edges(index: int, lines: Sequence[Line], height: float) -> list[_Edge]:
    if not lines:
        return []
    distances = [below.baseline - line.baseline for line, below in pairwise(lines)]
    usual = median(distances) if distances else 0.0
    found: list[_Edge] = []
    for from_top in (True, False):
        ordered = lines if from_top else lines[::-1]
        limit = _EDGE_SHARE * height
        near = [
            line
            for number, line in enumerate(ordered[:_EDGE_LINES])
            if (line.baseline if from_top else height - line.baseline) <= limit
            or (number == 0 and _form(line).bare)  # a short page may have its number where its text ends
            if len(line.text) <= _TEXT_MAX
        ]
        # The widest gap ends the header; lines beyond it are the page's text.
        last = 0
        for count in range(1, len(near) + 1):
            if count < len(ordered) and abs(ordered[count].baseline - ordered[count - 1].baseline) > _APART * usual:
                last = count
        for count, line in enumerate(near, 1):
            place = round(line.baseline / _PLACE) if from_top else -round((height - line.baseline) / _PLACE) - 1
            found.append(_Edge(index, line, place, apart=count <= last))
    return found


def _form(line: Line) -> _Form:
    """Take the page number out of a line."""
    pieces = [piece for segment in line.segments for piece in (*_PIECES.findall(segment.text), "\t")]
    text: list[str] = []
    number = -1
    named = False
    index = 0
    while index < len(pieces):
        taken, value = _page_number(pieces, index, text)
        if taken and number < 0:
            number, named = value, taken > 1
            text.append("#")
            index += taken
        else:
            text.append(pieces[index])
            index += 1
    words = [piece for piece in text if piece != "\t"]
    bare = number >= 0 and all(word == "#" or word in _SIGNS for word in words)
    return _Form("" if bare else " ".join(words), number, bare, named)


def _page_number(pieces: Sequence[str], index: int, before: Sequence[str]) -> tuple[int, int]:
    """Return how many pieces from `index` say a page number, and which; 0 where none does."""
    at = index
    named = pieces[at].lower() in _PAGE_WORDS
    if named:
        at += 1
        if at < len(pieces) and pieces[at] == ".":
            at += 1
    if at >= len(pieces) or not _NUMBER.fullmatch(pieces[at]):
        return 0, -1
    value = _value(pieces[at])
    at += 1
    total = at + 1 < len(pieces) and pieces[at].lower() in _OF_WORDS and pieces[at + 1].isdigit()
    if total:
        at += 2
    # A number that neither a word nor a gap nor a sign sets apart is part of what the line says: "Machine 4".
    opens = not before or before[-1] == "\t" or before[-1] in _SIGNS
    closes = at >= len(pieces) or pieces[at] == "\t" or pieces[at] in _SIGNS
    if value < 0 or not (named or (total and (opens or closes)) or (opens and closes)):
        return 0, -1
    return at - index, value


def _value(text: str) -> int:
    if text.isdigit():
        return int(text)
    if text != text.lower() and text != text.upper():
        return -1
    values = [_ROMAN[letter] for letter in text.lower()]
    return sum(-value if value < max(values[place:]) else value for place, value in enumerate(values))


def _counts(members: Sequence[tuple[_Edge, _Form]]) -> bool:
    """Tell whether the numbers, where there are some, go up as the pages do, with a new beginning here and there."""
    numbered = sorted((edge.page, form.number) for edge, form in members if form.number >= 0)
    if not numbered:
        return True
    pairs = list(pairwise(numbered))
    steady = sum(after[1] - before[1] == after[0] - before[0] for before, after in pairs)
    return steady >= 0.6 * len(pairs)
