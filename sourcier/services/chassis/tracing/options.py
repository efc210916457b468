"""Where traces are sent, and how many."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from urllib.parse import urlsplit, urlunsplit

TRACES_PATH = "/v1/traces"
_HEADER_NAME = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,128}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TracingOptions:
    """What a process has to know to trace."""

    url: str
    """Where spans are posted to, whole; empty traces nothing."""
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    ratio: float = 0.1
    contents: bool = False
    service: str = "sourcier"
    instance: str = ""


def traces_url(url: str) -> str:
    """Return where spans are posted to: a collector's address alone means OTLP's own path there.

    Raise ValueError for what is no such address, or holds a secret that logs would show.
    """
    if not url:
        return ""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("name a collector by http:// or https://, as http://collector:4318")
    if parts.username is not None or parts.password is not None:
        raise ValueError("a user in the address is not sent; set SOURCIER_TRACES_HEADERS to "
                         '{"Authorization": "Basic …"} instead')
    if parts.query or parts.fragment:
        raise ValueError("leave out what follows the path")
    return urlunsplit(parts._replace(path=TRACES_PATH)) if parts.path in ("", "/") else url


def traces_headers(text: str) -> dict[str, str]:
    """Return the headers that a JSON object of texts names; raise ValueError without telling any value."""
    try:
        read = json.loads(text or "{}")
    except ValueError:
        read = None
    if not isinstance(read, dict) or not all(isinstance(value, str) for value in read.values()):
        raise ValueError('give a JSON object of texts, as {"Authorization": "Basic …"}')
    for name, value in read.items():
        if not _HEADER_NAME.fullmatch(name) or not (value.isascii() and value.isprintable()):
            raise ValueError("a header has a name of letters, digits and hyphens, and a value of printable ASCII")
    return read
