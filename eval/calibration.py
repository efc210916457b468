"""From scores of what should be kept and what should not to a threshold, and what that threshold does.

Half of the articles sets a threshold, the other half reports on it: a figure on what it was chosen by flatters.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from eval.measures import auroc


@dataclass(frozen=True, slots=True)
class Scored:
    """A score of something that belongs to an article."""

    article: str
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Contrast:
    """How a threshold treats one kind of what it should stop."""

    auroc: float
    stopped: float
    """Share below the threshold."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """A threshold and what it does on the half of the articles that it was not set by."""

    threshold: float
    lost: float
    """Share below the threshold of what should be kept."""
    contrasts: Mapping[str, Contrast]
    """By kind of what should be stopped."""
    kept_count: int


def calibrate(
    kept: Sequence[Scored], stopped: Mapping[str, Sequence[Scored]], *, lost_max: float
) -> Calibration:
    """Set the threshold that loses `lost_max` of what should be kept, on half of the articles; report on the other."""
    threshold = float(np.quantile([each.score for each in kept if not is_reported(each.article)], lost_max))
    return report_on(kept, stopped, threshold=threshold)


def report_on(kept: Sequence[Scored], stopped: Mapping[str, Sequence[Scored]], *, threshold: float) -> Calibration:
    """Return what a threshold does on the half of the articles that reports."""
    kept_scores = _reported(kept)
    contrasts = {
        kind: Contrast(auroc=auroc(kept_scores, scores), stopped=_below(scores, threshold))
        for kind, each in stopped.items() for scores in [_reported(each)]
    }
    return Calibration(
        threshold=threshold, lost=_below(kept_scores, threshold), contrasts=contrasts, kept_count=len(kept_scores)
    )


def is_reported(article: str) -> bool:
    """Return which half an article is in: the same in every run."""
    return zlib.crc32(article.encode()) % 2 == 1


def _reported(scored: Sequence[Scored]) -> list[float]:
    return [each.score for each in scored if is_reported(each.article)]


def _below(scores: Sequence[float], threshold: float) -> float:
    return sum(score < threshold for score in scores) / len(scores) if scores else 0.0
