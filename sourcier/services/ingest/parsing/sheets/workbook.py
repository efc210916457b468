"""What the sheets of a workbook share: names, hidden states, texts, formats and the language of its numbers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sourcier.services.ingest.parsing.office.lines import PLAIN, Line, Look
from sourcier.services.ingest.parsing.office.packages import (
    Element,
    Package,
    attribute,
    child,
    children,
    descendants,
    name,
)
from sourcier.services.ingest.parsing.sheets.number_formats import BUILT_IN, GENERAL

_MAIN = "xl/workbook.xml"
_FRENCH_WORDS = re.compile(r"\b(?:le|la|les|des|du|et|pour|une|au|aux|par|sur|dans|avec|montant|taux)\b", re.I)
_ENGLISH_WORDS = re.compile(r"\b(?:the|of|and|for|to|with|by|from|amount|rate|name|year|total number)\b", re.I)
_SAMPLE_CHARACTERS = 50_000
_ON = frozenset({"1", "true", "on"})


@dataclass(frozen=True, slots=True)
class CellFormat:
    """How cells of one style are shown."""

    code: str = GENERAL
    struck: bool = False
    boxed: bool = False
    """A truth value is a box to tick."""


@dataclass(frozen=True, slots=True)
class SheetEntry:
    """A sheet: its name, its part of the archive, and whether people see it."""

    name: str
    part: str
    hidden: bool


class Workbook:
    """The parts that all sheets need."""

    def __init__(self, package: Package) -> None:
        main = package.main_part(_MAIN)
        root = package.xml(main)
        self._named = package.relationships(main)
        self.found = root is not None
        self.date_1904 = attribute(child(root, "x:workbookPr"), "date1904") in _ON
        self.sheets = [
            SheetEntry(
                attribute(sheet, "name"),
                self._named[attribute(sheet, "r:id")].target,
                attribute(sheet, "state", "visible") != "visible",
            )
            for sheet in children(child(root, "x:sheets"), "x:sheet")
            if attribute(sheet, "r:id") in self._named
        ]
        self.texts = [rich_text(entry) for entry in children(self._part(package, "sharedStrings"), "x:si")]
        self.formats = _formats(self._part(package, "styles"))
        self.people = next((found.target for found in self._named.values() if found.kind == "person"), "")
        """The part with those who write threads of comments."""
        self.french = _is_french(self.texts)

    def format(self, style: str) -> CellFormat:
        """Return the format of a cell's style."""
        index = int(style) if style.isdigit() and len(style) < 7 else 0
        return self.formats[index] if index < len(self.formats) else CellFormat()

    def _part(self, package: Package, kind: str) -> Element | None:
        target = next((found.target for found in self._named.values() if found.kind == kind and not found.external), "")
        return package.xml(target) if target else None


def rich_text(element: Element) -> str:
    """Return a cell's text, raised figures apart and struck words marked."""
    line = Line()
    for part in element:
        if name(part) == "x:t":
            line.add(part.text or "")
        elif name(part) == "x:r":
            properties = child(part, "x:rPr")
            line.add("".join(text.text or "" for text in children(part, "x:t")), _look(properties))
    return line.text()


def _look(properties: Element | None) -> Look:
    if properties is None:
        return PLAIN
    vertical = attribute(child(properties, "x:vertAlign"), "val")
    return Look(vertical == "superscript", vertical == "subscript", _is_struck(properties))


def _is_struck(font: Element | None) -> bool:
    mark = child(font, "x:strike")
    return mark is not None and attribute(mark, "val", "1") in _ON


def _formats(styles: Element | None) -> list[CellFormat]:
    codes = dict(BUILT_IN)
    for own in children(child(styles, "x:numFmts"), "x:numFmt"):
        identifier = attribute(own, "numFmtId")
        if identifier.isdigit():
            codes[int(identifier)] = attribute(own, "formatCode")
    fonts = [_is_struck(font) for font in children(child(styles, "x:fonts"), "x:font")]
    found = []
    for entry in children(child(styles, "x:cellXfs"), "x:xf"):
        number, font = attribute(entry, "numFmtId", "0"), attribute(entry, "fontId", "0")
        code = codes.get(int(number), GENERAL) if number.isdigit() else GENERAL
        struck = font.isdigit() and int(font) < len(fonts) and fonts[int(font)]
        boxed = next(descendants(entry, "xfComplement"), None) is not None
        found.append(CellFormat(code, struck, boxed))
    return found


def _is_french(texts: list[str]) -> bool:
    """Tell how numbers are to be written: in French unless the words are plainly English."""
    sample = " ".join(texts)[:_SAMPLE_CHARACTERS]
    english = len(_ENGLISH_WORDS.findall(sample))
    return english < 3 or english <= 2 * len(_FRENCH_WORDS.findall(sample))
