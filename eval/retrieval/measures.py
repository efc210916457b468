"""Measures of a ranking, and how sure they are."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
CONFIDENCE = 0.95
MEASURES = ("ndcg@10", "recall@1", "recall@5", "recall@20", "mrr@20")


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions with its bootstrap interval at 95 %."""

    mean: float
    low: float
    high: float


def measure(ranking: Sequence[str], relevant: Mapping[str, int]) -> dict[str, float]:
    """Return each of `MEASURES` for one question; `ranking` holds every passage once, best first."""
    return {
        "ndcg@10": ndcg(ranking, relevant, depth=10),
        **{f"recall@{depth}": recall(ranking, relevant, depth=depth) for depth in (1, 5, 20)},
        "mrr@20": reciprocal_rank(ranking, relevant, depth=20),
    }


def ndcg(ranking: Sequence[str], relevant: Mapping[str, int], *, depth: int) -> float:
    """Return the normalised discounted cumulative gain with the grade as gain (Järvelin and Kekäläinen, 2002)."""
    gains = [relevant.get(each, 0) for each in ranking[:depth]]
    ideal = sorted(relevant.values(), reverse=True)[:depth]
    return _discounted(gains) / _discounted(ideal)


def recall(ranking: Sequence[str], relevant: Mapping[str, int], *, depth: int) -> float:
    """Return the share of the relevant passages among the first `depth`."""
    return sum(each in relevant for each in ranking[:depth]) / len(relevant)


def reciprocal_rank(ranking: Sequence[str], relevant: Mapping[str, int], *, depth: int) -> float:
    """Return 1 / the rank of the first relevant passage, 0 where it is not among the first `depth`."""
    return next((1 / rank for rank, each in enumerate(ranking[:depth], start=1) if each in relevant), 0.0)


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean and its interval, by resampling questions (percentile bootstrap, Efron, 1979)."""
    sample = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(0)
    means = [sample[generator.integers(0, len(sample), len(sample))].mean() for _ in range(RESAMPLES)]
    low, high = np.quantile(means, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(float(sample.mean()), float(low), float(high))


def auroc(positive: Sequence[float], negative: Sequence[float]) -> float:
    """Return the chance that a positive's score exceeds a negative's, ties counting half (Mann and Whitney, 1947)."""
    ordered = np.sort(np.asarray(negative, dtype=np.float64))
    scores: npt.NDArray[np.float64] = np.asarray(positive, dtype=np.float64)
    below = np.searchsorted(ordered, scores, side="left")
    not_above = np.searchsorted(ordered, scores, side="right")
    return float((below + not_above).mean() / 2 / len(ordered))


def _discounted(gains: Sequence[int]) -> float:
    return sum(gain / math.log2(rank + 1) for rank, gain in enumerate(gains, start=1))
