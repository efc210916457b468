"""The order of re-ranked candidates: the re-ranker's score, and what the exact words that they share with it add."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sourcier.services.gateway.events import RankedPassage
from sourcier.services.index.search.search import SearchResult

LEXICAL_WEIGHT = 0.05
"""What the best full-text score adds to a re-ranking score. Late interaction forgets exact words that are rare, which
BM25 counts; docs/measured/quality.md has the gain. Beside a cross-encoder's logits it settles ties and no more."""
LEXICAL_POWER = 2.0
"""Of the others' score as a share of the best: a passage with half of it holds other words of the question, or commoner
ones, which late interaction tells better. With codes of one bit this takes back part of what they lose."""


def ordered(
    results: Sequence[SearchResult], scores: Mapping[str, float], *, by_late_interaction: bool = True
) -> tuple[RankedPassage, ...]:
    """Return the candidates that hold the question's identifiers first; by the re-ranker's score and what BM25 adds."""
    shares = lexical_shares([result.lexical_score or 0.0 for result in results])
    ranked = (
        RankedPassage(result, scores[result.passage.chunk_id], share, by_late_interaction)
        for result, share in zip(results, shares, strict=True)
    )
    return tuple(sorted(ranked, key=lambda entry: entry.order, reverse=True))


def lexical_shares(
    scores: Sequence[float], *, weight: float = LEXICAL_WEIGHT, power: float = LEXICAL_POWER
) -> list[float]:
    """Return what each candidate's BM25 adds to its re-ranking score: 0 for one that full text did not find."""
    best = max(scores, default=0.0)
    return [weight * (score / best) ** power if best > 0 else 0.0 for score in scores]
