"""What two figures differ by, where both are surely one figure of one unit."""

from __future__ import annotations

from sourcier.services.gateway.figures.quantities import Quantity, quantities_in
from sourcier.services.gateway.figures.showing import amount


def difference(first: str, second: str, *, language: str) -> str:
    """Return « 45 € − 40 € = 5 € » for two values; empty where one is none, or they do not compare."""
    one, other = _only(first, language), _only(second, language)
    if one is None or other is None or one.unit != other.unit:
        return ""
    if one.value == other.value:
        return ""
    more, less = (one, other) if one.value > other.value else (other, one)
    shown = [amount(value, more.unit, language=language) for value in (more.value, less.value, more.value - less.value)]
    return f"{shown[0]} − {shown[1]} = {shown[2]}"


def _only(text: str, language: str) -> Quantity | None:
    found = quantities_in(text, language=language)
    if len(found) != 1 or not found[0].exact or found[0].ambiguous or not found[0].unit.symbol:
        return None
    return found[0]
