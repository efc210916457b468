"""Pauses before something is tried again."""

from __future__ import annotations

import random


def jittered(ceiling_seconds: float) -> float:
    """Return a pause of half of this to all of it: what broke together must not come back together."""
    return random.uniform(ceiling_seconds / 2, ceiling_seconds)  # noqa: S311 - not a secret
