"""The numbers that OpenDocument counts by itself, as they are shown: « Article 2 – », « 1.2 », « b) »."""

from __future__ import annotations

import re
from collections.abc import Callable

from sourcier.services.ingest.parsing.counts import spell
from sourcier.services.ingest.parsing.office.packages import Element, attribute, name, whole_number
from sourcier.services.ingest.parsing.opendocument.styles import Styles

BULLET = "-"
LEVELS_MAX = 10
_FORMS = {"1": "decimal", "a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_PLACEHOLDER = re.compile(r"%(\d{1,2})%")
_BULLETS = frozenset({"text:list-level-style-bullet", "text:list-level-style-image"})
_COUNT_MAX = 1_000_000

Counts = dict[int, int]


class Numbering:
    """Counts headings and the items of lists; each must be told once, in order."""

    def __init__(self, styles: Styles) -> None:
        self._styles = styles
        self._outline: Counts = {}
        self._by_style: dict[str, Counts] = {}
        self._by_identifier: dict[str, Counts] = {}

    def counts(self, listed: Element, style: str) -> Counts:
        """Return what an outermost list counts in: its own, or those of the list that it continues."""
        continued = attribute(listed, "text:continue-list")
        if continued in self._by_identifier:
            counts = self._by_identifier[continued]
        elif attribute(listed, "text:continue-numbering") == "true":
            counts = self._by_style.get(style, {})
        else:
            counts = {}
        self._by_style[style] = counts
        identifier = attribute(listed, "xml:id")
        if identifier:
            self._by_identifier[identifier] = counts
        return counts

    def item(self, counts: Counts, style: str, level: int, *, start: str = "") -> str:
        """Return the mark of the next item of a list; nothing where it has none."""
        own = self._styles.list_level(style, level)
        _step(counts, level, start or attribute(own, "text:start-value", "1"), anew=bool(start))
        if own is None or name(own) in _BULLETS:
            return BULLET
        return _label(own, counts, level, lambda deep: self._styles.list_level(style, deep))

    def heading(self, level: int) -> str:
        """Return the number of the next heading; nothing where headings of this level have none."""
        own = self._styles.outline_level(level)
        _step(self._outline, level, attribute(own, "text:start-value", "1"), anew=False)
        return _label(own, self._outline, level, self._styles.outline_level) if own is not None else ""


def _step(counts: Counts, level: int, start: str, *, anew: bool) -> None:
    first = whole_number(start, 1, most=_COUNT_MAX)
    counts[level] = first if anew or level not in counts else counts[level] + 1
    for above in range(1, level):
        # A deeper one that comes first begins the levels above it.
        counts.setdefault(above, 1)
    for deeper in [found for found in counts if found > level]:
        del counts[deeper]


def _label(own: Element, counts: Counts, level: int, of_level: Callable[[int], Element | None]) -> str:
    form = attribute(own, "style:num-format")
    if not form:
        return ""

    def shown(deep: int) -> str:
        found = own if deep == level else of_level(deep)
        return spell(counts.get(deep, 1), _FORMS.get(attribute(found, "style:num-format", "1"), "decimal"))

    template = attribute(own, "style:num-list-format") or attribute(own, "loext:num-list-format")
    if template:
        return _PLACEHOLDER.sub(lambda match: shown(min(int(match.group(1)), LEVELS_MAX)), template).strip()
    levels = min(whole_number(attribute(own, "text:display-levels", "1"), 1), level)
    numbers = ".".join(shown(deep) for deep in range(level - levels + 1, level + 1))
    return f"{attribute(own, 'style:num-prefix')}{numbers}{attribute(own, 'style:num-suffix')}".strip()
