"""Tells how well the processes that read documents are locked in, and counts what documents tried and could not do."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from pathlib import Path

from prometheus_client import Counter, Gauge

from sourcier.services.chassis.errors import DocumentMalformed
from sourcier.services.ingest.stages.results import read_result

confinement = Gauge(
    "sourcier_parser_confinement", "Whether a mechanism confines the processes that read documents: 1, or 0.",
    ["mechanism"],
)
refusals_total = Counter(
    "sourcier_parser_refusals_total", "Documents whose reader tried what it may not, by what that was.", ["what"]
)
_WITHOUT = {
    "namespace": "it has no network namespace of its own; sockets are refused to it by other means",
    "landlock": "the kernel (5.13 or later) or the container does not allow Landlock: native code that a hostile file "
                "takes over could read what this service's user can read",
    "seccomp": "the kernel, the container or this processor does not allow a filter of system calls: native code that "
               "a hostile file takes over could start programs and open connections",
}
_KINDS = frozenset({"program", "socket", "process", "file"})
_NOTES_BYTES = 4096
_log = logging.getLogger(__name__)
_warned: set[str] = set()


def tell_confinement(found: Mapping[str, bool]) -> None:
    """Show in the log and in a metric what is in force; warn of each that is not, once."""
    for mechanism, in_force in found.items():
        confinement.labels(mechanism).set(in_force)
        if not in_force and mechanism not in _warned:
            _warned.add(mechanism)
            _log.warning("the parsing process is not confined by %s: %s", mechanism, _WITHOUT[mechanism])
    _log.info("parsing process ready, confined by %s", ", ".join(each for each in found if found[each]) or "nothing")


def count_refusals(notes: Path, filename: str, *, by_kernel: bool) -> None:
    """Count what a reader tried: as it noted, once of each kind, or because of which the kernel ended it."""
    kinds = {"system_call"} if by_kernel else set()
    if notes.exists():
        try:
            kinds |= _KINDS & set(read_result(notes, tail=_NOTES_BYTES).decode("utf-8", "replace").split())
        except DocumentMalformed:
            kinds.add("file")
    for kind in sorted(kinds):
        refusals_total.labels(kind).inc()
        _log.warning("the reader of %r tried what it may not: %s", filename, kind)
