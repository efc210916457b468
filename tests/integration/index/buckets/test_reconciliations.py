"""Comparisons of a bucket with the manifest: one that was cut off is taken up, one that is stale is not."""

from __future__ import annotations

import pytest

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.buckets import reconciliations
from sourcier.services.index.buckets.reconciliations import Reconciliation

RESUME_SECONDS = 3600.0


async def begin(database: Database, *, dry_run: bool = False, prefix: str = "") -> Reconciliation:
    async with database.transaction(tenant="acme") as connection:
        return await reconciliations.begin(
            connection, tenant="acme", bucket="one", prefix=prefix, dry_run=dry_run, resume_seconds=RESUME_SECONDS
        )


async def listed(database: Database, comparison: Reconciliation, *keys: str) -> Reconciliation:
    async with database.transaction(tenant="acme") as connection:
        return await reconciliations.note_page(
            connection, comparison, keys=keys, missing=0, changed=0, position=keys[-1]
        )


async def kept_keys(database: Database) -> list[str]:
    async with database.transaction(tenant="acme") as connection:
        cursor = await connection.execute("select key from listed_objects order by key")
        return [key for (key,) in await cursor.fetchall()]


async def test_a_comparison_that_was_cut_off_goes_on_where_it_was(database: Database) -> None:
    first = await listed(database, await begin(database), "a.md", "b.md")
    again = await begin(database)
    assert (again.reconciliation_id, again.position, again.listed) == (first.reconciliation_id, "b.md", 2)
    assert await kept_keys(database) == ["a.md", "b.md"]


async def test_a_stale_comparison_is_given_up_and_the_next_begins_anew(database: Database) -> None:
    """What it listed an hour ago may have come or gone since: it would call objects gone that are there."""
    stale = await listed(database, await begin(database), "a.md")
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        await connection.execute("update reconciliations set updated_at = now() - interval '2 hours'")
    fresh = await begin(database)
    assert fresh.reconciliation_id != stale.reconciliation_id
    assert (fresh.position, fresh.listed, fresh.state) == ("", 0, "running")
    assert await kept_keys(database) == []


@pytest.mark.parametrize("dry_runs", [(True, False), (False, True), (True, True)])
async def test_one_that_only_counts_is_never_taken_up(database: Database, dry_runs: tuple[bool, bool]) -> None:
    first = await begin(database, dry_run=dry_runs[0])
    assert (await begin(database, dry_run=dry_runs[1])).reconciliation_id != first.reconciliation_id


async def test_another_prefix_is_another_comparison(database: Database) -> None:
    assert (await begin(database)).reconciliation_id != (await begin(database, prefix="rh/")).reconciliation_id
