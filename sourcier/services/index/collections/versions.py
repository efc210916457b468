"""Versions of documents as they are accepted; `releases.py` sends them into the pipeline.

Whoever changes anything below a document (versions, batches, chunks) holds the lock on the document's row first, then
the version's, then the job's: one order, no deadlock. The dispatcher alone starts at the version, and locks no more.
"""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from psycopg.errors import UniqueViolation
from psycopg.types.json import Jsonb

from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection

NO_ORIGINAL = "imported/"
"""What the keys of versions without an original begin with: no object is there, and deleting none succeeds."""


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
    traceparent: str = ""
    """The step of a trace that accepted it; empty where nothing is traced."""


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
    traceparent: str = ""
    """The step of a trace that it is accepted in; empty where nothing is traced."""
    part_of: str | None = None
    """The document that it came inside; None for one that was sent itself."""
    source_root: str = ""
    """Which root the source is a path from, as its sender says."""
    renamed_from: str = ""
    """The source that the document had before; empty where it was not renamed."""


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What became of a document that was sent."""

    outcome: Literal["accepted", "in_progress", "unchanged"]
    """`in_progress` and `unchanged`: the same content is on its way or there already, and the job is the one it has."""
    version: VersionReference
    created_at: datetime | None
    """When the job was made; None for one that was there already."""
    renamed: bool
    """Whether it is the document that had the source which it was renamed from."""


async def accept(connection: Connection, new: NewVersion) -> Acceptance:
    """Record a document that was sent as its next version, waiting to be released.

    The same content with the same configuration and title is not indexed again. A version that still waits is
    superseded: only the newest is worth the work. One that was renamed is the document that it was, and is read again
    where its file's name, or what came inside it, tells of the old one.
    """
    values = _values(new)
    values["renamed"] = bool(new.renamed_from) and await _rename(connection, values)
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
    return Acceptance("accepted", _reference(values), row[0], values["renamed"])


async def has_ended(connection: Connection, *, tenant: str, version_id: str) -> bool:
    """Return whether a version was deleted, or a newer one took its place: work for it would be for nothing."""
    cursor = await connection.execute(SELECT_STANDING, {"tenant": tenant, "version_id": version_id})
    return await cursor.fetchone() is None


async def _rename(connection: Connection, values: dict[str, Any]) -> bool:
    """Give the document of the old source the new one; return whether there was one, and none of the new source."""
    try:
        async with connection.transaction():
            return (await connection.execute(RENAME, values)).rowcount == 1
    except UniqueViolation:  # somebody sends a document of the new source at this moment: that is the one
        return False


async def _known(connection: Connection, values: dict[str, Any]) -> Acceptance | None:
    """Return the version that already has this content: the newest one, current or on its way."""
    cursor = await connection.execute(SELECT_NEWEST, values)
    row = await cursor.fetchone()
    if row is None:
        return None
    version_id, generation, job_id, state = row
    known = values | {"version_id": version_id, "generation": generation, "job_id": job_id}
    await connection.execute(UPDATE_DESCRIPTION, known)
    outcome: Literal["in_progress", "unchanged"] = "unchanged" if state == "committed" else "in_progress"
    return Acceptance(outcome, _reference(known), None, values["renamed"])


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
        "traceparent": new.traceparent,
        "part_of": new.part_of,
        "source_root": new.source_root,
        "renamed_from": new.renamed_from,
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
        traceparent=values["traceparent"],
    )


SHARE_CONTENT = """
select pg_advisory_xact_lock_shared(hashtextextended(%(tenant)s || encode(%(content_sha256)b, 'hex'), 0))
"""

# By whichever way a source came to be taken, the document that has it stays what it is.
RENAME = """
update documents set source = %(source)s, updated_at = now()
where tenant = %(tenant)s and collection_id = %(collection_id)s and source = %(renamed_from)s and part_of is null
  and not exists (
    select from documents as other
    where other.tenant = %(tenant)s and other.collection_id = %(collection_id)s and other.source = %(source)s
  )
"""

# The update locks a row that is there, and waits for whoever is inserting or deleting it. What came inside another
# document and is sent by itself is nobody's part any more.
LOCK_DOCUMENT = """
insert into documents (document_id, tenant, collection_id, source, title, filename, content_type, size_bytes,
                       content_sha256, metadata, category, part_of, source_root)
values (%(document_id)s, %(tenant)s, %(collection_id)s, %(source)s, %(title)s, %(filename)s, %(content_type)s,
        %(size_bytes)s, %(content_sha256)b, %(metadata)s, %(category)s, %(part_of)s, %(source_root)s)
on conflict (tenant, collection_id, source) do update set part_of = excluded.part_of, source_root = excluded.source_root
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
  and (not %(renamed)s or (version.filename = %(filename)s and not exists (
    select from documents where tenant = %(tenant)s and part_of = %(document_id)s
  )))
"""

SELECT_STANDING = """
select from document_versions
where tenant = %(tenant)s and version_id = %(version_id)s and state <> 'superseded'
"""

# What is not in the passages changes without indexing anything again; the dates that metadata tell are read anew.
UPDATE_DESCRIPTION = """
with version as (
    update document_versions set metadata = %(metadata)s, category = %(category)s
    where version_id = %(version_id)s
    returning version_id, document_id, coalesce(found_metadata, '{}') || metadata as metadata
)
update documents set metadata = version.metadata, category = %(category)s, times_rules = 0, updated_at = now()
from version
where documents.document_id = version.document_id
  and current_version = version.version_id
  and (documents.metadata, category) is distinct from (version.metadata, %(category)s)
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
                                   configuration_digest, metadata, category, request_id, traceparent)
    values (%(version_id)s, %(tenant)s, %(collection_id)s, %(document_id)s, %(generation)s, %(job_id)s, %(space_id)s,
            %(lane)s, 'accepted', %(original_key)s, %(title)s, %(filename)s, %(content_type)s, %(size_bytes)s,
            %(content_sha256)b, %(configuration_digest)s, %(metadata)s, %(category)s, %(request_id)s,
            %(traceparent)s)
)
{INSERT_JOB}
"""

SELECT_DOCUMENTS = """
select document_id
from documents
where tenant = %(tenant)s and collection_id = %(collection_id)s and document_id > %(after)s
  and current_version is not null
order by document_id
limit %(limit)s
"""
"""The documents of a collection that have a version, a page at a time."""
