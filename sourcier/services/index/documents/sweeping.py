"""What nobody needs any more: versions that were overtaken or closed, and documents older than their collection keeps
them. Their files are noted in the transaction that removes them (`file_removals`)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.pagination import FIRST_KEY
from sourcier.services.index.pipeline.commit_statements import LOCK_DOCUMENT


@dataclass(frozen=True, slots=True)
class EndedJob:
    """A place in the order in which jobs ended."""

    finished_at: datetime
    job_id: str


async def over_versions(connection: Connection, *, older_than_seconds: float, limit: int) -> list[str]:
    """Return the ids of versions that ended so long ago, oldest first, each locked: they will never be worked on."""
    cursor = await connection.execute(SELECT, {"older_than_seconds": older_than_seconds, "limit": limit})
    return [str(version_id) for (version_id,) in await cursor.fetchall()]


async def forget_versions(connection: Connection, version_ids: list[str]) -> None:
    """Remove the rows of versions; what was staged for them goes with them."""
    values = {"version_ids": version_ids}
    for statement in (DELETE_STAGED, CLOSE_DEAD_LETTERS, DELETE):
        await connection.execute(statement, values)


async def forget_jobs(
    connection: Connection, *, older_than_seconds: float, limit: int, after: EndedJob | None = None
) -> EndedJob | None:
    """Remove the records of jobs that ended so long ago, and whose version is gone; look at so many, behind `after`.

    Returns where the next look goes on; None once there is nothing more. The job of a version that answers is kept,
    however old: a sweep that began anew each time would read one for each document.
    """
    cursor = await connection.execute(DELETE_JOBS, {
        "older_than_seconds": older_than_seconds, "limit": limit,
        "finished_at": None if after is None else after.finished_at,
        "job_id": FIRST_KEY if after is None else after.job_id,
    })
    row = await cursor.fetchone()
    if row is None or row[2] < limit:
        return None
    return EndedJob(row[0], str(row[1]))


async def forget_letters(connection: Connection, *, older_than_seconds: float) -> None:
    """Remove closed dead letters that are so old."""
    await connection.execute(DELETE_LETTERS, {"older_than_seconds": older_than_seconds})


async def expired_documents(connection: Connection, *, limit: int) -> list[tuple[str, str]]:
    """Return tenant and id of documents older than their collection keeps them."""
    cursor = await connection.execute(EXPIRED, {"limit": limit})
    return [(str(tenant), str(document_id)) for tenant, document_id in await cursor.fetchall()]


async def lock_expired(connection: Connection, *, tenant: str, document_id: str) -> bool:
    """Lock a document against a new version, and tell whether it is still older than its collection keeps it."""
    values = {"tenant": tenant, "document_id": document_id}
    await connection.execute(LOCK_DOCUMENT, values)
    # A statement of its own: it sees what was committed while the lock was waited for.
    cursor = await connection.execute(STILL_EXPIRED, values)
    return await cursor.fetchone() is not None


SELECT = """
select version_id
from document_versions as version
where state in ('superseded', 'failed')
  and finished_at < now() - make_interval(secs => %(older_than_seconds)s)
  and (state = 'superseded' or exists (
      select from documents
      where documents.document_id = version.document_id and documents.current_generation > version.generation
  ))
order by finished_at
limit %(limit)s
for update of version skip locked
"""

DELETE_STAGED = "delete from staged_chunks where version_id = any(%(version_ids)s::uuid[])"

CLOSE_DEAD_LETTERS = """
update dead_letters set state = 'discarded' where version_id = any(%(version_ids)s::uuid[]) and state = 'open'
"""

DELETE = "delete from document_versions where version_id = any(%(version_ids)s::uuid[])"

# Each job was recorded with its version, whose key is looked up: no further index is kept for it.
DELETE_JOBS = """
with looked_at as materialized (
    select job_id, version_id, finished_at
    from jobs
    where status in ('completed', 'failed') and finished_at < now() - make_interval(secs => %(older_than_seconds)s)
      and (finished_at, job_id) > (coalesce(%(finished_at)s::timestamptz, '-infinity'), %(job_id)s::uuid)
    order by finished_at, job_id
    limit %(limit)s
),
forgotten as (
    delete from jobs
    using looked_at
    where jobs.job_id = looked_at.job_id
      and not exists (
          select from document_versions as version where version.version_id = looked_at.version_id
      )
)
select finished_at, job_id, count(*) over ()
from looked_at
order by finished_at desc, job_id desc
limit 1
"""

DELETE_LETTERS = """
delete from dead_letters
where dead_letter_id in (
    select dead_letter_id from dead_letters
    where state <> 'open' and failed_at < now() - make_interval(secs => %(older_than_seconds)s)
    limit 1000
)
"""

# A version under way is what somebody sent of late, whatever the age of the one that answers. What came inside another
# document goes with that.
_OF_EXPIRED = """
from collections as collection
join documents as document on document.tenant = collection.tenant
                          and document.collection_id = collection.collection_id
where collection.retention_days > 0 and document.part_of is null
  and document.updated_at < now() - make_interval(days => collection.retention_days)
  and not exists (
      select from document_versions as version
      where version.document_id = document.document_id and version.state in ('accepted', 'released')
  )
"""

EXPIRED = f"select document.tenant, document.document_id {_OF_EXPIRED} limit %(limit)s"

STILL_EXPIRED = f"""
select document.document_id {_OF_EXPIRED}
  and document.tenant = %(tenant)s and document.document_id = %(document_id)s
"""
