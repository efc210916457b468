"""OpenDocument's styles: what a paragraph, a span, a cell or a page inherits, and the styles of lists."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from sourcier.services.ingest.parsing.office.lines import PLAIN, Look
from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, name, whole_number
from sourcier.services.ingest.parsing.office.style_names import CAPTION_NAMES, HEADING_NAME, TITLE_NAMES

_CHAIN_MAX = 20
_ENCODED = re.compile(r"_([0-9a-f]{2})_")
_SMALLEST_POINTS = 2.0
"""Letters of two points and less are not read by people."""
_POINTS = re.compile(r"([0-9.]{1,8})pt")
_SHARE = re.compile(r"(-?)[0-9.]{1,8}%")


@dataclass(frozen=True, slots=True)
class TextLook:
    """How a span is shown, as far as it changes what the text says."""

    look: Look = PLAIN
    font: str = ""
    hidden: bool = False


@dataclass(frozen=True, slots=True)
class Role:
    """What a paragraph is by its style: a heading's level from 1 (0: none), or a caption; and its own list."""

    heading: int = 0
    caption: bool = False
    list_style: str = ""


class Styles:
    """The styles of a part by family and name; the later roots' hold before the earlier ones'."""

    def __init__(self, *groups: Element | None) -> None:
        self._styles: dict[tuple[str, str], Element] = {}
        self._lists: dict[str, Element] = {}
        self.outline: Element | None = None
        """How headings are numbered."""
        for element in (entry for group in groups if group is not None for entry in group):
            kind = name(element)
            if kind == "style:style":
                self._styles[attribute(element, "style:family"), attribute(element, "style:name")] = element
            elif kind == "text:list-style":
                self._lists[attribute(element, "style:name")] = element
            elif kind == "text:outline-style":
                self.outline = element

    def chain(self, family: str, identifier: str) -> Iterator[Element]:
        """Yield a style and those that it is based on, nearest first."""
        for _ in range(_CHAIN_MAX):
            style = self._styles.get((family, identifier))
            if style is None:
                return
            yield style
            identifier = attribute(style, "style:parent-style-name")

    def property(self, family: str, identifier: str, group: str, wanted: str) -> str:
        """Return the nearest setting of a property along the chain of a style, or nothing."""
        for style in self.chain(family, identifier):
            value = attribute(child(style, f"style:{group}-properties"), wanted)
            if value:
                return value
        return ""

    def list_level(self, identifier: str, level: int) -> Element | None:
        """Return how a level of a list, from 1, is marked."""
        return _level(self._lists.get(identifier), level)

    def outline_level(self, level: int) -> Element | None:
        """Return how headings of a level, from 1, are numbered."""
        return _level(self.outline, level)

    def role(self, identifier: str) -> Role:
        """Tell a title, a heading or a caption by the names of its styles or the level that these give."""
        list_style = ""
        for style in self.chain("paragraph", identifier):
            list_style = list_style or attribute(style, "style:list-style-name")
            level = attribute(style, "style:default-outline-level")
            if level:
                return Role(heading=whole_number(level, most=9) + 1, list_style=list_style)
            for own in (attribute(style, "style:display-name"), attribute(style, "style:name")):
                plain = _decoded(own).strip().lower()
                numbered = HEADING_NAME.fullmatch(plain)
                if plain in TITLE_NAMES:
                    return Role(heading=1, list_style=list_style)
                if plain in CAPTION_NAMES:
                    return Role(caption=True, list_style=list_style)
                if numbered:
                    return Role(heading=int(numbered.group(1)) + 1, list_style=list_style)
        return Role(list_style=list_style)

    def look(self, family: str, identifier: str, before: TextLook) -> TextLook:
        """Return how text of a style is shown inside text that is shown as `before`."""
        for style in reversed(list(self.chain(family, identifier))):
            properties = child(style, "style:text-properties")
            if properties is not None:
                before = _changed(before, properties)
        return before


def _level(listed: Element | None, level: int) -> Element | None:
    return next(
        (entry for entry in (listed if listed is not None else ()) if attribute(entry, "text:level") == str(level)),
        None,
    )


def _changed(before: TextLook, properties: Element) -> TextLook:
    look = before.look
    position = attribute(properties, "style:text-position").split(" ")[0]
    if position:
        share = _SHARE.fullmatch(position)
        raised = position == "super" or (share is not None and not share.group(1) and position.strip("0%") != "")
        lowered = position == "sub" or (share is not None and bool(share.group(1)))
        look = replace(look, raised=raised, lowered=lowered)
    for wanted in ("style:text-line-through-style", "style:text-line-through-type"):
        struck = attribute(properties, wanted)
        if struck:
            look = replace(look, struck=struck != "none")
    shown = attribute(properties, "text:display")
    size = _POINTS.fullmatch(attribute(properties, "fo:font-size"))
    return TextLook(
        look,
        attribute(properties, "style:font-name") or attribute(properties, "fo:font-family") or before.font,
        (shown in ("none", "true") if shown else before.hidden) or (size is not None and _is_tiny(size.group(1))),
    )


def _is_tiny(points: str) -> bool:
    try:
        return float(points) <= _SMALLEST_POINTS
    except ValueError:
        return False


def _decoded(identifier: str) -> str:
    """Return a style's name as people see it: `Heading_20_1` is `Heading 1`."""
    return _ENCODED.sub(lambda found: chr(int(found.group(1), 16)), identifier)
