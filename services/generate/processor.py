"""What this machine's processor computes in."""

from __future__ import annotations

import re
from pathlib import Path

BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""On x86-64 the first two, on aarch64 the last; without them bfloat16 is three times slower than float32."""


def cpu_flags(cpuinfo: Path = Path("/proc/cpuinfo")) -> frozenset[str]:
    """Return the processor's features; none where the system does not tell."""
    try:
        text = cpuinfo.read_text(encoding="ascii", errors="replace")
    except OSError:
        return frozenset()
    line = re.search(r"^(?:flags|Features)\s*:\s*(.*)$", text, flags=re.MULTILINE)
    return frozenset(line[1].split()) if line else frozenset()


def fastest_dtype(flags: frozenset[str]) -> str:
    """Return the type to compute in."""
    return "bfloat16" if flags & BFLOAT16_FLAGS else "float32"
