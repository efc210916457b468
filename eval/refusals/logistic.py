"""Logistic regression by Newton's method: what several signals tell together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

STEPS = 50
RIDGE = 1e-2
"""Of the standardised coefficients: it keeps them finite where the two classes do not overlap."""


@dataclass(frozen=True)
class Logistic:
    """A fitted model."""

    mean: Floats
    """Of each feature, shape (features,)."""
    scale: Floats
    """Its standard deviation, 1 where it does not vary."""
    coefficients: Floats
    """Of the standardised features, shape (features + 1,); the last is the constant."""

    def scores(self, features: Sequence[Sequence[float]]) -> list[float]:
        """Return the log-odds of each row."""
        design = _design(np.asarray(features, dtype=np.float64), self.mean, self.scale)
        return [float(score) for score in design @ self.coefficients]


def fit(features: Sequence[Sequence[float]], labels: Sequence[bool], weights: Sequence[float]) -> Logistic:
    """Fit rows of features to labels; a row counts as much as its weight says."""
    rows = np.asarray(features, dtype=np.float64)
    mean, scale = rows.mean(axis=0), rows.std(axis=0)
    scale[scale == 0] = 1.0
    design = _design(rows, mean, scale)
    wanted, weight = np.asarray(labels, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    coefficients = np.zeros(design.shape[1])
    penalty = RIDGE * weight.sum() * np.eye(design.shape[1])
    penalty[-1, -1] = 0.0
    for _ in range(STEPS):
        probability = 1 / (1 + np.exp(-np.clip(design @ coefficients, -30, 30)))
        gradient = design.T @ (weight * (wanted - probability)) - penalty @ coefficients
        curvature = (design * (weight * probability * (1 - probability))[:, None]).T @ design + penalty
        step = np.linalg.solve(curvature + 1e-9 * np.eye(len(curvature)), gradient)
        coefficients = coefficients + step
        if np.abs(step).max() < 1e-8:
            break
    return Logistic(mean, scale, coefficients)


def _design(rows: Floats, mean: Floats, scale: Floats) -> Floats:
    return np.column_stack([(rows - mean) / scale, np.ones(len(rows))])
