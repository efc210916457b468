"""What a page's own style sheets and style attributes say of its elements. Nothing is fetched.

The cascade is followed (specificity, order, `!important`), because a rule that hides is often overruled by a later one,
and text that a reader sees must not be lost.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import cssselect2
import lxml.html  # type: ignore[import-untyped]
import tinycss2
from tinycss2.ast import AtRule, Declaration, QualifiedRule

STYLE_CHARACTERS_MAX = 2_000_000
"""Of all style sheets of a page; what is beyond is not looked at."""
COMPARISONS_MAX = 20_000_000
"""Elements times rules: a page over it is read without its style sheets' rules."""
_SCREEN_PIXELS = 1280
_NESTED_RULES_MAX = 8
_TELLING = frozenset(
    [
        "display", "visibility", "opacity", "font-size", "position", "left", "top", "right", "bottom", "text-indent",
        "clip", "clip-path", "width", "height", "max-height", "max-width", "overflow", "color", "background",
        "background-color", "background-image", "background-clip", "-webkit-background-clip",
        "-webkit-text-fill-color", "text-decoration", "text-decoration-line", "vertical-align", "animation",
        "animation-name", "transition", "content-visibility", "transform", "font", "margin-left",
    ]
)
_WIDTH = re.compile(r"\(\s*(min|max)-width\s*:\s*([\d.]{1,12})(px|em|rem)\s*\)")

Properties = dict[str, str]
_Found = tuple[bool, tuple[int, ...], int, str, str]
"""Whether it is important, specificity, order, name, value: compared in this order."""


class StyleSheets:
    """The rules of a page that may hide, strike or raise text."""

    def __init__(self, root: lxml.html.HtmlElement) -> None:
        """Read the page's style elements."""
        self._matcher = cssselect2.Matcher()
        self._rules = 0
        self._room = STYLE_CHARACTERS_MAX
        for style in root.iter("style"):
            text = "".join(style.itertext())[: self._room]
            self._room -= len(text)
            if text and _applies(style.get("media", "")):
                self._add(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True), depth=0)

    def of_all(self, root: lxml.html.HtmlElement) -> Iterator[tuple[lxml.html.HtmlElement, Properties]]:
        """Yield every element in document order with the properties that it has of its own."""
        elements = [element for element in root.iter() if isinstance(element.tag, str)]
        if not self._rules or self._rules * len(elements) > COMPARISONS_MAX:
            for element in elements:
                yield element, _resolve(_attributes(element))
            return
        for wrapper in cssselect2.ElementWrapper.from_html_root(root).iter_subtree():
            element = wrapper.etree_element
            found = [*self._matched(wrapper), *_attributes(element)]
            yield element, _resolve(found) if found else {}

    def _add(self, rules: Iterable[Any], *, depth: int) -> None:
        for rule in rules:
            if isinstance(rule, QualifiedRule):
                self._add_rule(rule)
            elif isinstance(rule, AtRule) and rule.content is not None and depth < _NESTED_RULES_MAX:
                prelude = tinycss2.serialize(rule.prelude)
                if rule.lower_at_keyword in ("layer", "supports") or (
                    rule.lower_at_keyword == "media" and _applies(prelude)
                ):
                    nested = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
                    self._add(nested, depth=depth + 1)

    def _add_rule(self, rule: QualifiedRule) -> None:
        declarations = [
            (declaration.important, declaration.lower_name, _value(declaration))
            for declaration in _declarations(rule.content)
        ]
        if not declarations:
            return
        for prelude in _selectors(rule.prelude):
            try:
                selectors = cssselect2.compile_selector_list(prelude)
            except cssselect2.SelectorError:
                continue  # one that browsers know and the library does not hides nothing
            for selector in selectors:
                if selector.pseudo_element is None:
                    self._matcher.add_selector(selector, declarations)
                    self._rules += 1

    def _matched(self, wrapper: Any) -> Iterator[_Found]:
        for specificity, order, _, declarations in self._matcher.match(wrapper):
            for important, name, value in declarations:
                yield important, tuple(specificity), order, name, value


def _attributes(element: lxml.html.HtmlElement) -> Iterator[_Found]:
    """Yield what an element's own attributes say; style attributes outrank rules, presentational ones do not."""
    for attribute, name in (("bgcolor", "background-color"), ("background", "background-image")):
        if element.get(attribute):
            yield False, (), 0, name, element.get(attribute).lower()
    if element.tag == "font" and element.get("color"):
        yield False, (), 0, "color", element.get("color").lower()
    style = element.get("style")
    if style:
        for declaration in _declarations(style[:10_000]):
            yield declaration.important, (10,), 0, declaration.lower_name, _value(declaration)


def _resolve(found: Iterable[_Found]) -> Properties:
    return {name: value for _, _, _, name, value in sorted(found, key=lambda one: one[:3])}


def _declarations(content: Any) -> Iterator[Declaration]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        parsed = tinycss2.parse_blocks_contents(content, skip_comments=True, skip_whitespace=True)
    for declaration in parsed:
        if isinstance(declaration, Declaration) and declaration.lower_name in _TELLING:
            yield declaration


def _value(declaration: Declaration) -> str:
    return str(tinycss2.serialize(declaration.value)).strip().lower()


def _selectors(prelude: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the parts of a selector list: one that is not understood must not take the others with it."""
    part: list[Any] = []
    for token in prelude:
        if token.type == "literal" and token.value == ",":
            yield part
            part = []
        else:
            part.append(token)
    yield part


def _applies(media: str) -> bool:
    """Tell whether a media query holds on a usual screen; what is not understood does not apply, so hides nothing."""
    media = media.lower().strip()
    return not media or any(_query_applies(query.strip()) for query in media.split(","))


def _query_applies(query: str) -> bool:
    for condition in filter(None, re.split(r"\band\b", query)):
        condition = condition.strip()
        width = _WIDTH.fullmatch(condition)
        if width:
            pixels = float(width.group(2)) * (1 if width.group(3) == "px" else 16)
            if (pixels > _SCREEN_PIXELS) if width.group(1) == "min" else (pixels < _SCREEN_PIXELS):
                return False
        elif condition not in ("all", "screen", "only screen", "only all"):
            return False
    return True


def inherited(properties: Mapping[str, str], *names: str) -> str:
    """Return the first of some properties that is there and says something of its own."""
    return next((properties[name] for name in names if properties.get(name) not in (None, "inherit", "unset")), "")
