"""How far a search of an index looks: further in larger collections and under filters."""

from __future__ import annotations

import pytest

from sourcier.services.index.search.dense import candidates_of


@pytest.mark.parametrize(("limit", "passages", "matching", "expected"), [
    (10, 30_000, 30_000, 300),
    (10, 100_000, 100_000, 300),
    (10, 200_000, 200_000, 390),
    (10, 1_000_000, 1_000_000, 599),
    (10, 100_000, 50_000, 600),
    (10, 1_000_000, 100_000, 5_990),
    (200, 30_000, 30_000, 400),
    (10, 0, 0, 300),
])
def test_candidates_grow_with_the_collection_and_with_what_filters_leave_out(
    limit: int, passages: int, matching: int, expected: int
) -> None:
    assert candidates_of(limit, passages=passages, matching=matching) == expected
