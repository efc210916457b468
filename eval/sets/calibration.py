"""Halves of a test set: one sets weights and thresholds, the other reports; figures on what was fitted flatter."""

from __future__ import annotations

import zlib


def is_reported(article: str) -> bool:
    """Return which half an article is in: the same in every run."""
    return zlib.crc32(article.encode()) % 2 == 1
