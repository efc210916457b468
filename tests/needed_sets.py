"""Marks tests that need what others made: where it is absent, the reason says what is missing and where to get it."""

from __future__ import annotations

import pytest

from eval import shared_sets


def needs(name: str) -> pytest.MarkDecorator:
    """Skip the test where the folder of this name is absent."""
    return pytest.mark.skipif(shared_sets.find(name) is None, reason=shared_sets.absent(name))
