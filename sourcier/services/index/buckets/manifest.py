"""The manifest: every object of the watched buckets as a row, and who is asking the store about it right now.

A notification or a listing is a hint: it marks the row. Whoever claims the row asks the store what is there and settles
it in the transaction that records what it found. A hint that comes meanwhile leaves the row marked, a claim that was
lost cannot settle it; so the row follows the store whatever is doubled, late or out of order.
"""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from psycopg.rows import class_row

from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.objects import StoredObject
from sourcier.services.chassis.postgres.database import Connection


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class ObjectName:
    """An object of a bucket that a rule takes, for the tenant and the lane of the rule."""

    tenant: str
    bucket: str
    key: str
    lane: str = "bulk"


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimedObject(ObjectName):
    """A marked row, held by one collector until its lease ends."""

    claim: str
    hint_no: int
    attempts: int
    etag: str
    """What was taken in last; empty where nothing was."""
    document_id: str | None
    hinted_at: datetime


async def hint(connection: Connection, objects: Iterable[ObjectName]) -> int:
    """Mark objects as changed, known or not; return how many. The rows are due at once, unless somebody is asking."""
    # In one order, so that two transactions with the same objects cannot deadlock; one row an object and statement.
    marked = {(name.tenant, name.bucket, name.key): name for name in sorted(objects)}
    if not marked:
        return 0
    names = list(marked.values())
    values = {
        "tenants": [name.tenant for name in names],
        "buckets": [name.bucket for name in names],
        "keys": [name.key for name in names],
        "lanes": [name.lane for name in names],
    }
    await connection.execute(HINT, values)
    return len(names)


async def take_again(connection: Connection, *, tenant: str, bucket: str, key: str) -> bool:
    """Have an object read again although its ETag is known; return whether the manifest knows it."""
    cursor = await connection.execute(TAKE_AGAIN, {"tenant": tenant, "bucket": bucket, "key": key})
    return cursor.rowcount == 1


async def claim(connection: Connection, *, limit: int, lease_seconds: float) -> list[ClaimedObject]:
    """Take rows that are due, interactive ones first, for so long; a later claim of the same row ends this one."""
    values = {"claim": new_id(), "limit": limit, "lease_seconds": lease_seconds}
    async with connection.cursor(row_factory=class_row(ClaimedObject)) as cursor:
        await cursor.execute(CLAIM, values)
        return await cursor.fetchall()


async def renew(connection: Connection, held: Sequence[ClaimedObject], *, lease_seconds: float) -> None:
    """Hold claims for so long from now on; those that were lost stay lost."""
    await connection.execute(RENEW, {
        "tenants": [claimed.tenant for claimed in held],
        "buckets": [claimed.bucket for claimed in held],
        "keys": [claimed.key for claimed in held],
        "claims": [claimed.claim for claimed in held],
        "lease_seconds": lease_seconds,
    })


async def holds(connection: Connection, claimed: ClaimedObject) -> bool:
    """Lock the row and return whether the claim still stands; whoever records what it found asks this first."""
    cursor = await connection.execute(HOLDS, _identity(claimed))
    return await cursor.fetchone() is not None


async def is_renamed(connection: Connection, claimed: ClaimedObject, *, source: str) -> bool:
    """Lock the document that was taken in last and return whether it has another source by now than the object's own.

    It is then another object's document. One that is not there was deleted by a person.
    """
    values = {"tenant": claimed.tenant, "document_id": claimed.document_id, "source": source}
    cursor = await connection.execute(IS_RENAMED, values)
    return await cursor.fetchone() is not None


async def alike(connection: Connection, claimed: ClaimedObject, *, collection_id: str, sha256: bytes) -> list[str]:
    """Return the keys of the bucket's other objects that a collection holds a document of with this content, a few."""
    cursor = await connection.execute(ALIKE, {
        **_identity(claimed), "collection_id": collection_id, "sha256": sha256, "limit": ALIKE_MAX,
    })
    return [key for key, in await cursor.fetchall()]


async def is_new_due(connection: Connection, claimed: ClaimedObject) -> bool:
    """Return whether the bucket has an object that is marked and was never taken in."""
    cursor = await connection.execute(IS_NEW_DUE, _identity(claimed))
    return await cursor.fetchone() is not None


async def settle(
    connection: Connection,
    claimed: ClaimedObject,
    *,
    found: StoredObject,
    state: Literal["current", "refused"],
    collection_id: str | None,
    document_id: str | None,
    generation: int,
    error: str = "",
) -> None:
    """Record what was taken in, or refused for good, under a claim that `holds`; a later hint keeps the row marked."""
    await connection.execute(SETTLE, {
        **_identity(claimed), "etag": found.etag, "size_bytes": found.size_bytes, "last_modified": found.last_modified,
        "state": state, "collection_id": collection_id, "document_id": document_id, "generation": generation,
        "error": error,
    })


async def settle_unchanged(connection: Connection, claimed: ClaimedObject) -> None:
    """Record that the object is what was taken in last."""
    await connection.execute(SETTLE_UNCHANGED, _identity(claimed))


async def settle_refused(connection: Connection, claimed: ClaimedObject, *, error: str) -> None:
    """Record that the object still cannot be taken in."""
    await connection.execute(SETTLE_REFUSED, {**_identity(claimed), "error": error})


async def settle_gone(connection: Connection, claimed: ClaimedObject) -> None:
    """Forget an object that the store does not hold, unless a later hint says that it might again."""
    await connection.execute(FORGET, _identity(claimed))
    await connection.execute(EMPTY, _identity(claimed))


async def postpone(connection: Connection, claimed: ClaimedObject, *, delay_seconds: float, error: str) -> None:
    """Let a row be asked about later, because the store did not answer."""
    values = {**_identity(claimed), "delay_seconds": delay_seconds, "error": error[:1000]}
    await connection.execute(POSTPONE, values)


async def compare(
    connection: Connection, *, tenant: str, bucket: str, listed: Sequence[StoredObject]
) -> tuple[list[str], list[str]]:
    """Return the keys of listed objects that the manifest misses, and of those it knows with another ETag."""
    values = {
        "tenant": tenant, "bucket": bucket,
        "keys": [found.key for found in listed], "etags": [found.etag for found in listed],
    }
    cursor = await connection.execute(COMPARE, values)
    missing: list[str] = []
    changed: list[str] = []
    for key, known in await cursor.fetchall():
        (changed if known else missing).append(key)
    return missing, changed


def _identity(claimed: ClaimedObject) -> dict[str, object]:
    return {
        "tenant": claimed.tenant, "bucket": claimed.bucket, "key": claimed.key, "claim": claimed.claim,
        "hint_no": claimed.hint_no,
    }


ALIKE_MAX = 5
"""Each of them is asked of the store."""

HINT = """
insert into objects (tenant, bucket, key, lane)
select * from unnest(%(tenants)s::text[], %(buckets)s::text[], %(keys)s::text[], %(lanes)s::text[])
on conflict (tenant, bucket, key) do update
set state = 'changed', hint_no = objects.hint_no + 1, lane = excluded.lane, last_seen = now(), attempts = 0,
    hinted_at = case when objects.state = 'changed' then objects.hinted_at else now() end,
    -- Somebody who is asking goes on; the row stays marked after that.
    not_before = case when objects.claim is null then now() else objects.not_before end
"""

TAKE_AGAIN = """
update objects
set state = 'changed', hint_no = hint_no + 1, etag = '', attempts = 0, hinted_at = now(),
    not_before = case when claim is null then now() else not_before end
where tenant = %(tenant)s and bucket = %(bucket)s and key = %(key)s
"""

CLAIM = """
update objects
set claim = %(claim)s, attempts = attempts + 1, not_before = now() + make_interval(secs => %(lease_seconds)s)
from (
    select tenant, bucket, key
    from objects
    where state = 'changed' and not_before <= now()
    order by lane desc, not_before
    limit %(limit)s
    for update skip locked
) as due
where (objects.tenant, objects.bucket, objects.key) = (due.tenant, due.bucket, due.key)
returning objects.tenant, objects.bucket, objects.key, lane, claim, hint_no, attempts, etag, document_id, hinted_at
"""

# By the objects' keys: claims have no index, and the manifest may have millions of rows.
RENEW = """
update objects set not_before = now() + make_interval(secs => %(lease_seconds)s)
from unnest(%(tenants)s::text[], %(buckets)s::text[], %(keys)s::text[], %(claims)s::uuid[])
    as held (tenant, bucket, key, claim)
where (objects.tenant, objects.bucket, objects.key, objects.claim) = (held.tenant, held.bucket, held.key, held.claim)
"""

_CLAIMED = "tenant = %(tenant)s and bucket = %(bucket)s and key = %(key)s and claim = %(claim)s"

HOLDS = f"select from objects where {_CLAIMED} for update"

IS_RENAMED = """
with document as (
    select source from documents where tenant = %(tenant)s and document_id = %(document_id)s for update
)
select from document where source <> %(source)s
"""

ALIKE = """
select objects.key
from document_versions as version
join documents on documents.tenant = version.tenant and documents.current_version = version.version_id
join objects on objects.tenant = documents.tenant and objects.document_id = documents.document_id
where version.tenant = %(tenant)s and version.content_sha256 = %(sha256)b
  and documents.collection_id = %(collection_id)s
  and objects.bucket = %(bucket)s and objects.key <> %(key)s
  and documents.source = 's3://' || objects.bucket || '/' || objects.key
order by objects.key
limit %(limit)s
"""

IS_NEW_DUE = """
select from objects
where tenant = %(tenant)s and bucket = %(bucket)s and key <> %(key)s and state = 'changed' and document_id is null
limit 1
"""

_SETTLED = "state = case when hint_no = %(hint_no)s then {state} else 'changed' end"

SETTLE = f"""
update objects
set {_SETTLED.format(state="%(state)s")}, claim = null, not_before = now(), attempts = 0, error = %(error)s,
    etag = %(etag)s, size_bytes = %(size_bytes)s, last_modified = %(last_modified)s, collection_id = %(collection_id)s,
    document_id = %(document_id)s, generation = greatest(generation, %(generation)s), last_seen = now()
where {_CLAIMED}
"""

SETTLE_UNCHANGED = f"""
update objects
set {_SETTLED.format(state="'current'")}, claim = null, not_before = now(), attempts = 0, error = '', last_seen = now()
where {_CLAIMED}
"""

SETTLE_REFUSED = f"""
update objects
set {_SETTLED.format(state="'refused'")}, claim = null, not_before = now(), attempts = 0, error = %(error)s,
    last_seen = now()
where {_CLAIMED}
"""

FORGET = f"delete from objects where {_CLAIMED} and hint_no = %(hint_no)s"

EMPTY = f"""
update objects
set claim = null, not_before = now(), attempts = 0, error = '', etag = '', document_id = null
where {_CLAIMED}
"""

POSTPONE = f"""
update objects
set claim = null, error = %(error)s, not_before = now() + make_interval(secs => %(delay_seconds)s)
where {_CLAIMED}
"""

COMPARE = """
select listed.key, objects.key is not null
from unnest(%(keys)s::text[], %(etags)s::text[]) as listed (key, etag)
left join objects on objects.tenant = %(tenant)s and objects.bucket = %(bucket)s and objects.key = listed.key
where objects.key is null or (objects.state <> 'changed' and objects.etag <> listed.etag)
"""
