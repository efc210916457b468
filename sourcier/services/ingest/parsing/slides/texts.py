"""The text of shapes: paragraphs, list items with their numbers, raised figures apart, struck words marked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.counts import spell
from sourcier.services.ingest.parsing.office.formulas import formula_text
from sourcier.services.ingest.parsing.office.lines import PLAIN, Line, Look
from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, children, name
from sourcier.services.ingest.parsing.office.shown import ShownText
from sourcier.services.ingest.parsing.office.symbols import is_symbol_font, symbols

_STRUCK = frozenset({"sngStrike", "dblStrike"})
_NUMBERED = {
    "arabicPeriod": ("decimal", "{}."), "arabicParenR": ("decimal", "{})"), "arabicParenBoth": ("decimal", "({})"),
    "arabicPlain": ("decimal", "{}"), "romanUcPeriod": ("upperRoman", "{}."), "romanLcPeriod": ("lowerRoman", "{}."),
    "romanUcParenR": ("upperRoman", "{})"), "romanLcParenR": ("lowerRoman", "{})"),
    "alphaUcPeriod": ("upperLetter", "{}."), "alphaLcPeriod": ("lowerLetter", "{}."),
    "alphaUcParenR": ("upperLetter", "{})"), "alphaLcParenR": ("lowerLetter", "{})"),
}  # fmt: skip
_LEVELS_MAX = 9


LinkEnd: TypeAlias = Callable[[Line, int, str], None]
"""What is told a line, where the text of a link begins in it, and the link's identifier."""


def body_texts(body: Element | None, *, listed: bool, link: LinkEnd | None = None) -> Iterator[ShownText]:
    """Yield a text body's paragraphs; `listed`: those without a mark are items, as in a content's place."""
    counts: dict[int, int] = {}
    for paragraph in children(body, "a:p"):
        text = line_text(paragraph, link)
        if not text.strip():
            continue
        properties = child(paragraph, "a:pPr")
        depth = attribute(properties, "lvl", "0")
        level = min(int(depth), _LEVELS_MAX) if depth.isdigit() and len(depth) < 3 else 0
        mark = _mark(properties, level, counts, listed=listed)
        if mark:
            yield ShownText(BlockKind.LIST_ITEM, f"{mark} {text.strip()}", level + 1)
        else:
            yield ShownText(BlockKind.PARAGRAPH, text)


def line_text(paragraph: Element, link: LinkEnd | None = None) -> str:
    """Return a paragraph's text."""
    line = Line()
    opened, mark = "", 0
    for part in paragraph:
        kind = name(part)
        leads = attribute(child(part, "a:rPr", "a:hlinkClick"), "r:id")
        if leads != opened:
            # A link may reach over several runs.
            if opened and link is not None:
                link(line, mark, opened)
            opened, mark = leads, line.mark()
        if kind in ("a:r", "a:fld"):
            text = "".join(found.text or "" for found in children(part, "a:t"))
            properties = child(part, "a:rPr")
            fonts = (attribute(child(properties, kind), "typeface") for kind in ("a:latin", "a:sym"))
            font = next(filter(None, fonts), "")
            line.add(symbols(text, font) if is_symbol_font(font) else text, _look(properties))
        elif kind == "a:br":
            line.add("\n")
        elif kind not in ("a:pPr", "a:endParaRPr"):
            chosen = child(part, "mc:Choice") if kind == "mc:AlternateContent" else part
            line.add(formula_text(chosen))
    if opened and link is not None:
        link(line, mark, opened)
    return line.text()


def _look(properties: Element | None) -> Look:
    if properties is None:
        return PLAIN
    shift = attribute(properties, "baseline", "0").rstrip("%")
    return Look(
        raised=not shift.startswith("-") and shift.strip("0") != "",
        lowered=shift.startswith("-"),
        struck=attribute(properties, "strike") in _STRUCK,
    )


def _mark(properties: Element | None, level: int, counts: dict[int, int], *, listed: bool) -> str:
    numbers = child(properties, "a:buAutoNum")
    for deeper in [found for found in counts if found > level or (found == level and numbers is None)]:
        del counts[deeper]
    if numbers is not None:
        start = attribute(numbers, "startAt", "1")
        counts[level] = counts.get(level, (int(start) if start.isdigit() and len(start) < 6 else 1) - 1) + 1
        form, shape = _NUMBERED.get(attribute(numbers, "type"), ("decimal", "{}."))
        return shape.format(spell(counts[level], form))
    if child(properties, "a:buNone") is not None:
        return ""
    marked = child(properties, "a:buChar") is not None or child(properties, "a:buBlip") is not None
    return "-" if marked or listed else ""
