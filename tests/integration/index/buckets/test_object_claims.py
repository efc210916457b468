"""Claims on objects of the manifest: held as long as they are renewed, and nobody else's."""

from __future__ import annotations

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.buckets import manifest
from sourcier.services.index.buckets.manifest import ClaimedObject, ObjectName

LEASE_SECONDS = 600.0


async def claim(database: Database, *, limit: int = 10) -> list[ClaimedObject]:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        return await manifest.claim(connection, limit=limit, lease_seconds=LEASE_SECONDS)


async def let_run_out(database: Database, key: str) -> None:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        await connection.execute("update objects set not_before = now() - interval '1 second' where key = %s", (key,))


async def test_a_claim_is_held_by_renewing_it_and_lost_where_another_took_it(database: Database) -> None:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        await manifest.hint(connection, [
            ObjectName(tenant="acme", bucket="one", key=key) for key in ("a.md", "b.md")
        ])
    held = {each.key: each for each in await claim(database)}
    assert held.keys() == {"a.md", "b.md"}
    assert await claim(database) == []

    await let_run_out(database, "a.md")
    await let_run_out(database, "b.md")
    (taken,) = await claim(database, limit=1)
    (other,) = held.keys() - {taken.key}
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        await manifest.renew(connection, tuple(held.values()), lease_seconds=2 * LEASE_SECONDS)
        cursor = await connection.execute(
            "select key, round(extract(epoch from not_before - now()))::int from objects order by key"
        )
        left = dict(await cursor.fetchall())
    assert left[other] == 2 * LEASE_SECONDS
    assert left[taken.key] <= LEASE_SECONDS, "the claim that was lost renews nothing"
    assert await claim(database) == []
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        assert await manifest.holds(connection, held[other])
        assert await manifest.holds(connection, taken)
        assert not await manifest.holds(connection, held[taken.key])
