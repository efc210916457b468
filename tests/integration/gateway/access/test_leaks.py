"""A few tenants by turns on one gateway; `make chaos SCENARIO=leaks` asks a hundred thousand times for fifty."""

from __future__ import annotations

from sourcier.services.chassis.postgres.database import Database
from tests.chaos import leaks


async def test_no_tenant_sees_another_ones(database: Database) -> None:
    found = await leaks.interleave(database, tenants=4, queries=300, seed=1)
    assert found.leaks == []
    assert found.calls.total() == 300
    assert set(found.calls) == set(leaks.CALLS)
    assert set(found.statuses) <= {"OK", "NOT_FOUND", "INVALID_ARGUMENT"}
    assert found.marks_seen > 500
