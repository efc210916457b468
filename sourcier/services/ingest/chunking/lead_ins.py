"""The sentences that introduce the items of lists: « Il est interdit : » makes of each item a ban.

An item of a sublist has two of them, the list's and the item that it stands under.
"""

from __future__ import annotations

import re

from sourcier.services.ingest.chunking.breaks import SENTENCE_END, skip_space
from sourcier.services.ingest.documents import BlockKind, ParsedDocument

WHOLE_CHARACTERS_MAX = 240
"""A longer paragraph is repeated by its last sentence alone."""
_ANNOUNCES = re.compile(r"\b(?:suivante?s?|ci-dessous|ci-après|following|below|as follows)\b", re.I)
_SENTENCE_CHARACTERS_MIN = 12
"""What is shorter follows the full stop of an abbreviation."""


def lead_ins(document: ParsedDocument) -> dict[int, tuple[str, ...]]:
    """Return, by where an item starts, what introduces it, outermost first; a list goes on over pages."""
    found: dict[int, tuple[str, ...]] = {}
    lead = ""
    above: list[tuple[int, str]] = []
    path: tuple[str, ...] = ()
    for block in document.blocks:
        text = document.block_text(block)
        if block.kind is BlockKind.LIST_ITEM and block.heading_path == path:
            while above and above[-1][0] >= block.level:
                above.pop()
            introduced = tuple(filter(None, (lead, *(item for _, item in above))))
            if introduced:
                found[block.start] = introduced
            if text.rstrip().endswith(":"):
                above.append((block.level, _last_sentence(text)))
            continue
        above, path = [], block.heading_path
        lead = _introduction(text) if block.kind is BlockKind.PARAGRAPH else ""
        if block.kind is BlockKind.LIST_ITEM and text.rstrip().endswith(":"):
            above = [(block.level, _last_sentence(text))]
    return found


def _introduction(text: str) -> str:
    text = text.rstrip()
    last = _last_sentence(text)
    return last if text.endswith(":") or _ANNOUNCES.search(last) else ""


def _last_sentence(text: str) -> str:
    text = text.strip()
    if len(text) <= WHOLE_CHARACTERS_MAX:
        return text
    starts = [
        skip_space(text, match.end(), len(text)) for match in SENTENCE_END.finditer(text)
        if match.lastgroup != "goes_on"
    ]
    starts = [start for start in starts if len(text) - start >= _SENTENCE_CHARACTERS_MIN]
    last = text[starts[-1] :] if starts else text
    return last if len(last) <= 2 * WHOLE_CHARACTERS_MAX else ""
