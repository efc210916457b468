"""The figures of a text: what a passage must hold to be the source of a sentence that has them."""

from __future__ import annotations

import re

_FIGURE = re.compile(r"\d+(?:[.,\u00a0\u202f ]\d{3})*(?:[.,]\d+)?")


def figures(text: str) -> frozenset[str]:
    """Return the numbers of a text in one form: `1 200,50`, `1.200,50` and `1200.5` are the same.

    A lone separator before three digits groups thousands: in French and English texts it rarely is a decimal sign.
    """
    return frozenset(_normal(match.group()) for match in _FIGURE.finditer(text))


def _normal(figure: str) -> str:
    compact = re.sub(r"[\u00a0\u202f ]", "", figure)
    whole, separator, decimals = compact.rpartition(",") if "," in compact else compact.rpartition(".")
    if not separator:
        return compact.lstrip("0") or "0"
    if len(decimals) == 3:
        whole, decimals = whole + decimals, ""
    whole = re.sub(r"[.,]", "", whole).lstrip("0") or "0"
    decimals = decimals.rstrip("0")
    return f"{whole}.{decimals}" if decimals else whole
