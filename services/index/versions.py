"""Versions of documents: accepted, released into the pipeline, committed, or given up.

Whoever changes anything below a document (versions, batches, chunks) holds the lock on the document's row first, then
the version's, then the job's: one order, no deadlock. The dispatcher alone starts at the version, and locks no more.
"""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields, replace
from datetime import datetime
from typing import Any, Literal

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from services.chassis.ids import new_id
from services.chassis.postgres import Connection
from services.index.chunking_digest import chunking_digest

QUEUED_TIMES = 24
"""So many times the usual age a version is left alone while messages of its tenant and lane are known to wait."""


@dataclass(frozen=True, slots=True, kw_only=True)
class VersionReference:
    """Which version of which document work is about."""

    tenant: str
    collection_id: str
    document_id: str
    version_id: str
    generation: int
    job_id: str
    lane: str
    request_id: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class NewVersion:
    """A document as it was sent."""

    tenant: str
    collection_id: str
    source: str
    """What makes it the same document when it is sent again: a path, a URL, an object key."""
    original_key: str
    content_sha256: bytes
    configuration_digest: str
    """Of all that decides what the content becomes: chunking, parser, model."""
    space_id: str
    lane: str
    filename: str
    size_bytes: int
    content_type: str = ""
    title: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    category: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What became of a document that was sent."""

    outcome: Literal["accepted", "in_progress", "unchanged"]
    """`in_progress` and `unchanged`: the same content is on its way or there already, and the job is the one it has."""
    version: VersionReference
    created_at: datetime | None
    """When the job was made; None for one that was there already."""


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


async def accept(connection: Connection, new: NewVersion) -> Acceptance:
    """Record a document that was sent as its next version, waiting to be released.

    The same content with the same configuration and title is not indexed again. A version that still waits is
    superseded: only the newest is worth the work.
    """
    values = _values(new)
    async with connection.pipeline():
        # Until this version is recorded nobody may take its content for one that nobody needs.
        await connection.execute(SHARE_CONTENT, values)
        cursor = await connection.execute(LOCK_DOCUMENT, values)
    row = await cursor.fetchone()
    assert row is not None
    values["document_id"], values["generation"] = row[0], row[1] + 1
    # A document that has just been inserted has no version before.
    known = await _known(connection, values) if values["generation"] > 1 else None
    if known is not None:
        return known
    older = (SUPERSEDE_WAITING,) if values["generation"] > 1 else ()
    async with connection.pipeline():
        for statement in older:
            await connection.execute(statement, values)
        cursor = await connection.execute(INSERT_VERSION, values)
    row = await cursor.fetchone()
    assert row is not None
    return Acceptance("accepted", _reference(values), row[0])


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


async def _known(connection: Connection, values: dict[str, Any]) -> Acceptance | None:
    """Return the version that already has this content: the newest one, current or on its way."""
    cursor = await connection.execute(SELECT_NEWEST, values)
    row = await cursor.fetchone()
    if row is None:
        return None
    version_id, generation, job_id, state = row
    known = values | {"version_id": version_id, "generation": generation, "job_id": job_id}
    await connection.execute(UPDATE_DESCRIPTION, known)
    return Acceptance("unchanged" if state == "committed" else "in_progress", _reference(known), None)


def _values(new: NewVersion) -> dict[str, Any]:
    return {
        "tenant": new.tenant,
        "collection_id": new.collection_id,
        "source": new.source,
        "original_key": new.original_key,
        "content_sha256": new.content_sha256,
        "configuration_digest": new.configuration_digest,
        "space_id": new.space_id,
        "lane": new.lane,
        "filename": new.filename,
        "size_bytes": new.size_bytes,
        "content_type": new.content_type,
        "title": new.title,
        "metadata": Jsonb(dict(new.metadata)),
        "category": new.category,
        "request_id": new.request_id,
        "document_id": new_id(),
        "version_id": new_id(),
        "job_id": new_id(),
    }


def _reference(values: Mapping[str, Any]) -> VersionReference:
    return VersionReference(
        tenant=values["tenant"],
        collection_id=values["collection_id"],
        document_id=values["document_id"],
        version_id=values["version_id"],
        generation=values["generation"],
        job_id=values["job_id"],
        lane=values["lane"],
        request_id=values["request_id"],
    )


SHARE_CONTENT = """
select pg_advisory_xact_lock_shared(hashtextextended(%(tenant)s || encode(%(content_sha256)b, 'hex'), 0))
"""

# The update changes nothing: it locks a row that is there, and waits for whoever is inserting or deleting it.
LOCK_DOCUMENT = """
insert into documents (document_id, tenant, collection_id, source, title, filename, content_type, size_bytes,
                       content_sha256, metadata, category)
values (%(document_id)s, %(tenant)s, %(collection_id)s, %(source)s, %(title)s, %(filename)s, %(content_type)s,
        %(size_bytes)s, %(content_sha256)b, %(metadata)s, %(category)s)
on conflict (tenant, collection_id, source) do update set source = excluded.source
returning document_id, last_generation
"""

# In whatever space: vectors that the collection's own lacks are made of the chunks that are there.
SELECT_NEWEST = """
select version_id, generation, job_id, state
from document_versions as version
where document_id = %(document_id)s
  and generation = %(generation)s - 1
  and state in ('accepted', 'released', 'committed')
  and content_sha256 = %(content_sha256)b
  and configuration_digest = %(configuration_digest)s
  and version.title = %(title)s
"""

# What is not in the passages changes without indexing anything again.
UPDATE_DESCRIPTION = """
with version as (
    update document_versions set metadata = %(metadata)s, category = %(category)s
    where version_id = %(version_id)s
    returning version_id, document_id
)
update documents set metadata = %(metadata)s, category = %(category)s, updated_at = now()
from version
where documents.document_id = version.document_id
  and current_version = version.version_id
  and (metadata, category) is distinct from (%(metadata)s, %(category)s)
"""

SUPERSEDE_WAITING = """
with superseded as (
    update document_versions set state = 'superseded', finished_at = now()
    where document_id = %(document_id)s and state = 'accepted'
    returning job_id
)
update jobs
set status = 'failed', error_code = 'SUPERSEDED', error_message = 'A newer version of the document took its place.',
    updated_at = now(), finished_at = now()
from superseded
where jobs.job_id = superseded.job_id and status in ('pending', 'processing')
"""

INSERT_JOB = """
insert into jobs (job_id, tenant, collection_id, document_id, version_id, lane, status, filename, size_bytes)
values (%(job_id)s, %(tenant)s, %(collection_id)s, %(document_id)s, %(version_id)s, %(lane)s, 'pending', %(filename)s,
        %(size_bytes)s)
returning created_at
"""

# The version, the number of its document's newest one and its job in one statement.
INSERT_VERSION = f"""
with document as (
    update documents set last_generation = %(generation)s where document_id = %(document_id)s
),
version as (
    insert into document_versions (version_id, tenant, collection_id, document_id, generation, job_id, space_id, lane,
                                   state, original_key, title, filename, content_type, size_bytes, content_sha256,
                                   configuration_digest, metadata, category, request_id)
    values (%(version_id)s, %(tenant)s, %(collection_id)s, %(document_id)s, %(generation)s, %(job_id)s, %(space_id)s,
            %(lane)s, 'accepted', %(original_key)s, %(title)s, %(filename)s, %(content_type)s, %(size_bytes)s,
            %(content_sha256)b, %(configuration_digest)s, %(metadata)s, %(category)s, %(request_id)s)
)
{INSERT_JOB}
"""

WAITING_COLUMNS = """
    version.tenant, version.collection_id, version.document_id, version.version_id, version.generation,
    version.job_id, version.lane, version.request_id, version.space_id, version.original_key, version.content_sha256,
    version.size_bytes, version.filename, version.content_type, version.title, document.source, start_stage,
    collection.name as collection, parse_again, configuration_digest, version.chunking ->> 'method' as chunking_method,
    version.chunking ->> 'unit' as chunking_unit, (version.chunking ->> 'target')::integer as chunking_target,
    (version.chunking ->> 'overlap')::integer as chunking_overlap,
    (version.chunking ->> 'maximum')::integer as chunking_maximum
"""

_CHUNKING = """jsonb_build_object(
        'method', chunking_method, 'unit', chunking_unit, 'target', chunking_target, 'overlap', chunking_overlap,
        'maximum', chunking_maximum
    )"""

# By tenant and lane first, so that the cost is that of the tenants, however long one's backlog is.
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
        select version_id, created_at
        from document_versions as version
        where version.tenant = tenants.tenant and version.lane = lane.name and state = 'accepted'
        order by created_at
        limit greatest(%(in_flight_max)s - in_flight.versions, 0)
        for update skip locked
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

RELEASE_AGAIN = f"""
with chosen as materialized (
    select version_id
    from document_versions
    where state = 'released'
      and released_at < coalesce(%(before)s::timestamptz, now() - make_interval(secs => %(older_than_seconds)s))
      and (released_at < now() - make_interval(secs => %(queued_seconds)s)
           or (tenant, lane) not in (select * from unnest(%(tenants)s::text[], %(lanes)s::text[])))
    order by released_at
    limit %(limit)s
    for update skip locked
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
