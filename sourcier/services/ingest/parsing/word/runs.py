"""What stands inside a Word paragraph: runs, fields, content controls, changes, notes, and what is anchored there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from sourcier.services.ingest.parsing.office.formulas import formula_text
from sourcier.services.ingest.parsing.office.lines import PLAIN, Comment, Line, Look
from sourcier.services.ingest.parsing.office.links import Links, field_reference
from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, children, descendants, name
from sourcier.services.ingest.parsing.office.symbols import box, is_symbol_font, symbol, symbols
from sourcier.services.ingest.parsing.word.notes import Notes
from sourcier.services.ingest.parsing.word.styles import RunLook, Styles, is_on, number
from sourcier.services.ingest.reading_warnings import ReadingWarnings, WarningCode

_GONE = frozenset({"w:del", "w:moveFrom", "w:delText", "w:rPr", "w:pPr", "w:sdtPr", "w:instrText", "w:rt"})
_BREAKS = {"w:br": "\n", "w:cr": "\n", "w:tab": " ", "w:ptab": " ", "w:noBreakHyphen": "-"}
_DRAWINGS = frozenset({"w:drawing", "w:pict", "w:object"})
_PICTURES = {"a:blip": "r:embed", "v:imagedata": "r:id"}
"""What shows a picture, and its attribute that names it."""
_DESCRIBING = frozenset({"docPr", "cNvPr", "v:shape"})
_SIGNS_ONLY = frozenset({"w16se"})
_PAGE_FIELDS = frozenset({"PAGE", "NUMPAGES", "SECTIONPAGES"})
_RAISED_HALF_POINTS = 4
_UNSEEN_HALF_POINTS = 4
"""Letters of two points and less are not read by people."""


@dataclass(slots=True)
class _Field:
    """A complex field that is open: its code so far, and whether its result has begun."""

    code: str = ""
    in_result: bool = False
    begun: tuple[Line, int] | None = None
    """Where its result begins."""
    own_value: bool = False
    """Whether its value was taken from its definition; what follows would repeat it."""

    @property
    def unseen(self) -> bool:
        """Whether what stands here now is not part of the text."""
        words = self.code.split(maxsplit=1)
        return not self.in_result or self.own_value or (bool(words) and words[0].upper() in _PAGE_FIELDS)


@dataclass(frozen=True, slots=True)
class AnchoredPicture:
    """A picture: the identifier of its part, and its author's text for people who do not see it."""

    identifier: str
    alternative: str


@dataclass(slots=True)
class Anchored:
    """What hangs at a paragraph: text boxes, and the parts of charts and diagrams by their relationships."""

    text_boxes: list[Element] = field(default_factory=list)
    charts: list[str] = field(default_factory=list)
    diagrams: list[str] = field(default_factory=list)
    pictures: list[AnchoredPicture] = field(default_factory=list)
    alternative: str = ""
    """Of the picture that comes next."""


class RunReader:
    """Reads paragraphs in order: fields may be open over several of them."""

    def __init__(self, styles: Styles, notes: Notes, warnings: ReadingWarnings) -> None:
        self._styles = styles
        self._notes = notes
        self._warnings = warnings
        self._fields: list[_Field] = []
        self._links = Links()
        self.comment: Callable[[str], Comment | None] = lambda identifier: None
        """Returns a comment that is read; set by the reader of blocks."""
        self.target: Callable[[str], str] = lambda identifier: ""
        """Returns the address that a link of the part names; set by the reader of blocks."""
        self._read: dict[str, Callable[[Element, Line, list[Element], Anchored], None]] = {
            "w:r": self._run,
            "w:sdt": self._control,
            "w:fldSimple": self._simple_field,
            "w:hyperlink": self._hyperlink,
            "m:oMath": self._formula,
            "m:oMathPara": self._formula,
            "mc:AlternateContent": self._alternative,
        }

    def paragraph(self, element: Element, line: Line) -> Anchored:
        """Append a paragraph's text to a line; return what is anchored to it."""
        anchored = Anchored()
        chain = self._styles.paragraph_chain(child(element, "w:pPr"))
        self._inside(element, line, chain, anchored)
        return anchored

    def _inside(self, element: Element, line: Line, chain: list[Element], anchored: Anchored) -> None:
        for part in element:
            kind = name(part)
            read = self._read.get(kind)
            if read is not None:
                read(part, line, chain, anchored)
            elif kind in _DRAWINGS:
                self._anchored(part, anchored)
            elif kind not in _GONE:
                # Insertions, links, smart tags and the like: only what they hold matters.
                self._inside(part, line, chain, anchored)

    def _control(self, element: Element, line: Line, chain: list[Element], anchored: Anchored) -> None:
        properties = child(element, "w:sdtPr")
        checkbox = child(properties, "w14:checkbox")
        if checkbox is None:
            self._inside(element, line, chain, anchored)
            return
        checked = child(checkbox, "w14:checked")
        line.add(box(checked is not None and is_on(attribute(checked, "val", "1"))))

    def _simple_field(self, element: Element, line: Line, chain: list[Element], anchored: Anchored) -> None:
        if not _Field(attribute(element, "instr"), in_result=True).unseen:
            self._inside(element, line, chain, anchored)

    def _hyperlink(self, element: Element, line: Line, chain: list[Element], anchored: Anchored) -> None:
        mark = line.mark()
        self._inside(element, line, chain, anchored)
        identifier = attribute(element, "r:id")
        if identifier:
            self._links.end(line, mark, self.target(identifier))

    def _formula(self, element: Element, line: Line, chain: list[Element], anchored: Anchored) -> None:
        line.add(formula_text(element))

    def _alternative(self, element: Element, line: Line, chain: list[Element], anchored: Anchored) -> None:
        chosen = _chosen(element)
        if chosen is not None:
            self._inside(chosen, line, chain, anchored)

    def _run(self, element: Element, line: Line, chain: list[Element], anchored: Anchored) -> None:
        look = RunLook(self._styles, chain, child(element, "w:rPr"))
        if look.has("w:vanish") or _too_small(look):
            hidden = "".join(found.text or "" for found in descendants(element, "w:t")).strip()
            self._warnings.add(WarningCode.HIDDEN_TEXT, count=1 if hidden else 0)
            return
        font = attribute(look.find("w:rFonts"), "ascii")
        shown = _look(look)
        for part in element:
            self._run_part(part, line, chain, anchored, shown=shown, font=font)

    def _run_part(
        self, part: Element, line: Line, chain: list[Element], anchored: Anchored, *, shown: Look, font: str
    ) -> None:
        kind = name(part)
        if kind == "w:fldChar":
            self._field_character(part, line)
        elif kind == "w:instrText":
            if self._fields:
                self._fields[-1].code += part.text or ""
        elif any(found.unseen for found in self._fields):
            return
        elif kind == "w:t":
            text = part.text or ""
            line.add(symbols(text, font) if is_symbol_font(font) else text, shown)
        elif kind == "mc:AlternateContent":
            chosen = _chosen(part)
            for inner in chosen if chosen is not None else ():
                self._run_part(inner, line, chain, anchored, shown=shown, font=font)
        else:
            self._other(part, line, chain, anchored, shown)

    def _other(self, part: Element, line: Line, chain: list[Element], anchored: Anchored, shown: Look) -> None:
        kind = name(part)
        if kind in _BREAKS:
            line.add(_BREAKS[kind], shown if shown.struck else PLAIN)
        elif kind == "w:sym":
            line.add(symbol(_hexadecimal(attribute(part, "char")), attribute(part, "font")), shown)
        elif kind in ("w:footnoteReference", "w:endnoteReference"):
            note = self._notes.call(part)
            if note is not None:
                line.call(note)
        elif kind == "w:commentReference":
            comment = self.comment(attribute(part, "id"))
            if comment is not None:
                line.call(comment)
        elif kind == "w:ruby":
            for base in children(part, "w:rubyBase"):
                self._inside(base, line, chain, anchored)
        elif kind in _DRAWINGS:
            self._anchored(part, anchored)

    def _field_character(self, element: Element, line: Line) -> None:
        kind = attribute(element, "fldCharType")
        if kind == "begin":
            opened = _Field()
            self._fields.append(opened)
            value = _form_value(child(element, "w:ffData"))
            if value:
                line.add(value)
                opened.own_value = True
        elif kind == "separate" and self._fields:
            self._fields[-1].in_result = True
            self._fields[-1].begun = line, line.mark()
        elif kind == "end" and self._fields:
            ended = self._fields.pop()
            if ended.begun is not None and ended.begun[0] is line:
                self._links.end(line, ended.begun[1], field_reference(ended.code))

    def _anchored(self, element: Element, anchored: Anchored) -> None:
        """Note the text boxes, charts, diagrams and pictures below an element, the outermost of each."""
        for part in element:
            kind = name(part)
            if kind == "w:txbxContent":
                anchored.text_boxes.append(part)
            elif kind == "c:chart":
                anchored.charts.append(attribute(part, "r:id"))
            elif kind == "dgm:relIds":
                anchored.diagrams.append(attribute(part, "r:dm"))
            elif kind == "mc:AlternateContent":
                chosen = _chosen(part)
                if chosen is not None:
                    self._anchored(chosen, anchored)
            else:
                if kind in _DESCRIBING:
                    anchored.alternative = attribute(part, "descr") or attribute(part, "alt")
                elif kind in _PICTURES:
                    identifier = attribute(part, _PICTURES[kind])
                    anchored.pictures.append(AnchoredPicture(identifier, anchored.alternative))
                    anchored.alternative = ""
                self._anchored(part, anchored)


def _chosen(element: Element) -> Element | None:
    """Return the newer form of what is written in two; of a sign, the older one, which is the sign itself."""
    newer = child(element, "mc:Choice")
    older = child(element, "mc:Fallback")
    return older if newer is None or (older is not None and newer.get("Requires") in _SIGNS_ONLY) else newer


def _look(look: RunLook) -> Look:
    vertical = attribute(look.find("w:vertAlign"), "val")
    position = number(attribute(look.find("w:position"), "val"))
    return Look(
        raised=vertical == "superscript" or position >= _RAISED_HALF_POINTS,
        lowered=vertical == "subscript" or position <= -_RAISED_HALF_POINTS,
        struck=look.has("w:strike") or look.has("w:dstrike"),
    )


def _too_small(look: RunLook) -> bool:
    size = look.find("w:sz")
    return size is not None and 0 < number(attribute(size, "val"), 24) <= _UNSEEN_HALF_POINTS


def _form_value(data: Element | None) -> str:
    """Return what an old form field holds: a box's state, or the entry that was chosen from a list."""
    checkbox = child(data, "w:checkBox")
    if checkbox is not None:
        state = child(checkbox, "w:checked")
        state = child(checkbox, "w:default") if state is None else state
        return box(state is not None and is_on(attribute(state, "val", "1")))
    entries = child(data, "w:ddList")
    if entries is None:
        return ""
    texts = [attribute(entry, "val") for entry in children(entries, "w:listEntry")]
    result = child(entries, "w:result")
    chosen = number(attribute(child(entries, "w:default") if result is None else result, "val"))
    return texts[chosen] if 0 <= chosen < len(texts) else ""


def _hexadecimal(value: str) -> int:
    try:
        return int(value, 16)
    except ValueError:
        return 0
