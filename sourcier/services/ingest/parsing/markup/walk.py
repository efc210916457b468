"""From the tree of a page to blocks, in reading order. The walk is a loop: pages nest without bound."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

import lxml.etree  # type: ignore[import-untyped]
import lxml.html  # type: ignore[import-untyped]

from sourcier.services.ingest.documents import BlockKind
from sourcier.services.ingest.parsing.addresses import WebAddress, address_of
from sourcier.services.ingest.parsing.markup.fields import field_text, is_box, label_colon
from sourcier.services.ingest.parsing.markup.grids import is_layout, named_values, read_grid
from sourcier.services.ingest.parsing.markup.line import Line
from sourcier.services.ingest.parsing.markup.numbering import NumberedList
from sourcier.services.ingest.parsing.markup.unseen import BLOCK, LOWERED, RAISED, STRUCK
from sourcier.services.ingest.parsing.tables import CellBudget, render_table

Emit = Callable[[BlockKind, str, int], None]
"""What takes a block: its kind, text and level."""

_MEANING_CHARACTERS_MAX = 200
_BLOCKS = frozenset(
    [
        "address", "article", "aside", "blockquote", "body", "center", "dd", "details", "dialog", "dir", "div", "dl",
        "dt", "fieldset", "figcaption", "figure", "footer", "form", "header", "hgroup", "hr", "html", "legend", "li",
        "main", "menu", "nav", "ol", "optgroup", "p", "search", "section", "summary", "ul", "caption", "table",
        "thead", "tbody", "tfoot", "tr", "td", "th", "h1", "h2", "h3", "h4", "h5", "h6",
    ]
)
_HEADINGS = {f"h{level}": level for level in range(1, 7)}
_LISTS = frozenset({"ul", "ol", "menu", "dir"})
_STRUCK = frozenset({"del", "s", "strike"})
_PARAGRAPHS = re.compile(r"\n{2,}")
_NESTED_TABLES_MAX = 8
_FIELDS = frozenset({"input", "select", "textarea", "progress", "meter"})


@dataclass(slots=True)
class Shared:
    """What the walks of one page have in common: the page's and those of its cells."""

    budget: CellBudget
    base: str
    told: set[str]
    """Addresses of pages and meanings of abbreviations that were given once."""
    picture: Callable[[str], None]
    """What takes the address of a picture."""


class PageWalk:
    """Visits each element of a tree once and hands out what it says."""

    def __init__(self, emit: Emit, shared: Shared, *, depth: int = 0) -> None:
        """Take what receives the blocks; `depth` is that of the table whose cell is walked."""
        self._emit = emit
        self._shared = shared
        self._depth = depth
        self._line = Line()
        self._lists: list[NumberedList] = []
        self._marker = ""
        self._heading = 0
        self._term = ""
        self._field_end = -1
        self._kinds: list[BlockKind] = []
        self._marks: dict[lxml.html.HtmlElement, int] = {}

    def run(self, root: lxml.html.HtmlElement) -> None:
        """Hand out the blocks of a tree."""
        walk = lxml.etree.iterwalk(root, events=("start", "end"))
        for event, element in walk:
            if not isinstance(element.tag, str):
                continue
            if event == "start":
                if self._enter(element, is_root=element is root):
                    walk.skip_subtree()
                    self._marks[element] = -1
            else:
                if self._marks.get(element) == -1:
                    del self._marks[element]
                else:
                    self._leave(element)
                if element is not root:
                    self._line.add(element.tail)
        self._flush()
        self._end_term()

    def _enter(self, element: lxml.html.HtmlElement, *, is_root: bool) -> bool:
        """Begin an element; return whether all of it was read here."""
        tag = element.tag
        if tag in _FIELDS or is_box(element):
            self._add_field(element)
            return True
        if tag in ("br", "hr", "img", "math", "pre", "xmp", "listing", "rp"):
            return self._add_single(element)
        if tag == "table" and not is_root and not is_layout(element):
            self._flush()
            self._add_table(element)
            return True
        if tag in _BLOCKS or element.get(BLOCK) is not None:
            self._begin_block(element)
        if tag in _STRUCK or element.get(STRUCK) is not None:
            self._line.strike()
        if tag in ("a", "abbr", "sup", "sub") or element.get(RAISED) is not None or element.get(LOWERED) is not None:
            self._marks[element] = self._line.mark()
        if tag == "q":
            self._line.add("« ")
        self._line.add(element.text)
        return False

    def _leave(self, element: lxml.html.HtmlElement) -> None:
        tag = element.tag
        mark = self._marks.pop(element, None)
        if mark is not None:
            mark = min(mark, self._line.mark())
            if tag == "abbr":
                self._add_meaning(element.get("title") or "", self._line.since(mark))
            if tag == "a":
                self._add_address(element.get("href") or "", self._line.since(mark))
            if tag == "sup" or element.get(RAISED) is not None:
                self._line.raise_since(mark, calls_note=_calls_note(element))
            elif tag == "sub" or element.get(LOWERED) is not None:
                self._line.lower_since(mark)
        if tag == "q":
            self._line.add(" »")
        if tag in _STRUCK or element.get(STRUCK) is not None:
            self._line.end_strike()
        if tag == "form":
            self._add_form_address(element)
        if tag in _BLOCKS or element.get(BLOCK) is not None:
            self._end_block(element)

    def _begin_block(self, element: lxml.html.HtmlElement) -> None:
        tag = element.tag
        if self._heading:
            self._line.add(" ")
            return
        self._flush()
        if tag in _HEADINGS:
            self._heading = _HEADINGS[tag]
        elif tag in _LISTS:
            self._lists.append(NumberedList.of(element))
        elif tag == "li":
            self._marker = self._lists[-1].next_marker(element) if self._lists else "-"
        elif tag == "figcaption":
            self._kinds.append(BlockKind.CAPTION)

    def _end_block(self, element: lxml.html.HtmlElement) -> None:
        tag = element.tag
        if self._heading:
            if tag in _HEADINGS:
                level, self._heading = self._heading, 0
                self._emit_text(BlockKind.HEADING, self._line.take().replace("\n", " "), level)
            else:
                self._line.add(" ")
            return
        if tag == "dt":
            self._term = ", ".join(filter(None, (self._term, self._line.take().replace("\n", " "))))
            return
        self._flush()
        if tag in _LISTS:
            self._lists.pop()
        elif tag == "li":
            self._marker = ""
        elif tag == "figcaption":
            self._kinds.pop()
        elif tag == "dl":
            self._end_term()

    def _flush(self) -> None:
        """Hand out the line as a block."""
        if self._heading:
            return
        if self._line.is_blank:
            self._line.take()
            return
        for text in _PARAGRAPHS.split(self._line.take()):
            if self._term:
                text = f"{self._term.rstrip(' :')} : {text}" if not self._term.endswith("?") else f"{self._term} {text}"
                self._term = ""
            if self._kinds:
                self._emit_text(self._kinds[-1], text, 0)
            elif self._lists or self._marker:
                marked = f"{self._marker} {text}" if self._marker else text
                self._marker = ""
                self._emit_text(BlockKind.LIST_ITEM, marked, max(len(self._lists), 1))
            else:
                self._emit_text(BlockKind.PARAGRAPH, text, 0)

    def _emit_text(self, kind: BlockKind, text: str, level: int) -> None:
        if text.strip():
            self._emit(kind, text, level)

    def _end_term(self) -> None:
        if self._term:
            term, self._term = self._term, ""
            self._emit_text(BlockKind.PARAGRAPH, term, 0)

    def _add_single(self, element: lxml.html.HtmlElement) -> bool:
        tag = element.tag
        if tag == "br":
            self._line.add(" ") if self._heading else self._line.add_break()
        elif tag == "hr":
            self._flush()
        elif tag == "img":
            self._shared.picture(element.get("src") or "")
            self._line.add(" ".join((element.get("alt") or "").split()) and f" {element.get('alt')} ")
        elif tag == "math":
            self._line.add(element.get("alttext") or _annotation(element) or element.text_content())
        elif tag != "rp":
            if element.get(STRUCK) is not None or self._heading:
                self._line.add(element.text_content())
            else:
                self._flush()
                self._emit_text(BlockKind.CODE, _preformatted(element), 0)
        return True

    def _add_field(self, element: lxml.html.HtmlElement) -> None:
        text = field_text(element)
        if not text:
            return
        after_field = self._line.mark() == self._field_end
        self._line.add(" " if after_field else label_colon(self._line.since(0), element))
        self._line.add(text)
        self._line.add(" ")
        self._field_end = self._line.mark()

    def _add_address(self, reference: str, shown: str) -> None:
        address = address_of(reference, shown=shown, base=self._shared.base)
        if not address or not shown.strip() or self._heading:
            return
        if isinstance(address, WebAddress):
            if address in self._shared.told:
                return
            self._shared.told.add(address)
        self._line.add_address(address)

    def _add_meaning(self, meaning: str, shown: str) -> None:
        """Append what an abbreviation means, once a document."""
        meaning = " ".join(meaning.split())[:_MEANING_CHARACTERS_MAX]
        if not meaning or not shown.strip() or self._heading or meaning.lower() == shown.strip().lower():
            return
        if meaning not in self._shared.told:
            self._shared.told.add(meaning)
            self._line.add_address(meaning)

    def _add_form_address(self, form: lxml.html.HtmlElement) -> None:
        address = address_of(form.get("action") or "", shown="", base=self._shared.base)
        if address and form.text_content().strip():
            self._line.add(address) if self._line.is_blank else self._line.add_address(address)

    def _add_table(self, table: lxml.html.HtmlElement) -> None:
        if self._depth >= _NESTED_TABLES_MAX:
            self._line.add(table.text_content())
            return
        for caption in table.iterchildren("caption"):
            self._emit_text(BlockKind.CAPTION, self._text_within(caption, " "), 0)
        struck = table.get(STRUCK) is not None
        grid = read_grid(table, lambda cell, is_header: self._cell_text(cell, is_header=is_header, struck=struck),
                         self._shared.budget)
        for title in grid.titles:
            self._emit_text(BlockKind.CAPTION, title, 0)
        if named_values(table, grid):
            for row in grid.rows:
                self._emit_text(BlockKind.PARAGRAPH, " : ".join(filter(None, (row[0].rstrip(" :"), *row[1:]))), 0)
        elif self._depth:
            # A table in a cell: its rows in one line.
            rows = (" : ".join(cell for cell in row if cell) for row in grid.rows)
            self._emit_text(BlockKind.PARAGRAPH, " ; ".join(row for row in rows if row), 0)
        else:
            kind, text = render_table(grid.rows, header_rows=max(grid.header_rows, 1))
            self._emit_text(kind, text, 0)

    def _cell_text(self, cell: lxml.html.HtmlElement, *, is_header: bool, struck: bool) -> str:
        text = self._text_within(cell, " " if is_header else "")
        row = cell.getparent()
        struck = struck or row.get(STRUCK) is not None
        return f"~~{text}~~" if struck and text and not text.startswith("~~") else text

    def _text_within(self, element: lxml.html.HtmlElement, separator: str) -> str:
        """Return the text of a cell on one line; without a separator, commas where its lines end without a mark."""
        lines: list[str] = []
        walk = PageWalk(lambda _kind, text, _level: lines.extend(text.split("\n")), self._shared, depth=self._depth + 1)
        walk.run(element)
        lines = [line.strip() for line in lines if line.strip()]
        joined = lines[0] if lines else ""
        for line in lines[1:]:
            goes_on = separator or joined[-1] in ".,;:!?…-" or line[0].islower() or not line[0].isalnum()
            joined += f" {line}" if goes_on else f", {line}"
        return joined


def _calls_note(element: lxml.html.HtmlElement) -> bool:
    links = [element] if element.tag == "a" else list(element.iter("a"))
    parent = element.getparent()
    if parent is not None and parent.tag == "a":
        links.append(parent)
    return any((link.get("href") or "").startswith("#") for link in links)


def _annotation(math: lxml.html.HtmlElement) -> str:
    return next((found.text_content() for found in math.iter("annotation") if "tex" in found.get("encoding", "")), "")


def _preformatted(element: lxml.html.HtmlElement) -> str:
    for line_break in list(element.iter("br")):
        line_break.tail = "\n" + (line_break.tail or "")
    return str(element.text_content())
