"""Formulas of Office's own mathematics, on one line: `(a+b)/c`, `x²`, `√(2)`."""

from __future__ import annotations

from sourcier.services.ingest.parsing.office.packages import Element, attribute, child, name
from sourcier.services.ingest.parsing.office.raised import lowered
from sourcier.services.ingest.parsing.scripts import SUPERSCRIPTS

_RAISABLE = frozenset("0123456789+-−n")
_LOWERABLE = frozenset("0123456789+-−")


def formula_text(element: Element | None) -> str:
    """Return a formula as a line of text."""
    if element is None:
        return ""
    kind = name(element)
    if kind == "m:t":
        return element.text or ""
    build = _FORMS.get(kind)
    return build(element) if build else "".join(formula_text(part) for part in element)


def _part(element: Element, wanted: str) -> str:
    return formula_text(child(element, wanted))


def _grouped(text: str) -> str:
    return text if len(text) <= 1 or text.replace(",", "").replace(".", "").isalnum() else f"({text})"


def _power(text: str) -> str:
    return text.translate(SUPERSCRIPTS) if text and set(text) <= _RAISABLE else f"^{_grouped(text)}"


def _index(text: str) -> str:
    return lowered(text) if text and set(text) <= _LOWERABLE else f"_{_grouped(text)}"


def _root(element: Element) -> str:
    degree = _part(element, "m:deg")
    return f"{_power(degree) if degree else ''}√({_part(element, 'm:e')})"


def _delimited(element: Element) -> str:
    begin = attribute(child(element, "m:dPr", "m:begChr"), "val", "(")
    end = attribute(child(element, "m:dPr", "m:endChr"), "val", ")")
    return begin + ", ".join(formula_text(part) for part in element if name(part) == "m:e") + end


def _repeated(element: Element) -> str:
    sign = attribute(child(element, "m:naryPr", "m:chr"), "val", "∫")
    below, above = _part(element, "m:sub"), _part(element, "m:sup")
    bounds = (_index(below) if below else "") + (_power(above) if above else "")
    return f"{sign}{bounds} {_part(element, 'm:e')}"


_FORMS = {
    "m:f": lambda element: f"{_grouped(_part(element, 'm:num'))}/{_grouped(_part(element, 'm:den'))}",
    "m:sSup": lambda element: _part(element, "m:e") + _power(_part(element, "m:sup")),
    "m:sSub": lambda element: _part(element, "m:e") + _index(_part(element, "m:sub")),
    "m:sSubSup": lambda element: (
        _part(element, "m:e") + _index(_part(element, "m:sub")) + _power(_part(element, "m:sup"))
    ),
    "m:rad": _root,
    "m:d": _delimited,
    "m:nary": _repeated,
}
