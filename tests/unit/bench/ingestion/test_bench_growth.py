"""What the growth benchmark makes of what it saw."""

from __future__ import annotations

import pytest

from bench.ingestion.growth import Growth, growth_table

pytestmark = pytest.mark.unit


def test_a_rate_that_falls_is_reported_as_missed() -> None:
    flat = Growth(documents=list(range(7)), milliseconds=[9.0, 1.0, 1.1, 1.0, 1.0, 1.1, 1.0])
    slow = Growth(documents=list(range(7)), milliseconds=[9.0, 1.0, 1.1, 1.0, 1.5, 1.9, 1.8])
    assert growth_table(flat).missed == 0
    assert growth_table(slow).missed == 1
    (curve,) = growth_table(slow).curves
    assert len(curve.series["without HNSW"]) == 7
