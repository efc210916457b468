"""What this machine's processor can do, as the system names it."""

from __future__ import annotations

import re
from pathlib import Path


def cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Return the processor's features; none where the system does not tell."""
    try:
        text = cpuinfo.read_text(encoding="ascii", errors="replace")
    except OSError:
        return frozenset()
    line = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, flags=re.MULTILINE)
    return frozenset(line[1].split()) if line else frozenset()
