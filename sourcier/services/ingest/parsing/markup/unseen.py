"""What a page holds and nobody sees: scripts, hidden elements, text in the background's colour or of no size.

Recall comes first: what a click shows (tabs, folded answers), what appears by itself, and a page of which nothing would
be left stay.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

import lxml.html  # type: ignore[import-untyped]
from tinycss2.color3 import RGBA, parse_color

from sourcier.services.ingest.parsing.markup.stylesheets import Properties, StyleSheets, inherited

STRUCK, RAISED = "data-reading-struck", "data-reading-raised"
LOWERED, BLOCK = "data-reading-lowered", "data-reading-block"
"""Attributes that this module leaves for what a style sheet makes of an element."""
_NO_TEXT = ("script", "style", "noscript", "template", "iframe", "object", "svg", "head", "datalist", "audio", "video",
            "canvas", "map")
_LENGTH = re.compile(r"(-?[\d.]{1,12})\s*(px|pt|em|rem|%|vw|vh)?")
_NO_AREA = re.compile(r"inset\((?:50|100)%|circle\(0|polygon\(0(?:px)? 0(?:px)?\)")
_INLINE = frozenset([
    "a", "abbr", "b", "bdi", "bdo", "cite", "code", "em", "font", "i", "label", "mark", "q", "small", "span",
    "strong", "time", "u",
])
_BLOCK_DISPLAYS = frozenset(["block", "flex", "grid", "table", "list-item", "flow-root", "table-row"])
_ICON_FONT = re.compile(r"material-(?:icons|symbols)(?:-[a-z]{1,20})?")
_FAR_OUTSIDE = -400.0
_TINY_PIXELS = 2.0
_SAME_COLOUR = 0.03


@dataclass(frozen=True, slots=True)
class _State:
    """What an element hands down to those within."""

    visible: bool = True
    tiny: bool = False
    colour: RGBA | None = None
    background: RGBA | None = RGBA(1, 1, 1, 1)  # noqa: RUF009 - a tuple of numbers
    """None: nobody knows, a picture or a style sheet that is not at hand."""


def remove_unseen(root: lxml.html.HtmlElement) -> int:
    """Take away what nobody sees, mark what is struck out, raised or lowered; return how many texts were hidden."""
    _drop_icons(root)
    sheets = StyleSheets(root)
    styles = list(sheets.of_all(root))
    foreign = any("stylesheet" in (link.get("rel") or "").lower() for link in root.iter("link"))
    for element in list(root.iter(*_NO_TEXT)):
        if element.getparent() is not None:
            element.drop_tree()
    return _Hiding(root, styles, background=None if foreign else RGBA(1, 1, 1, 1)).run()


def _drop_icons(root: lxml.html.HtmlElement) -> None:
    """Take away the names of drawings that a font shows as the drawings: they are no words."""
    for element in list(root.iter("i", "span")):
        names = (element.get("class") or "").lower().split()
        if not len(element) and any(_ICON_FONT.fullmatch(name) for name in names) and _own_text(element).strip():
            element.drop_tree()


class _Hiding:
    def __init__(
        self, root: lxml.html.HtmlElement, styles: list[tuple[lxml.html.HtmlElement, Properties]], *,
        background: RGBA | None,
    ) -> None:
        self._root = root
        self._styles = styles
        self._reachable = _shown_by_a_click(root)
        self._states: dict[lxml.html.HtmlElement, _State] = {}
        self._first = _State(background=background)
        self._gone: set[lxml.html.HtmlElement] = set()

    def run(self) -> int:
        trees, texts = [], []
        for element, properties in self._styles:
            parent = element.getparent()
            if parent in self._gone:
                self._gone.add(element)
                continue
            state = _state(element, properties, self._states.get(parent, self._first))
            self._states[element] = state
            _mark(element, properties)
            if element.tag not in ("html", "body") and self._is_hidden(element, properties):
                trees.append(element)
                self._gone.add(element)
            elif not _is_legible(state):
                texts.append(element)
        return self._remove(trees, texts)

    def _is_hidden(self, element: lxml.html.HtmlElement, properties: Properties) -> bool:
        if element.get("id") in self._reachable or element.get("role") == "tabpanel":
            return False
        hidden = element.get("hidden")
        if (hidden is not None and hidden.lower() != "until-found") or (
            element.tag == "dialog" and element.get("open") is None
        ):
            return properties.get("display", "none") == "none"
        return hides(properties)

    def _remove(self, trees: list[lxml.html.HtmlElement], texts: list[lxml.html.HtmlElement]) -> int:
        seen_before = self._root.text_content().strip()
        hidden = [tree for tree in trees if tree.text_content().strip()]
        own = [element for element in texts if _own_text(element).strip()]
        if not (hidden or own):
            return self._drop(trees, [])
        left = len(re.sub(r"\s+", "", seen_before)) - sum(
            len(re.sub(r"\s+", "", text)) for text in (*(t.text_content() for t in hidden), *map(_own_text, own))
        )
        # A page that hides all of itself is shown by its scripts.
        return self._drop(trees, own) if left > 0 else 0

    def _drop(self, trees: list[lxml.html.HtmlElement], own: list[lxml.html.HtmlElement]) -> int:
        count = 0
        for tree in trees:
            if tree.getparent() is not None:
                count += bool(tree.text_content().strip())
                tree.drop_tree()
        for element in own:
            element.text = None
            for child in element:
                child.tail = None
        return count + len(own)


def hides(properties: Properties) -> bool:
    """Tell whether properties hide an element with all that is in it."""
    if not properties:
        return False
    if properties.get("display") == "none" or properties.get("content-visibility") == "hidden":
        return True
    appears = any(name in properties for name in ("animation", "animation-name", "transition"))
    if _length(properties.get("opacity", "")) == 0 and not appears:
        return True
    if re.search(r"scale(?:3d)?\(\s*0\s*[,)]", properties.get("transform", "")) and not appears:
        return True
    return _is_outside(properties) or _is_clipped(properties)


def _is_outside(properties: Properties) -> bool:
    if properties.get("position") in ("absolute", "fixed"):
        places = (_length(properties.get(side, "")) for side in ("left", "top", "right", "bottom"))
        if any(place is not None and place <= _FAR_OUTSIDE for place in places):
            return True
    moved = (_length(properties.get(name, "")) for name in ("text-indent", "margin-left"))
    return any(place is not None and place <= _FAR_OUTSIDE for place in moved)


def _is_clipped(properties: Properties) -> bool:
    clip = properties.get("clip", "").replace("px", "").replace(",", " ")
    if properties.get("position") in ("absolute", "fixed") and re.fullmatch(
        r"rect\(\s*(?:0|1)\s+(?:0|1)\s+(?:0|1)\s+(?:0|1)\s*\)", clip
    ):
        return True
    if _NO_AREA.match(properties.get("clip-path", "")):
        return True
    if properties.get("overflow", "") not in ("hidden", "clip"):
        return False
    sizes = (_length(properties.get(name, "")) for name in ("width", "height", "max-height", "max-width"))
    # What folds open by itself or by a click has a transition.
    return any(size is not None and size <= 1 for size in sizes) and "transition" not in properties


def _state(element: lxml.html.HtmlElement, properties: Properties, parent: _State) -> _State:
    if not properties:
        return parent
    visibility = inherited(properties, "visibility")
    if visibility:
        hidden = visibility in ("hidden", "collapse") and not (
            "animation" in properties or "transition" in properties or element.tag in ("html", "body")
        )
        parent = replace(parent, visible=not hidden)
    size = _font_size(properties)
    if size is not None:
        parent = replace(parent, tiny=size <= _TINY_PIXELS)
    colour = inherited(properties, "-webkit-text-fill-color", "color")
    if colour:
        parent = replace(parent, colour=_colour(colour))
    return replace(parent, background=_background(properties, parent.background))


def _background(properties: Properties, parent: RGBA | None) -> RGBA | None:
    said = [properties[name] for name in ("background", "background-color", "background-image") if name in properties]
    if not said:
        return parent
    unknown = any("url(" in value or "gradient" in value or "var(" in value for value in said)
    if unknown or "background-image" in properties:
        return None
    if "text" in properties.get("background-clip", properties.get("-webkit-background-clip", "")):
        return None
    for value in reversed(said):
        colour = _colour(value)
        if colour is not None:
            return parent if colour.alpha < 0.05 else colour
    return parent if all(value in ("none", "transparent", "inherit", "initial") for value in said) else None


def _is_legible(state: _State) -> bool:
    if not state.visible or state.tiny:
        return False
    if state.colour is None or state.background is None:
        return True
    if state.colour.alpha < 0.05:
        return False
    pairs = zip(state.colour[:3], state.background[:3], strict=True)
    return any(abs(one - other) > _SAME_COLOUR for one, other in pairs)


def _colour(value: str) -> RGBA | None:
    parsed = parse_color(value)
    return parsed if isinstance(parsed, RGBA) else None


def _font_size(properties: Properties) -> float | None:
    value = properties.get("font-size", "")
    if not value and "font" in properties:
        found = re.search(r"(?:^|\s)([\d.]{1,8}(?:px|pt|em|rem|%))(?:/|\s)", properties["font"])
        value = found.group(1) if found else ""
    size = _LENGTH.fullmatch(value)
    if not size:
        return 16.0 if value else None
    number = _number(size.group(1))
    unit = size.group(2) or ("px" if number == 0 else "")
    return number * {"px": 1.0, "pt": 4 / 3, "em": 16.0, "rem": 16.0, "%": 0.16}.get(unit, 16.0)


def _length(value: str) -> float | None:
    """Return a length in pixels, roughly; None where there is none."""
    found = _LENGTH.fullmatch(value.strip())
    if not found:
        return None
    scale = {"em": 16.0, "rem": 16.0, "%": 10.0, "vw": 12.8, "vh": 8.0}.get(found.group(2) or "", 1.0)
    return _number(found.group(1)) * scale


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:  # two points, no digit
        return 1.0


def _mark(element: lxml.html.HtmlElement, properties: Properties) -> None:
    if "line-through" in inherited(properties, "text-decoration-line", "text-decoration"):
        element.set(STRUCK, "")
    if properties.get("vertical-align") in ("super", "text-top") and element.tag in _INLINE:
        element.set(RAISED, "")
    if properties.get("vertical-align") == "sub" and element.tag in _INLINE:
        element.set(LOWERED, "")
    if properties.get("display") in _BLOCK_DISPLAYS and element.tag in _INLINE:
        element.set(BLOCK, "")


def _own_text(element: lxml.html.HtmlElement) -> str:
    return (element.text or "") + "".join(child.tail or "" for child in element)


def _shown_by_a_click(root: lxml.html.HtmlElement) -> frozenset[str]:
    """Return the ids that a control of the page shows: tabs, folded answers."""
    ids: set[str] = set()
    for element in root.iter("button", "a", "summary", "div", "span", "li", "h2", "h3", "h4", "h5"):
        for name in ("aria-controls", "data-target", "data-bs-target"):
            ids.update(reference.lstrip("#") for reference in element.get(name, "").split())
        if element.get("role") == "tab" or element.get("data-toggle") or element.get("data-bs-toggle"):
            ids.add(element.get("href", "").lstrip("#"))
    return frozenset(ids - {""})
