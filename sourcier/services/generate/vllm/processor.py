"""What this machine's processor computes in."""

from __future__ import annotations

from sourcier.services.chassis.models.processor import cpu_flags, cpu_vendor

__all__ = ["cpu_flags", "cpu_vendor", "fastest_dtype"]

BFLOAT16_FLAGS = frozenset({"amx_bf16", "bf16"})
"""On x86-64 the first, on aarch64 the other; where there is no such product bfloat16 is three times slower."""

AVX512_BFLOAT16 = "avx512_bf16"
AVX512_BFLOAT16_IS_FASTER = frozenset({"AuthenticAMD"})
"""Whose AVX512-BF16 multiplies faster than float32. Intel's does not: vLLM's bfloat16 took 7 s there for a prompt that
float32 read in 4.3 (docs/measured/history/generation.md has both)."""


def fastest_dtype(flags: frozenset[str], *, vendor: str) -> str:
    """Return the type to compute in, by the processor's features and its maker."""
    faster = flags & BFLOAT16_FLAGS or (AVX512_BFLOAT16 in flags and vendor in AVX512_BFLOAT16_IS_FASTER)
    return "bfloat16" if faster else "float32"
