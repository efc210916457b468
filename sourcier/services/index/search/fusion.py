"""Reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

RANK_CONSTANT = 60


def fuse(rankings: Sequence[Sequence[str]], *, limit: int, heads: int = 0) -> list[tuple[str, float]]:
    """Return ids and scores, best first: each ranking gives an id 1 / (60 + rank), ties in the first order.

    The first `heads` of each ranking are among them in any case, where `limit` has room for them: what is first in one
    ranking and absent from the other is passed by dozens that are mediocre in both, and may be the one passage that
    holds a rare name. For candidates that are ranked again; the order is that of the scores all the same.
    """
    scores: defaultdict[str, float] = defaultdict(float)
    for ranking in rankings:
        for rank, each in enumerate(ranking, start=1):
            scores[each] += 1.0 / (RANK_CONSTANT + rank)
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    first = {each for ranking in rankings for each in ranking[:heads]}
    if len(first) > limit:
        return ranked[:limit]
    kept = {each for each, _ in [item for item in ranked if item[0] not in first][: limit - len(first)]} | first
    return [item for item in ranked if item[0] in kept]
