"""Where links lead, as far as their text does not say it: addresses of mail, telephone numbers, pages, files."""

from __future__ import annotations

import base64
import re
from urllib.parse import unquote, unquote_to_bytes, urljoin, urlsplit

ADDRESS_CHARACTERS_MAX = 300
LINKS_SHOWN_MAX = 4
"""Of a paragraph, an item or a cell: a text with more links is a directory, and their addresses would bury it."""
_PHONE_SCHEMES = ("tel:", "sms:", "callto:", "whatsapp:")
_FILES = re.compile(r"\.(?:pdf|docx?|xlsx?|pptx?|od[tsp]|rtf|csv|zip|ics|vcf)\Z", re.I)
_NOT_SIGNIFICANT = re.compile(r"\A(?:https?:)?//(?:www\.)?|[\s/]+")


class WebAddress(str):
    """The address of a page or file, which a text full of links does without; mail and telephone always stay."""

    __slots__ = ()


def address_of(reference: str, *, shown: str, base: str = "") -> str:
    """Return what the link leads to; nothing where the text shows it or nobody could use it."""
    reference = "".join(reference.split())
    scheme = reference[: reference.find(":") + 1].lower()
    if scheme == "mailto:":
        address = unquote(reference[7:].partition("?")[0])
        return "" if not address or address.lower() in shown.lower() else address[:ADDRESS_CHARACTERS_MAX]
    if scheme in _PHONE_SCHEMES:
        number = unquote(reference.partition(":")[2].partition("?")[0]).strip("/")
        digits = _digits(number)[-9:]
        return "" if not digits or digits in _digits(shown) else number[:ADDRESS_CHARACTERS_MAX]
    try:
        return _web_address(urljoin(base, reference) if base else reference, shown)
    except ValueError:  # no address: brackets that do not close, a port that is no number
        return ""


def _web_address(reference: str, shown: str) -> str:
    parts = urlsplit(reference)
    if parts.scheme in ("http", "https", "ftp", "ftps") and parts.netloc:
        address = reference.partition("#")[0] if "!" not in parts.fragment else reference
        if len(address) > ADDRESS_CHARACTERS_MAX:
            address = address.partition("?")[0][:ADDRESS_CHARACTERS_MAX]
    elif not parts.scheme and not parts.netloc and _FILES.search(parts.path):
        address = unquote(parts.path)[-ADDRESS_CHARACTERS_MAX:]
    else:
        return ""
    return "" if _bare(address) in _bare(shown) else WebAddress(address)


def _bare(address: str) -> str:
    return _NOT_SIGNIFICANT.sub("", address).lower()


def _digits(text: str) -> str:
    return "".join(character for character in text if character.isdigit())


def data_of(address: str) -> bytes | None:
    """Return what a `data:` address holds; None for any other address, nothing for a damaged one."""
    head, comma, body = address.partition(",")
    if head[:5].lower() != "data:" or not comma:
        return None
    content = unquote_to_bytes(body)
    if not head.lower().rstrip().endswith(";base64"):
        return content
    try:
        return base64.b64decode(b"".join(content.split()))
    except ValueError:
        return b""
