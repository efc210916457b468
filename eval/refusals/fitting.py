"""Logistic regression whose weights are never negative, so that each feature can only speak for what it should.

Few features and a few thousand examples: projected gradient steps with a fixed step are fast and repeatable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]

STEPS = 20_000
PENALTY = 1e-3
"""On the squares of the weights of standardised features: keeps them finite, and apart where features agree."""


@dataclass(frozen=True, slots=True)
class Logistic:
    """A model: the log-odds are `intercept + features · weights`."""

    intercept: float
    weights: tuple[float, ...]

    def log_odds(self, features: FloatArray) -> FloatArray:
        """Return the log-odds of rows, shape (rows,)."""
        odds: FloatArray = features @ np.asarray(self.weights) + self.intercept
        return odds


def fit(features: FloatArray, labels: FloatArray, importance: FloatArray) -> Logistic:
    """Return the model of rows of features (rows, features), labels 0 or 1, and what each row counts."""
    means, deviations = features.mean(axis=0), np.maximum(features.std(axis=0), 1e-9)
    rows = (features - means) / deviations
    importance = importance / importance.sum()
    weights, intercept = np.zeros(rows.shape[1]), 0.0
    # The curvature of the loss is at most a quarter of the largest eigenvalue of the weighted second moments.
    step = 1.0 / (0.25 * float(np.linalg.norm(np.c_[rows, np.ones(len(rows))] * np.sqrt(importance)[:, None], 2) ** 2)
                  + PENALTY)
    for _ in range(STEPS):
        errors = importance * (1 / (1 + np.exp(-(rows @ weights + intercept))) - labels)
        gradient = rows.T @ errors + PENALTY * weights
        moved = np.maximum(weights - step * gradient, 0.0)
        intercept -= step * float(errors.sum())
        if float(np.abs(moved - weights).max()) < 1e-9:
            break
        weights = moved
    scaled = weights / deviations
    return Logistic(float(intercept - scaled @ means), tuple(map(float, scaled)))
