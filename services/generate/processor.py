"""What this machine's processor computes in."""

from __future__ import annotations

from services.chassis.processor import cpu_flags

__all__ = ["cpu_flags", "fastest_dtype"]

BFLOAT16_FLAGS = frozenset({"amx_bf16", "bf16"})
"""On x86-64 the first, on aarch64 the other; without them bfloat16 is three times slower than float32.

AVX512-BF16 alone is not enough: its products are no faster than float32's, and vLLM's bfloat16 took 7 s for a prompt
that float32 read in 4.3 (docs/performance/generation.md), for a third more tokens a second afterwards.
"""


def fastest_dtype(flags: frozenset[str]) -> str:
    """Return the type to compute in."""
    return "bfloat16" if flags & BFLOAT16_FLAGS else "float32"
