"""Halves of a test set: one sets weights and thresholds, the other reports; figures on what was fitted flatter."""

from __future__ import annotations

from sourcier.models.train.sources import is_held


def is_reported(article: str) -> bool:
    """Return which half an article is in: the same in every run, and the one that the reader is never trained on."""
    return is_held(article)
