"""Links in an answer: those that a passage holds stay, all others go, and images always.

A client that shows Markdown fetches an image by itself: its address could carry what the answer says to anybody (A11).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from prometheus_client import Counter

links_removed_total = Counter("sourcier_links_removed_total", "Links and images taken out of answers.")

_ADDRESS = r"(?:(?:https?|ftps?|file|wss?)://|(?:javascript|data|vbscript|mailto):|www\.)[^\s<>\"'«»“”\[\]`]+"
_URL = re.compile(_ADDRESS, re.IGNORECASE)
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\s*(?:\([^)\n]*\)+|\[[^\]\n]*\])")
_LINK = re.compile(r"(?<!!)\[([^\]\n]*)\]\s*\(\s*<?([^)\s>]*)>?[^)\n]*\)+")
_IN_PARENTHESES = re.compile(rf"\s*\(\s*({_ADDRESS})\s*\)", re.IGNORECASE)
_TAG = re.compile(r"</?[a-zA-Z][a-zA-Z0-9-]*(?:\s+[^<>]*)?/?>")
_DEFINITION = re.compile(r"^\s*\[[^\]\n]+\]:\s*\S+\s*$", re.MULTILINE)
_ACTIVE = ("javascript:", "data:", "vbscript:", "file:")


def addresses(texts: Iterable[str]) -> frozenset[str]:
    """Return the addresses that passages hold, and that an answer may therefore name."""
    return frozenset(
        address for text in texts for match in _URL.finditer(text)
        if not (address := _trimmed(match.group())).lower().startswith(_ACTIVE)
    )


def without_foreign_links(text: str, known: frozenset[str]) -> str:
    """Return the text without images, HTML tags and addresses but the `known` ones; what links said stays."""
    cleaned = _DEFINITION.sub("", _TAG.sub("", _IMAGE.sub(lambda match: match.group(1), text)))
    cleaned = _LINK.sub(lambda match: match.group() if match.group(2) in known else match.group(1), cleaned)
    cleaned = _IN_PARENTHESES.sub(lambda match: match.group() if _trimmed(match.group(1)) in known else "", cleaned)
    cleaned = _URL.sub(lambda match: _kept(match.group(), known), cleaned)
    if cleaned != text:
        links_removed_total.inc()
    return cleaned


def _kept(match: str, known: frozenset[str]) -> str:
    # What is trimmed off an address is the sentence's own: `… https://intranet.example/rh.`
    address = _trimmed(match)
    return match if address in known else match[len(address) :]


def _trimmed(address: str) -> str:
    address = address.rstrip(".,;:!?…*_")
    return address[:-1] if address.endswith(")") and "(" not in address else address
