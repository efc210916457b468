"""What this machine's processor can do, as the system names it, and how much of it is ours."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUPS = Path("/proc/self/cgroup")
INT8_FLAGS = frozenset({"avx512_vnni", "avx_vnni", "avx_vnni_int8", "amx_int8"})
"""What x86-64 has to multiply int8 and add up in 32 bits; older instructions add pairs up in 16, which can overflow."""


def without_int8_products(flags: Collection[str], *, architecture: str) -> bool:
    """Whether this is an x86-64 processor that adds products of int8 up in 16 bits, slowly and with overflows."""
    return architecture == "x86_64" and INT8_FLAGS.isdisjoint(flags)


def cpu_flags(cpuinfo: Path = CPUINFO) -> frozenset[str]:
    """Return the processor's features; none where the system does not tell."""
    return frozenset(_told(cpuinfo, "flags|Features").split())


def cpu_name(cpuinfo: Path = CPUINFO) -> str:
    """Return the processor's name, with family and model on x86; nothing where the system does not tell.

    A virtual machine's name may be that of several generations (`AMD EPYC`), of which one is twice as fast as another.
    """
    name, family, model = (_told(cpuinfo, told) for told in ("model name", "cpu family", "model"))
    return f"{name}, family {family} model {model}" if name and family and model else name


def cpu_vendor(cpuinfo: Path = CPUINFO) -> str:
    """Return the processor's maker as it names itself (`GenuineIntel`, `AuthenticAMD`); nothing where it does not."""
    return _told(cpuinfo, "vendor_id")


def _told(cpuinfo: Path, names: str) -> str:
    try:
        text = cpuinfo.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    line = re.search(rf"^(?:{names})[ \t]*:(.*)$", text, flags=re.MULTILINE)
    return line[1].strip() if line else ""


def usable_cores(*, cgroups: Path = CGROUPS, own: Path = OWN_CGROUPS) -> int:
    """Return how many cores this process can keep busy: those that it may run on, or fewer by a container's quota.

    A quota is time, not cores (Linux, control groups v1 and v2): with a thread for each core of a large machine, a
    container of two would spend its time at once and then stand still, several times a second.
    """
    cores = len(os.sched_getaffinity(0))
    return max(1, min(cores, math.ceil(min(_quotas(cgroups, own), default=cores))))


def _quotas(cgroups: Path, own: Path) -> Iterator[float]:
    """Yield the cores' worth of time that the control groups of this process allow, its parents' included."""
    try:
        entries = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        return
    for _, controllers, path in entries:
        if controllers and "cpu" not in controllers.split(","):
            continue
        mounted = cgroups / controllers if controllers else cgroups
        group = Path(path)
        # Where a container sees its own group as the root, the path is another's, and the root alone is there.
        for folder in (mounted / each.relative_to("/") for each in (group, *group.parents)):
            with suppress(OSError, ValueError):
                yield _quota(folder, unified=not controllers)


def _quota(folder: Path, *, unified: bool) -> float:
    """Return a control group's cores; raise `OSError` or `ValueError` where it sets none."""
    if unified:
        quota, period = (folder / "cpu.max").read_text().split()
    else:
        quota, period = ((folder / f"cpu.cfs_{name}_us").read_text() for name in ("quota", "period"))
    if float(quota) <= 0:
        raise ValueError("no quota")
    return float(quota) / float(period)
