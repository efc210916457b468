"""Jobs: what a person sees of a document on its way into the index."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from services.chassis.errors import InvalidArgument, NotFound
from services.chassis.ids import is_id
from services.chassis.postgres import Connection
from services.index import pagination
from services.index.pagination import Page

STATUSES = ("pending", "processing", "completed", "failed")


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
    """When each stage was reached, in the order they were."""
    created_at: datetime
    started_at: datetime | None
    updated_at: datetime
    finished_at: datetime | None


async def advance_job(
    connection: Connection, *, tenant: str, job_id: str, stage: str, percentage: int, passed: Sequence[str] = ()
) -> bool:
    """Move a job on to a stage, `passed` ones before it reached at the same moment; return whether it moved.

    It never moves backwards and a finished one stays finished, since messages come twice and out of order.
    """
    values = {
        "tenant": tenant, "job_id": job_id, "stage": stage, "percentage": percentage, "reached": [*passed, stage]
    }
    cursor = await connection.execute(ADVANCE, values)
    return cursor.rowcount == 1


async def get_job(connection: Connection, *, tenant: str, job_id: str) -> Job:
    """Return a job; raise `NotFound`."""
    row = None
    if is_id(job_id):
        cursor = await connection.execute(SELECT, {"tenant": tenant, "job_id": job_id})
        row = await cursor.fetchone()
    if row is None:
        raise NotFound(f"There is no job {job_id}.", field="job_id")
    return _job(*row)


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
    times = sorted((datetime.fromisoformat(str(at)), stage) for stage, at in job.stage_times.items())
    return dataclasses.replace(job, stage_times={stage: at for at, stage in times})


COLUMNS = """job_id, job.tenant, job.collection_id, job.document_id, version_id, job.lane, status, stage, percentage,
       chunks_created, error_code, error_message, error_stage, job.filename, coalesce(collection.name, ''),
       coalesce(document.source, job.filename), job.size_bytes, stage_times, job.created_at, started_at, job.updated_at,
       finished_at"""

TABLES = """jobs as job
left join collections as collection using (collection_id)
left join documents as document using (document_id)"""

ADVANCE = """
update jobs
set status = 'processing', stage = %(stage)s, percentage = %(percentage)s,
    stage_times = (
        select jsonb_object_agg(reached, now()) from unnest(%(reached)s::text[]) as stage (reached)
    ) || stage_times,
    started_at = coalesce(started_at, now()), updated_at = now()
where tenant = %(tenant)s and job_id = %(job_id)s
  and status in ('pending', 'processing')
  and (percentage < %(percentage)s or percentage = %(percentage)s and stage = '')
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
