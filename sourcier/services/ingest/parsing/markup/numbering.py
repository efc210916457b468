"""The numbers and signs before the items of a list, as a browser shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import lxml.html  # type: ignore[import-untyped]

from sourcier.services.ingest.parsing.counts import spell

_NUMBER_MAX = 999_999


@dataclass(slots=True)
class NumberedList:
    """An open list and the number of its next item."""

    is_ordered: bool
    style: str
    number: int
    step: int

    @classmethod
    def of(cls, element: lxml.html.HtmlElement) -> Self:
        """Return the list that an element begins."""
        backwards = element.get("reversed") is not None
        first = sum(1 for child in element if child.tag == "li") if backwards else 1
        return cls(
            element.tag == "ol", element.get("type", "1"), _number(element.get("start"), first), -1 if backwards else 1
        )

    def next_marker(self, item: lxml.html.HtmlElement) -> str:
        """Return what stands before the next item."""
        if not self.is_ordered:
            return "-"
        number = _number(item.get("value"), self.number)
        self.number = number + self.step
        if self.style in ("a", "A") and 1 <= number <= 26:
            return f"{chr(ord(self.style) + number - 1)}."
        if self.style in ("i", "I") and 1 <= number <= 3999:
            return f"{spell(number, 'lowerRoman' if self.style == 'i' else 'upperRoman')}."
        return f"{number}."


def _number(value: str | None, default: int) -> int:
    try:
        return max(min(int(value or default), _NUMBER_MAX), -_NUMBER_MAX) if len(value or "") < 12 else default
    except ValueError:
        return default
