"""Accepted versions, released into the pipeline a bounded number at a time, and again where their messages are lost."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, fields, replace
from datetime import datetime

from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.collections.chunking_digest import chunking_digest
from sourcier.services.index.collections.versions import VersionReference

COUNTED_MAX = 100_000
"""Of one tenant and lane: beyond it the count says that there are many, and does not cost more."""
QUEUED_TIMES = 24
"""So many times the usual age a version is left alone while messages of its tenant and lane are known to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingVersion(VersionReference):
    """A version with what the first stage needs to know."""

    space_id: str
    original_key: str
    content_sha256: bytes
    size_bytes: int
    filename: str
    content_type: str
    title: str
    source: str
    collection: str
    """The collection's name."""
    start_stage: str
    """The first stage whose work is needed: `parse`, `chunk` or `embed`."""
    parse_again: bool
    chunking_method: str
    chunking_unit: str
    chunking_target: int
    chunking_overlap: int
    chunking_maximum: int
    configuration_digest: str


async def release(connection: Connection, *, in_flight_max: int, limit: int) -> list[WaitingVersion]:
    """Mark waiting versions as released, oldest first, at most `in_flight_max` under way per tenant and lane.

    From then on a version is cut as its collection was to be cut at its release, however often it is released again:
    batches of different cuts are not one document.

    The caller puts their messages into the outbox in the same transaction, of `ALL_TENANTS`. One process releases at
    a time; for the others there is nothing to do.
    """
    cursor = await connection.execute("select pg_try_advisory_xact_lock(hashtext(current_schema() || '.release'))")
    row = await cursor.fetchone()
    if row is None or not row[0]:
        return []
    async with connection.cursor(row_factory=class_row(WaitingVersion)) as waiting:
        await waiting.execute(RELEASE, {"in_flight_max": in_flight_max, "limit": limit})
        return await _labelled(connection, await waiting.fetchall())


async def stalled(
    connection: Connection, *, older_than_seconds: float, limit: int, before: datetime | None = None,
    queued: Collection[tuple[str, str]] = (),
) -> list[WaitingVersion]:
    """Return versions released so long ago that their messages may be lost, and note them as released again.

    With `before`, all that were released before it: the broker is known to have lost messages then. Those of tenants
    and lanes that are `queued` are slow rather than lost, and each copy of a message would make the queue longer: they
    are left alone until they are `QUEUED_TIMES` as old, since one message among others may be lost all the same.

    The caller puts their messages into the outbox in the same transaction: the record is here, not in the broker.
    """
    async with connection.cursor(row_factory=class_row(WaitingVersion)) as waiting:
        values = {
            "older_than_seconds": older_than_seconds, "queued_seconds": older_than_seconds * QUEUED_TIMES,
            "before": before, "limit": limit,
            "tenants": [tenant for tenant, _ in queued], "lanes": [lane for _, lane in queued],
        }
        await waiting.execute(RELEASE_AGAIN, values)
        return await _labelled(connection, await waiting.fetchall())


async def oldest_under_way(connection: Connection) -> dict[str, float]:
    """Return how long the oldest document that is not yet found or given up has waited, in seconds by lane."""
    cursor = await connection.execute(OLDEST)
    return {str(lane): float(seconds) for lane, seconds in await cursor.fetchall()}


async def waiting_counts(connection: Connection) -> dict[str, int]:
    """Return how many accepted documents wait for their release, by lane; of one tenant at most `COUNTED_MAX`."""
    cursor = await connection.execute(WAITING, {"counted_max": COUNTED_MAX})
    return {str(lane): int(count) for lane, count in await cursor.fetchall()}


async def _labelled(connection: Connection, released: list[WaitingVersion]) -> list[WaitingVersion]:
    """Have versions bear the digest of what they will be cut with, which may not be what they were accepted with."""
    labelled = [
        replace(version, configuration_digest=chunking_digest(
            method=version.chunking_method, unit=version.chunking_unit, target=version.chunking_target,
            overlap=version.chunking_overlap, maximum=version.chunking_maximum,
        ))
        for version in released
    ]
    changed = [now for now, before in zip(labelled, released, strict=True) if now != before]
    if changed:
        await connection.execute(LABEL, {
            "version_ids": [version.version_id for version in changed],
            "digests": [version.configuration_digest for version in changed],
        })
    return labelled


WAITING_COLUMNS = """
    version.tenant, version.collection_id, version.document_id, version.version_id, version.generation,
    version.job_id, version.lane, version.request_id, version.traceparent, version.space_id, version.original_key,
    version.content_sha256, version.size_bytes, version.filename, version.content_type, version.title, document.source,
    start_stage, collection.name as collection, parse_again, configuration_digest,
    version.chunking ->> 'method' as chunking_method,
    version.chunking ->> 'unit' as chunking_unit, (version.chunking ->> 'target')::integer as chunking_target,
    (version.chunking ->> 'overlap')::integer as chunking_overlap,
    (version.chunking ->> 'maximum')::integer as chunking_maximum
"""

_CHUNKING = """jsonb_build_object(
        'method', chunking_method, 'unit', chunking_unit, 'target', chunking_target, 'overlap', chunking_overlap,
        'maximum', chunking_maximum
    )"""

# By tenant and lane first, so that the cost is that of the tenants, however long one's backlog is. A version that is
# labelled after its release has its foreign keys checked, for which its document is locked: it is locked here already,
# or a commit, which locks the document before the version, and a release would each wait for the other.
RELEASE = f"""
with chosen as materialized (
    select waiting.version_id, lane.place, waiting.created_at
    from tenants
    cross join (values ('interactive', 0), ('bulk', 1)) as lane (name, place)
    cross join lateral (
        select count(*) as versions
        from document_versions as version
        where version.tenant = tenants.tenant and version.lane = lane.name and state = 'released'
    ) as in_flight
    cross join lateral (
        select version_id, version.created_at
        from document_versions as version
        join documents as document using (document_id)
        where version.tenant = tenants.tenant and version.lane = lane.name and state = 'accepted'
        order by version.created_at
        limit greatest(%(in_flight_max)s - in_flight.versions, 0)
        for update of version skip locked
        for key share of document skip locked
    ) as waiting
    order by lane.place, waiting.created_at
    limit %(limit)s
),
released as (
    update document_versions as version
    set state = 'released', released_at = now(),
        -- The collection may have been switched to another space, or to another chunking, while the version waited.
        space_id = collection.space_id, chunking = {_CHUNKING}
    from chosen, documents as document, collections as collection
    where version.version_id = chosen.version_id
      and version.state = 'accepted'
      and document.document_id = version.document_id
      and collection.collection_id = version.collection_id
    returning {WAITING_COLUMNS}, chosen.place, chosen.created_at
)
select {", ".join(column.name for column in fields(WaitingVersion))}
from released
order by place, created_at
"""

LABEL = """
update document_versions as version set configuration_digest = label.digest
from unnest(%(version_ids)s::uuid[], %(digests)s::text[]) as label (version_id, digest)
where version.version_id = label.version_id
"""

# By tenant and lane, as above; a state is named, for the index holds no other.
_OLDEST_OF = """
        select created_at
        from document_versions as version
        where version.tenant = tenants.tenant and version.lane = lane.name and state = '{state}'
        order by created_at
        limit 1
"""
OLDEST = f"""
select lane.name, extract(epoch from now() - min(least(accepted.created_at, released.created_at)))
from tenants
cross join (values ('interactive'), ('bulk')) as lane (name)
left join lateral ({_OLDEST_OF.format(state='accepted')}) as accepted on true
left join lateral ({_OLDEST_OF.format(state='released')}) as released on true
where accepted.created_at is not null or released.created_at is not null
group by lane.name
"""

WAITING = """
select lane.name, sum(counted.versions)
from tenants
cross join (values ('interactive'), ('bulk')) as lane (name)
cross join lateral (
    select count(*) as versions
    from (
        select from document_versions as version
        where version.tenant = tenants.tenant and version.lane = lane.name and state = 'accepted'
        limit %(counted_max)s
    ) as bounded
) as counted
group by lane.name
"""

RELEASE_AGAIN = f"""
with chosen as materialized (
    select version_id
    from document_versions as version
    join documents as document using (document_id)
    where state = 'released'
      and released_at < coalesce(%(before)s::timestamptz, now() - make_interval(secs => %(older_than_seconds)s))
      and (released_at < now() - make_interval(secs => %(queued_seconds)s)
           or (version.tenant, lane) not in (select * from unnest(%(tenants)s::text[], %(lanes)s::text[])))
    order by released_at
    limit %(limit)s
    for update of version skip locked
    for key share of document skip locked
)
update document_versions as version
-- Not before `before`, or the next page would be these again.
set released_at = greatest(now(), %(before)s::timestamptz),
    -- A service that noted no chunking may have released it before.
    chunking = coalesce(version.chunking, {_CHUNKING})
from chosen, documents as document, collections as collection
where version.version_id = chosen.version_id
  and document.document_id = version.document_id
  and collection.collection_id = version.collection_id
returning {WAITING_COLUMNS}
"""
