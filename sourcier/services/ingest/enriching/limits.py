"""How much is made of a chunk, and of a document."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class EnrichLimits:
    """The bounds of enriching."""

    pairs_max: int
    """Questions and answers of a chunk."""
    usefulness_min: float
    """0 to 1; a chunk that is judged less useful gets none."""
    output_tokens_max: int
    """Tokens of one output."""
    attempts_max: int
    """Generations for a chunk whose output cannot be used."""
    chunks_max: int
    """Chunks of a document."""
    tokens_max: int
    """Tokens, read and written, that a document may cost."""
