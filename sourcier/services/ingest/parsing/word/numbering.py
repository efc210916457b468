"""The numbers that Word counts by itself, as it shows them: « Article 2 – », « 1.2 », « b) »."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sourcier.services.ingest.parsing.counts import spell
from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, children
from sourcier.services.ingest.parsing.word.styles import Styles, is_on, number

_PLACEHOLDER = re.compile(r"%([1-9])")
_LEVELS_MAX = 9
BULLET = "-"


@dataclass(slots=True)
class _Level:
    start: int = 1
    form: str = "decimal"
    text: str = ""
    style: str = ""
    legal: bool = False
    restart: int = -1
    """The level (from 1) whose step begins this one anew; 0: none; -1: any above."""


@dataclass(slots=True)
class _List:
    """A list that is counted: its levels, and how far each has come."""

    levels: dict[int, _Level]
    counts: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Label:
    """A paragraph's number or bullet, and how deep it stands, from 1."""

    text: str
    level: int


class Numbering:
    """Counts the paragraphs of all lists; each paragraph must be told once, in order."""

    def __init__(self, root: Element | None, styles: Styles) -> None:
        self._styles = styles
        self._abstract = {attribute(entry, "abstractNumId"): entry for entry in children(root, "w:abstractNum")}
        self._numbers = {attribute(entry, "numId"): entry for entry in children(root, "w:num")}
        self._lists: dict[str, _List] = {}
        self._begun: set[tuple[str, int]] = set()

    def label(self, properties: Element | None, chain: list[Element]) -> Label | None:
        """Return the number or bullet of the next paragraph; None where it has none."""
        identifier, level = self._place(properties, chain)
        entry = self._numbers.get(identifier)
        if entry is None:
            return None
        counted = self._counted(entry)
        own = self._overridden(entry, level) or counted.levels.get(level)
        if own is None:
            return None
        self._step(entry, counted, level, own)
        text = BULLET if own.form == "bullet" else _label_text(own, counted)
        return Label(text, level + 1) if text else None

    def _place(self, properties: Element | None, chain: list[Element]) -> tuple[str, int]:
        """Return the list and the level that a paragraph or its style names."""
        own = child(properties, "w:numPr")
        if own is not None and child(own, "w:numId") is not None:
            return attribute(child(own, "w:numId"), "val"), _level_number(child(own, "w:ilvl"))
        for style in chain:
            named = child(style, "w:pPr", "w:numPr")
            if named is None:
                continue
            identifier = attribute(child(named, "w:numId"), "val")
            if not identifier:
                continue
            level = child(own, "w:ilvl") if own is not None else child(named, "w:ilvl")
            return identifier, self._level_of_style(identifier, attribute(style, "styleId"), _level_number(level))
        return "", 0

    def _level_of_style(self, identifier: str, style: str, default: int) -> int:
        entry = self._numbers.get(identifier)
        if entry is None:
            return default
        levels = self._counted(entry).levels
        return next((level for level, found in levels.items() if found.style == style), default)

    def _counted(self, entry: Element) -> _List:
        """Return the list that a number refers to: those of one abstract list are counted together."""
        identifier = attribute(child(entry, "w:abstractNumId"), "val")
        if identifier not in self._lists:
            definition = self._definition(identifier)
            levels = {number(attribute(found, "ilvl")): _level(found) for found in children(definition, "w:lvl")}
            self._lists[identifier] = _List(levels)
        return self._lists[identifier]

    def _definition(self, identifier: str) -> Element | None:
        definition = self._abstract.get(identifier)
        linked = attribute(child(definition, "w:numStyleLink"), "val")
        if linked:
            chain = self._styles.chain(linked)
            named = self._styles.property_of(chain, "w:pPr", "w:numPr")
            entry = self._numbers.get(attribute(child(named, "w:numId"), "val"))
            definition = self._abstract.get(attribute(child(entry, "w:abstractNumId"), "val"), definition)
        return definition

    def _overridden(self, entry: Element, level: int) -> _Level | None:
        for override in children(entry, "w:lvlOverride"):
            own = child(override, "w:lvl")
            if own is not None and _level_number(override) == level:
                return _level(own)
        return None

    def _step(self, entry: Element, counted: _List, level: int, own: _Level) -> None:
        begun = (attribute(entry, "numId"), level)
        anew = self._start_override(entry, level) if begun not in self._begun else None
        self._begun.add(begun)
        if anew is not None:
            counted.counts[level] = anew
        else:
            counted.counts[level] = counted.counts.get(level, own.start - 1) + 1
        for above in range(level):
            # A deeper paragraph that comes first begins the levels above it.
            counted.counts.setdefault(above, counted.levels.get(above, _Level()).start)
        for deeper in [found for found in counted.counts if found > level]:
            restart = counted.levels.get(deeper, _Level()).restart
            if restart < 0 or level < restart:
                del counted.counts[deeper]

    @staticmethod
    def _start_override(entry: Element, level: int) -> int | None:
        for override in children(entry, "w:lvlOverride"):
            start = child(override, "w:startOverride")
            if start is not None and _level_number(override) == level:
                return number(attribute(start, "val"), 1)
        return None


def _level(element: Element) -> _Level:
    restart = child(element, "w:lvlRestart")
    legal = child(element, "w:isLgl")
    return _Level(
        start=number(attribute(child(element, "w:start"), "val"), 1),
        form=attribute(child(element, "w:numFmt"), "val", "decimal"),
        text=attribute(child(element, "w:lvlText"), "val"),
        style=attribute(child(element, "w:pStyle"), "val"),
        legal=legal is not None and is_on(attribute(legal, "val", "1")),
        restart=number(attribute(restart, "val"), -1) if restart is not None else -1,
    )


def _level_number(element: Element | None) -> int:
    value = attribute(element, "val") or attribute(element, "ilvl")
    return min(max(number(value), 0), _LEVELS_MAX - 1)


def _label_text(level: _Level, counted: _List) -> str:
    def shown(match: re.Match[str]) -> str:
        index = int(match.group(1)) - 1
        form = counted.levels.get(index, _Level()).form if counted.levels.get(index) is not level else level.form
        if level.legal:
            form = "decimal"
        return spell(counted.counts.get(index, 1), form)

    return _PLACEHOLDER.sub(shown, level.text).strip()
