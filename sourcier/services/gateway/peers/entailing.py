"""What the rerank service's entailment model is, and what it says."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class EntailmentOffer:
    """The model that the service has."""

    name: str = ""
    """Empty where it has none."""
    window_tokens: int = 0
    """Most tokens of question, sentence and window together; 0 for a model that reads whole passages."""


@dataclass(frozen=True, slots=True)
class Relation:
    """What one text is to a sentence; what is left of 1 is the probability that it is not told."""

    supported: float
    contradicted: float
