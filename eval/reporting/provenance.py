"""What was measured with what: the commit, and what of the processor its speed and its vectors depend on."""

from __future__ import annotations

import subprocess
from pathlib import Path

from sourcier.services.chassis.models.processor import cpu_flags

FEATURES = frozenset({"avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_int8", "amx_bf16", "asimddp",
                      "sve"})


def features() -> list[str]:
    """Return this processor's features that matter here, by name."""
    return sorted(cpu_flags() & FEATURES)


def commit() -> str:
    """Return the commit as git describes it, `-dirty` where files differ from it; `unknown` where git cannot tell."""
    try:
        described = subprocess.run(
            ("git", "describe", "--always", "--dirty", "--abbrev=10"), cwd=Path(__file__).parents[2],
            capture_output=True, text=True, check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return described.stdout.strip()
