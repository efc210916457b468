"""What stands inside an OpenDocument paragraph: spans, notes, fields, and what is anchored there."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from sourcier.services.ingest.parsing.office.lines import Comment, Line, Note
from sourcier.services.ingest.parsing.office.links import Links
from sourcier.services.ingest.parsing.office.packages import (
    Element,
    attribute,
    child,
    children,
    descendants,
    name,
    whole_number,
)
from sourcier.services.ingest.parsing.office.symbols import box, is_symbol_font, symbols
from sourcier.services.ingest.parsing.opendocument.styles import Styles, TextLook
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode

DRAWN = frozenset({
    "draw:frame", "draw:g", "draw:custom-shape", "draw:rect", "draw:ellipse", "draw:circle", "draw:polygon",
    "draw:line", "draw:connector", "draw:caption", "draw:path", "draw:polyline", "draw:regular-polygon", "draw:a",
})  # fmt: skip
_GONE = frozenset({
    "office:annotation-end", "text:tracked-changes", "text:note-citation", "text:ruby-text",
    "text:page-number", "text:page-count", "text:bookmark-start", "office:event-listeners", "text:hidden-paragraph",
})  # fmt: skip
_SPACES = re.compile(r"[ \t\r\n]+")
_AFTER_BREAK = re.compile(r"\n ++")
_SPACES_MAX = 100


@dataclass(slots=True)
class Controls:
    """The fields of a form by their identifiers, as text: a box's state and label, or what was typed."""

    by_identifier: dict[str, str] = field(default_factory=dict)

    def add(self, forms: Element) -> None:
        """Learn the fields of a form."""
        for control in forms.iter():
            identifier = attribute(control, "form:id") or attribute(control, "xml:id")
            if identifier:
                self.by_identifier[identifier] = _control_text(control)


class RunReader:
    """Reads paragraphs; the texts of notes are read by the reader of blocks."""

    def __init__(
        self, styles: Styles, warnings: ReadingWarnings, controls: Controls, *, comments: bool = False
    ) -> None:
        """Comments are read with `comments`, else told."""
        self._comments = comments
        self._styles = styles
        self._warnings = warnings
        self._controls = controls
        self._links = Links()
        self.read_note: Callable[[Element], str] = lambda element: ""
        """Returns the text of a note's body; set by the reader of blocks."""

    def paragraph(self, element: Element) -> tuple[str, list[Element]]:
        """Return a paragraph's text, and what is anchored in it."""
        line, anchored = Line(), list[Element]()
        look = self._styles.look("paragraph", attribute(element, "text:style-name"), TextLook())
        if look.hidden:
            self._hidden(element)
            return "", []
        # A paragraph that is raised or lowered as a whole is so as its style says, not as a mark.
        look = replace(look, look=replace(look.look, raised=False, lowered=False))
        self._inside(element, line, look, anchored)
        return _AFTER_BREAK.sub("\n", line.text().strip(" ")), anchored

    def comment(self, element: Element) -> Comment | None:
        """Return a comment where comments are read; else tell it."""
        if not self._comments:
            self._warnings.add(WarningCode.NOT_READ, detail="comments")
            return None
        author = "".join(text for found in children(element, "dc:creator") for text in found.itertext()).strip()
        lines = (self.paragraph(line)[0] for line in descendants(element, "text:p"))
        text = " ".join(filter(None, lines))
        return Comment(author, text) if text else None

    def _inside(self, element: Element, line: Line, look: TextLook, anchored: list[Element]) -> None:
        self._text(element.text, line, look)
        for part in element:
            self._part(part, line, look, anchored)
            self._text(part.tail, line, look)

    def _text(self, text: str | None, line: Line, look: TextLook) -> None:
        if text:
            text = _SPACES.sub(" ", text)
            line.add(symbols(text, look.font) if is_symbol_font(look.font) else text, look.look)

    def _part(self, part: Element, line: Line, look: TextLook, anchored: list[Element]) -> None:
        kind = name(part)
        if kind == "text:s":
            line.add(" " * whole_number(attribute(part, "text:c", "1"), 1, most=_SPACES_MAX), look.look)
        elif kind == "text:tab":
            line.add(" ", look.look)
        elif kind == "text:line-break":
            line.add("\n", look.look)
        elif kind == "text:note":
            self._note(part, line)
        elif kind == "draw:control":
            line.add(self._controls.by_identifier.get(attribute(part, "draw:control"), ""))
        elif kind in DRAWN:
            anchored.append(part)
        elif kind == "office:annotation":
            comment = self.comment(part)
            if comment is not None:
                line.call(comment)
        elif kind == "text:hidden-text":
            if attribute(part, "text:is-hidden") != "true":
                line.add(attribute(part, "text:string-value"), look.look)
        elif kind not in _GONE:
            self._span(part, line, look, anchored)

    def _span(self, part: Element, line: Line, look: TextLook, anchored: list[Element]) -> None:
        own = self._styles.look("text", attribute(part, "text:style-name"), look)
        if own.hidden:
            self._hidden(part)
            return
        mark = line.mark()
        self._inside(part, line, own, anchored)
        if name(part) == "text:a":
            self._links.end(line, mark, attribute(part, "xlink:href"))

    def _note(self, note: Element, line: Line) -> None:
        citation, body = child(note, "text:note-citation"), child(note, "text:note-body")
        mark = "".join(citation.itertext()).strip() if citation is not None else "*"
        text = self.read_note(body) if body is not None else ""
        if text:
            line.call(Note(mark, text))

    def _hidden(self, element: Element) -> None:
        if "".join(element.itertext()).strip() or next(descendants(element, "draw:image"), None) is not None:
            self._warnings.add(WarningCode.HIDDEN_TEXT)


def _control_text(control: Element) -> str:
    kind = name(control)
    label = attribute(control, "form:label").strip()
    if kind in ("form:checkbox", "form:radio"):
        state = attribute(control, "form:current-state") or attribute(control, "form:current-selected")
        return f"{box(state in ('checked', 'true'))} {label}".rstrip() + " "
    if kind == "form:listbox":
        chosen = (option for option in descendants(control, "form:option")
                  if attribute(option, "form:current-selected") == "true")  # fmt: skip
        return ", ".join(attribute(option, "form:label") for option in chosen)
    if kind in ("form:password", "form:button", "form:hidden", "form:image"):
        return ""
    if kind == "form:fixed-text":
        return label
    return attribute(control, "form:current-value") or attribute(control, "form:value")
