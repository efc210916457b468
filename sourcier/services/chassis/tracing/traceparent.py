"""The header `traceparent` of W3C Trace Context: which trace a request is of, and which step of it asked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

TRACEPARENT_KEY = "traceparent"
"""gRPC metadata key, NATS header and HTTP header."""
_CHARACTERS_MAX = 512
_FORM = re.compile(r"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?")
_SAMPLED = 1


@dataclass(frozen=True, slots=True)
class Parent:
    """The step that asked, in whatever process it is."""

    trace_id: int
    span_id: int
    sampled: bool


def read_traceparent(text: str) -> Parent | None:
    """Return what a header says; None for one that is malformed, which begins a trace of its own, as W3C says."""
    found = _FORM.fullmatch(text) if len(text) <= _CHARACTERS_MAX else None
    if found is None:
        return None
    version, trace_id, span_id, flags, further = found.groups()
    # A later version may say more after these four; the first one may not.
    if version == "ff" or (version == "00" and further is not None):
        return None
    parent = Parent(int(trace_id, 16), int(span_id, 16), bool(int(flags, 16) & _SAMPLED))
    return parent if parent.trace_id and parent.span_id else None


def parent_in(metadata: Iterable[tuple[str, str | bytes]] | None) -> Parent | None:
    """Return what the metadata of a call, or the headers of a request, say; None where they say it more than once."""
    values = [value for name, value in metadata or () if name == TRACEPARENT_KEY]
    if len(values) != 1:
        return None
    [value] = values
    return read_traceparent(value if isinstance(value, str) else value.decode("ascii", "replace"))


def written_traceparent(*, trace_id: int, span_id: int, sampled: bool) -> str:
    """Return the header that says it."""
    return f"00-{trace_id:032x}-{span_id:016x}-{_SAMPLED if sampled else 0:02x}"
