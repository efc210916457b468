"""Word's styles: what a paragraph or a run inherits."""

from __future__ import annotations

from dataclasses import dataclass

from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, children
from sourcier.services.ingest.parsing.office.style_names import CAPTION_NAMES, HEADING_NAME, TITLE_NAMES

_CHAIN_MAX = 20
_OFF = frozenset({"0", "false", "off", "none"})
OUTLINE_BODY = 9
"""The outline level of body text."""


@dataclass(frozen=True, slots=True)
class ParagraphRole:
    """What a paragraph is: a heading's level from 1 (0: none), or a caption."""

    heading: int = 0
    caption: bool = False


class Styles:
    """The styles by their identifiers; asked along the chain of what each is based on."""

    def __init__(self, root: Element | None) -> None:
        self._styles = {attribute(style, "styleId"): style for style in children(root, "w:style")}
        self._default_paragraph = next(
            (
                key
                for key, style in self._styles.items()
                if attribute(style, "type") == "paragraph" and is_on(attribute(style, "default", "0"))
            ),
            "",
        )

    def chain(self, identifier: str) -> list[Element]:
        """Return a style and those that it is based on, nearest first."""
        found: list[Element] = []
        while identifier in self._styles and len(found) < _CHAIN_MAX:
            style = self._styles[identifier]
            found.append(style)
            identifier = attribute(child(style, "w:basedOn"), "val")
        return found

    def property_of(self, chain: list[Element], group: str, wanted: str) -> Element | None:
        """Return the nearest setting of a property (`w:pPr` or `w:rPr`) along a chain."""
        for style in chain:
            found = child(style, group, wanted)
            if found is not None:
                return found
        return None

    def paragraph_chain(self, properties: Element | None) -> list[Element]:
        """Return the styles that a paragraph stands under."""
        return self.chain(attribute(child(properties, "w:pStyle"), "val") or self._default_paragraph)

    def role(self, properties: Element | None) -> ParagraphRole:
        """Tell a heading or a caption by its style's name or its outline level."""
        direct = child(properties, "w:outlineLvl")
        if direct is not None:
            return ParagraphRole(heading=_outline(direct))
        for style in self.paragraph_chain(properties):
            own_name = attribute(child(style, "w:name"), "val").strip().lower()
            if own_name in TITLE_NAMES:
                return ParagraphRole(heading=1)
            if own_name in CAPTION_NAMES:
                return ParagraphRole(caption=True)
            level = child(style, "w:pPr", "w:outlineLvl")
            if level is not None:
                return ParagraphRole(heading=_outline(level))
            numbered = HEADING_NAME.fullmatch(own_name)
            if numbered:
                return ParagraphRole(heading=int(numbered.group(1)) + 1)
        return ParagraphRole()


class RunLook:
    """How a run is shown, from its own properties, its style and its paragraph's styles."""

    def __init__(self, styles: Styles, paragraph_chain: list[Element], properties: Element | None) -> None:
        self._styles = styles
        self._own = properties
        self._chain = [*styles.chain(attribute(child(properties, "w:rStyle"), "val")), *paragraph_chain]

    def find(self, wanted: str) -> Element | None:
        """Return the nearest setting of a property."""
        found = child(self._own, wanted)
        return found if found is not None else self._styles.property_of(self._chain, "w:rPr", wanted)

    def has(self, wanted: str) -> bool:
        """Tell whether a property that is on or off is on."""
        found = self.find(wanted)
        return found is not None and is_on(attribute(found, "val", "1"))


def is_on(value: str) -> bool:
    """Tell what a value of an on-off property means."""
    return value.lower() not in _OFF


def number(value: str, default: int = 0) -> int:
    """Return a whole number that a file names; the default where it is none."""
    try:
        return int(value)
    except ValueError:
        return default


def _outline(element: Element) -> int:
    level = number(attribute(element, "val"), OUTLINE_BODY)
    return level + 2 if 0 <= level < OUTLINE_BODY else 0
