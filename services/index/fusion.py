"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

RANK_CONSTANT = 60


def fuse(rankings: Sequence[Sequence[str]], *, limit: int) -> list[tuple[str, float]]:
    """Return ids and scores, best first: each ranking gives an id 1 / (60 + rank), ties in the first order."""
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking in rankings:
        for rank, each in enumerate(ranking, start=1):
            scores[each] += 1.0 / (RANK_CONSTANT + rank)
    return sorted(scores.items(), key=lambda item: -item[1])[:limit]
