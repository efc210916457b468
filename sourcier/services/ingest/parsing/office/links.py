"""Where the links of Office documents lead, as far as their text does not say it."""

from __future__ import annotations

import re

from sourcier.services.ingest.parsing.addresses import WebAddress, address_of
from sourcier.services.ingest.parsing.office.lines import Line

_FIELD = re.compile(r'HYPERLINK\s++(?:"([^"]{1,2000})"|([^\s"\\]{1,2000}))', re.I)
_FORMULA = re.compile(r'=?HYPERLINK\s*+\(\s*+"([^"]{1,2000})"', re.I)


class Links:
    """The links of one document: a web address is given once, those of mail and telephone each time."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def end(self, line: Line, mark: int, reference: str) -> None:
        """Append where the text since a mark of the line leads."""
        address = self.address(reference, shown=line.since(mark))
        if address:
            line.add_address(address)

    def address(self, reference: str, *, shown: str) -> str:
        """Return what a link leads to; nothing where its text shows it, or it was given before."""
        address = address_of(reference, shown=shown) if shown.strip() else ""
        if isinstance(address, WebAddress):
            if address in self._told:
                return ""
            self._told.add(address)
        return address


def field_reference(code: str) -> str:
    """Return where a field `HYPERLINK "…"` leads; nothing for any other field."""
    found = _FIELD.match(code.lstrip())
    return (found[1] or found[2]) if found else ""


def formula_reference(formula: str) -> str:
    """Return where a formula `HYPERLINK("…"; …)` leads; nothing for any other formula."""
    found = _FORMULA.match(formula.lstrip())
    return found[1] if found else ""
