"""Takes out where a model names a source by its number in the prompt, which no reader of the answer has seen.

`According to Source 1, each employee …` says nothing that `[1]` does not; left as it is, the check finds that no
passage holds the word `Source`.
"""

from __future__ import annotations

import re
from collections.abc import Callable

PLACE = "\x1f"
"""Before a character that stands for a marker."""
_SOURCE = (
    rf"(?P<source>(?:source|extrait|extract|passage|document)\s(?:n[°o]\s?)?(?:\d{{1,3}}|\[?(?P<marker>{PLACE}.)\]?))"
)
_THE = r"(?:le\s|la\s|l['’]|the\s)?"
_ACCORDING = (
    r"(?:selon|d['’]après|according\sto|based\son|as\s(?:stated|mentioned|indicated|described)\sin|"
    r"comme\s(?:indiqué|mentionné|précisé)\s(?:dans|par))"
)
_SAYS = r"(?:indique|précise|mentionne|dit|explique|rappelle|prévoit|states|says|mentions|indicates|explains|specifies)"
_LEADS = (
    re.compile(rf"(?P<space>\s?){_ACCORDING}\s{_THE}{_SOURCE}\s?[,:]\s?(?=\S)", re.IGNORECASE),
    re.compile(rf"(?P<space>\s?){_THE}{_SOURCE}\s{_SAYS}\s(?:que\s|qu['’]|that\s)(?=\S)", re.IGNORECASE),
)


def without_named_source(text: str, *, is_said: Callable[[str], bool]) -> str:
    """Return a sentence without the lead that names its source; the marker within the lead goes to the end.

    `is_said` tells whether a passage says the words themselves: `Selon le document 3` may be a contract's own.
    """
    for lead in _LEADS:
        match = lead.match(text)
        if match is None or (match["marker"] is None and is_said(match["source"])):
            continue
        rest = text[match.end() :]
        told = f"{match['space']}{rest[0].upper()}{rest[1:]}"
        return f"{told.rstrip()} {match['marker']}" if match["marker"] else told
    return text
