"""What this machine's processor computes in."""

from __future__ import annotations

from services.chassis.processor import cpu_flags

__all__ = ["cpu_flags", "fastest_dtype"]

BFLOAT16_FLAGS = frozenset({"avx512_bf16", "amx_bf16", "bf16"})
"""On x86-64 the first two, on aarch64 the last; without them bfloat16 is three times slower than float32."""


def fastest_dtype(flags: frozenset[str]) -> str:
    """Return the type to compute in."""
    return "bfloat16" if flags & BFLOAT16_FLAGS else "float32"
