"""Dead letters: work that was given up, kept with its reason and its message."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from services.chassis.errors import NotFound
from services.chassis.ids import new_id
from services.chassis.postgres import Connection
from services.index import pagination
from services.index.pagination import Page
from services.index.versions import VersionReference


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """Why a stage gave up, and what it was working on."""

    stage: str
    reason: str
    """Machine-readable, as in `ServiceError.reason`."""
    message: str
    attempts: int
    subject: str
    payload: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter(Failure):
    """A failure on record."""

    dead_letter_id: str
    tenant: str
    collection_id: str
    document_id: str
    version_id: str
    generation: int
    job_id: str
    state: str
    """`open`, `replayed` or `discarded`."""
    failed_at: datetime


async def fail_version(connection: Connection, version: VersionReference, failure: Failure) -> str | None:
    """Give a version up: a dead letter, and its job failed with the message.

    Returns the dead letter's id, whose message the caller puts into the outbox; None where this message was given up
    before, or the version is committed, superseded or deleted: then there is nothing to give up. Staged batches stay,
    so that a replay of the missing ones completes the version.
    """
    values = {
        "dead_letter_id": new_id(),
        "tenant": version.tenant,
        "collection_id": version.collection_id,
        "document_id": version.document_id,
        "version_id": version.version_id,
        "generation": version.generation,
        "job_id": version.job_id,
        "stage": failure.stage,
        "reason": failure.reason,
        "message": failure.message,
        "attempts": failure.attempts,
        "subject": failure.subject,
        "payload": failure.payload,
    }
    await connection.execute(LOCK_DOCUMENT, values)
    cursor = await connection.execute(FAIL_VERSION, values)
    if cursor.rowcount == 0:
        return None
    cursor = await connection.execute(INSERT, values)
    if cursor.rowcount == 0:
        return None
    await connection.execute(FAIL_JOB, values)
    return str(values["dead_letter_id"])


async def get_dead_letter(connection: Connection, *, tenant: str, dead_letter_id: str) -> DeadLetter:
    """Return a dead letter; raise `NotFound`."""
    async with connection.cursor(row_factory=class_row(DeadLetter), binary=True) as cursor:
        await cursor.execute(SELECT, {"tenant": tenant, "dead_letter_id": dead_letter_id})
        letter = await cursor.fetchone()
    if letter is None:
        raise NotFound(f"There is no dead letter {dead_letter_id}.", field="dead_letter_id")
    return letter


async def list_dead_letters(
    connection: Connection, *, tenant: str, state: str = "open", page_size: int = 0, page_token: str = ""
) -> Page[DeadLetter]:
    """List dead letters in one state, newest first."""
    page_size = pagination.check_page_size(page_size)
    values = {
        "tenant": tenant,
        "state": state,
        "before": pagination.read_page_token(page_token, start=pagination.LAST_KEY),
        "limit": page_size + 1,
    }
    async with connection.cursor(row_factory=class_row(DeadLetter), binary=True) as cursor:
        await cursor.execute(LIST, values)
        found = await cursor.fetchall()
    return pagination.make_page(found, page_size=page_size, key=lambda letter: letter.dead_letter_id)


async def discard(connection: Connection, *, tenant: str, dead_letter_id: str) -> None:
    """Close a dead letter without trying again, and drop what was staged; closing it twice succeeds."""
    letter = await get_dead_letter(connection, tenant=tenant, dead_letter_id=dead_letter_id)
    values = {"tenant": tenant, "document_id": letter.document_id, "version_id": letter.version_id}
    await connection.execute(LOCK_DOCUMENT, values)
    await connection.execute(CLOSE, {"tenant": tenant, "dead_letter_id": dead_letter_id, "state": "discarded"})
    for statement in (DISCARD_VERSION, DELETE_STAGED_CHUNKS):
        await connection.execute(statement, values)


async def replay(connection: Connection, *, tenant: str, dead_letter_id: str) -> DeadLetter | None:
    """Open the version again at the stage that gave up; return the letter, whose payload goes into the outbox.

    None where it was closed before, or where a newer version or a deletion took the version's place.
    """
    letter = await get_dead_letter(connection, tenant=tenant, dead_letter_id=dead_letter_id)
    values = {"tenant": tenant, "document_id": letter.document_id, "version_id": letter.version_id}
    await connection.execute(LOCK_DOCUMENT, values)
    cursor = await connection.execute(CLOSE, {"tenant": tenant, "dead_letter_id": dead_letter_id, "state": "replayed"})
    if cursor.rowcount == 0:
        return None
    cursor = await connection.execute(REOPEN_VERSION, values)
    if cursor.rowcount == 0:
        return None
    await connection.execute(REOPEN_JOB, {"tenant": tenant, "job_id": letter.job_id})
    return letter


LOCK_DOCUMENT = "select from documents where tenant = %(tenant)s and document_id = %(document_id)s for update"

FAIL_VERSION = """
update document_versions set state = 'failed', finished_at = now()
where tenant = %(tenant)s and version_id = %(version_id)s and state in ('accepted', 'released', 'failed')
"""

FAIL_JOB = """
update jobs
set status = 'failed', error_code = %(reason)s, error_message = %(message)s, error_stage = %(stage)s,
    updated_at = now(), finished_at = now()
where tenant = %(tenant)s and job_id = %(job_id)s and status in ('pending', 'processing')
"""

INSERT = """
insert into dead_letters (dead_letter_id, tenant, collection_id, document_id, version_id, generation, job_id, stage,
                          reason, message, attempts, subject, payload)
values (%(dead_letter_id)s, %(tenant)s, %(collection_id)s, %(document_id)s, %(version_id)s, %(generation)s, %(job_id)s,
        %(stage)s, %(reason)s, %(message)s, %(attempts)s, %(subject)s, %(payload)b)
on conflict (version_id, stage, sha256(payload)) where state = 'open' do nothing
"""

COLUMNS = """dead_letter_id, tenant, collection_id, document_id, version_id, generation, job_id, stage, reason, message,
       attempts, subject, payload, state, failed_at"""

SELECT = f"select {COLUMNS} from dead_letters where tenant = %(tenant)s and dead_letter_id = %(dead_letter_id)s"

LIST = f"""
select {COLUMNS}
from dead_letters
where tenant = %(tenant)s and state = %(state)s and dead_letter_id < %(before)s
order by dead_letter_id desc
limit %(limit)s
"""

CLOSE = """
update dead_letters set state = %(state)s
where tenant = %(tenant)s and dead_letter_id = %(dead_letter_id)s and state = 'open'
"""

REOPEN_VERSION = """
update document_versions as version set state = 'released', released_at = now(), finished_at = null
from documents as document
where version.tenant = %(tenant)s and version.version_id = %(version_id)s and version.state in ('failed', 'released')
  and document.document_id = version.document_id and document.current_generation < version.generation
"""

# Superseded rather than failed: its staged batches are gone, so a late one must not be counted towards it.
DISCARD_VERSION = """
update document_versions set state = 'superseded'
where tenant = %(tenant)s and version_id = %(version_id)s and state = 'failed'
"""

DELETE_STAGED_CHUNKS = "delete from staged_chunks where tenant = %(tenant)s and version_id = %(version_id)s"

REOPEN_JOB = """
update jobs
set status = 'pending', error_code = '', error_message = '', error_stage = '', stage = '', percentage = 0,
    updated_at = now(), finished_at = null
where tenant = %(tenant)s and job_id = %(job_id)s and status = 'failed'
"""
