"""Jobs: what a person sees of a document on its way into the index."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import TupleRow

from sourcier.services.chassis.errors import InvalidArgument, NotFound
from sourcier.services.chassis.ids import is_id
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.index import pagination
from sourcier.services.index.collections.versions import VersionReference
from sourcier.services.index.pagination import Page

STATUSES = ("pending", "processing", "completed", "failed")
STAGES = ("located", "parsed", "metadata", "chunked", "embedded", "saved", "done")


@dataclass(frozen=True, slots=True)
class Job:
    """A document's way into the index."""

    job_id: str
    tenant: str
    collection_id: str
    document_id: str
    version_id: str | None
    lane: str
    status: str
    """`pending`, `processing`, `completed` or `failed`."""
    stage: str
    percentage: int
    chunks_created: int
    error_code: str
    error_message: str
    error_stage: str
    """The pipeline stage that gave up; empty where none did."""
    filename: str
    collection: str
    """The collection's name; empty once it is deleted."""
    source: str
    """What identifies the document; the file's name once it is deleted."""
    size_bytes: int
    stage_times: Mapping[str, datetime]
    """When each stage was reached, in the order they were; stages of one time in their own."""
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StageReached:
    """A stage that a job's document has come to."""

    tenant: str
    job_id: str
    stage: str
    percentage: int
    at: float
    """When, by the clock of the process that saw it."""
    arrived: bool = True
    """Whether the job came to the stage then; else it moves on within it, and the stage's time is another's to tell."""
    attempts: int = 0
    """How often it was to be noted before."""


async def advance_jobs(connection: Connection, reached: Sequence[StageReached], *, now: float) -> set[str]:
    """Move jobs on to stages, in a transaction of `ALL_TENANTS`; `now` is of the clock of their `at`.

    A job never moves backwards and a finished one stays finished, since messages come twice and out of order; when a
    stage was first reached is noted all the same. Returns the ids of those that were noted: a job that another
    transaction holds is left out, so that this one, which holds many, waits for none.
    """
    values = {
        "job_ids": [each.job_id for each in reached], "tenants": [each.tenant for each in reached],
        "stages": [each.stage for each in reached], "percentages": [each.percentage for each in reached],
        "ages": [max(now - each.at, 0.0) for each in reached], "arrived": [each.arrived for each in reached],
    }
    cursor = await connection.execute(ADVANCE, values)
    return {str(job_id) for (job_id,) in await cursor.fetchall()}


async def get_job(connection: Connection, *, tenant: str, job_id: str) -> Job:
    """Return a job; raise `NotFound`."""
    row = None
    if is_id(job_id):
        cursor = await connection.execute(SELECT, {"tenant": tenant, "job_id": job_id})
        row = await cursor.fetchone()
    return _found(row, job_id=job_id)


async def look_at_job(database: Database, *, tenant: str, job_id: str) -> Job:
    """Return a job as it is now, in one round trip; raise `NotFound`."""
    row = None
    if is_id(job_id):
        row = await database.look(SELECT, {"tenant": tenant, "job_id": job_id}, tenant=tenant)
    return _found(row, job_id=job_id)


def _found(row: TupleRow | None, *, job_id: str) -> Job:
    if row is None:
        raise no_such_job(job_id)
    return _job(*row)


def new_job(
    version: VersionReference, *, created_at: datetime, filename: str, collection: str, source: str, size_bytes: int
) -> Job:
    """Return the job of a version that was recorded just now, as `get_job` would in the same transaction."""
    return Job(
        job_id=version.job_id, tenant=version.tenant, collection_id=version.collection_id,
        document_id=version.document_id, version_id=version.version_id, lane=version.lane, status="pending", stage="",
        percentage=0, chunks_created=0, error_code="", error_message="", error_stage="", filename=filename,
        collection=collection, source=source, size_bytes=size_bytes, stage_times={}, created_at=created_at,
        started_at=None, updated_at=created_at, finished_at=None,
    )


def no_such_job(job_id: str) -> NotFound:
    """Return the error for an id that names no job of the tenant."""
    return NotFound(f"There is no job {job_id}.", field="job_id")


async def list_jobs(
    connection: Connection,
    *,
    tenant: str,
    collection_id: str | None = None,
    status: str | None = None,
    page_size: int = 0,
    page_token: str = "",
) -> Page[Job]:
    """List jobs, newest first."""
    if status is not None and status not in STATUSES:
        raise InvalidArgument(f"A job's status is one of {', '.join(STATUSES)}.", field="status")
    page_size = pagination.check_page_size(page_size)
    values = {
        "tenant": tenant,
        "collection_id": collection_id,
        "status": status,
        "before": pagination.read_page_token(page_token, start=pagination.LAST_KEY),
        "limit": page_size + 1,
    }
    cursor = await connection.execute(LIST, values)
    found = [_job(*row) for row in await cursor.fetchall()]
    return pagination.make_page(found, page_size=page_size, key=lambda job: job.job_id)


def _job(*row: Any) -> Job:
    job = Job(*row)
    times = {stage: datetime.fromisoformat(str(at)) for stage, at in job.stage_times.items()}
    stages = sorted(times, key=lambda stage: (times[stage], STAGES.index(stage)))
    return dataclasses.replace(job, stage_times={stage: times[stage] for stage in stages})


COLUMNS = """job_id, job.tenant, job.collection_id, job.document_id, version_id, job.lane, status, stage, percentage,
       chunks_created, error_code, error_message, error_stage, job.filename, coalesce(collection.name, ''),
       coalesce(document.source, job.filename), job.size_bytes, stage_times, job.created_at, started_at, job.updated_at,
       finished_at"""

TABLES = """jobs as job
left join collections as collection using (collection_id)
left join documents as document using (document_id)"""

ADVANCE = """
with told as (
    select tenant, job_id, max(percentage) as percentage, max(age) as age,
           (array_agg(stage order by percentage desc))[1] as stage,
           coalesce(jsonb_object_agg(stage, now() - make_interval(secs => age)) filter (where arrived), '{}') as times
    from unnest(%(tenants)s::text[], %(job_ids)s::uuid[], %(stages)s::text[], %(percentages)b::integer[],
                %(ages)b::double precision[], %(arrived)b::boolean[])
         as reached (tenant, job_id, stage, percentage, age, arrived)
    group by tenant, job_id
),
free as materialized (
    select job.job_id, status in ('pending', 'processing') as moves,
           job.percentage < told.percentage or job.percentage = told.percentage and job.stage = '' as further
    from jobs as job
    join told using (tenant, job_id)
    for no key update of job skip locked
)
update jobs as job
set status = case when moves and further then 'processing' else status end,
    stage = case when moves and further then told.stage else job.stage end,
    percentage = case when moves and further then told.percentage else job.percentage end,
    stage_times = told.times || stage_times,
    started_at = coalesce(started_at, now() - make_interval(secs => told.age)),
    updated_at = case when moves and further then now() else updated_at end
from free
join told using (job_id)
where job.job_id = free.job_id
returning job.job_id
"""

SELECT = f"select {COLUMNS} from {TABLES} where job.tenant = %(tenant)s and job_id = %(job_id)s"

LIST = f"""
select {COLUMNS}
from {TABLES}
where job.tenant = %(tenant)s
  and (%(collection_id)s::uuid is null or job.collection_id = %(collection_id)s)
  and (%(status)s::text is null or status = %(status)s)
  and job_id < %(before)s
order by job_id desc
limit %(limit)s
"""
