"""Seeing from outside that a child of a pool's process is locked in."""

from __future__ import annotations

from pathlib import Path

from sourcier.services.ingest.stages.by_parts.readers import PartReaders
from tests.waiting import until


async def locked_in(readers: PartReaders, *, seconds: float) -> None:
    """Wait until a child has a filter of system calls that this process has not, and no capability."""
    own = filters(Path("/proc/self"))
    await until(lambda: any(filters(child) > own for child in children(readers)), seconds=seconds)


def children(readers: PartReaders) -> list[Path]:
    """Return where the system tells of the children of the pool's process; none before it has started."""
    zygote = readers._pool._zygote
    if zygote is None:
        return []
    pid = zygote._process.pid
    return [Path("/proc", child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def filters(process: Path) -> int:
    """Return how many filters a process has; none where it has ended, or may do more than others."""
    try:
        told = dict(line.split(":\t") for line in (process / "status").read_text().splitlines())
    except OSError:
        return 0
    return int(told["Seccomp_filters"]) if int(told["CapEff"], 16) == 0 or process.name == "self" else 0
