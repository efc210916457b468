"""What the parts of a running stack take: processor time and memory, read from the system, by part."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import psutil

PARTS = {
    "sourcier.services.ingest.parsing.zygote": "parsing", "sourcier.services.ingest": "ingest",
    "sourcier.services.embed": "embed", "sourcier.services.rerank": "rerank", "sourcier.services.gateway": "gateway",
    "nats-server": "NATS", "weed": "S3 store", "postgres": "PostgreSQL",
}
MEBIBYTE = 2**20


@dataclass(frozen=True, slots=True)
class Usage:
    """What a part has taken so far."""

    cpu_seconds: float
    """Its ended children's included: a document is read in a process of its own."""
    resident_mib: float
    """PostgreSQL's shared buffers are counted once, by each process's own share."""


def usage(addresses: Mapping[str, str]) -> dict[str, Usage]:
    """Return the usage of each part of the stack that a benchmark runs on."""
    state = json.loads((Path(addresses["SOURCIER_DATA_DIR"]) / "stack.json").read_text())
    cpu: defaultdict[str, float] = defaultdict(float)
    resident: defaultdict[str, float] = defaultdict(float)
    for process in psutil.Process(state["pid"]).children(recursive=True):
        try:
            part = _part(" ".join(process.cmdline()))
            times, memory = process.cpu_times(), process.memory_full_info()
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
        cpu[part] += times.user + times.system + times.children_user + times.children_system
        resident[part] += memory.pss / MEBIBYTE
    return {part: Usage(cpu[part], resident[part]) for part in sorted(cpu)}


def _part(command: str) -> str:
    return next((part for mark, part in PARTS.items() if mark in command), "other")
