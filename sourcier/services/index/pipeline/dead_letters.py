"""Dead letters: work that was given up, kept with its reason and its message, to be sent again or closed.

Whoever sends one again or closes it holds the lock on the document's row, as all who change what is below a document;
for an object of a bucket it is the lock on the object's row, as for whoever takes objects in.
"""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from sourcier.services.chassis.errors import InvalidArgument, NotFound
from sourcier.services.chassis.ids import is_id, new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index import pagination
from sourcier.services.index.buckets import manifest
from sourcier.services.index.collections.versions import VersionReference
from sourcier.services.index.pagination import Page
from sourcier.services.index.pipeline import outbox
from sourcier.services.index.pipeline.commit_statements import LOCK_DOCUMENT
from sourcier.services.index.pipeline.outbox import OutboxMessage

ACCEPT = "accept"
"""The stage of a bucket's objects that could not be taken in. Its payload is JSON, {"bucket": …, "key": …}: there is no
message to send again, the object is read again."""
STAGES = (ACCEPT, "parse", "ocr", "speech", "chunk", "embed", "index")
STATES = ("open", "replayed", "discarded")


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
class DeadLetter:
    """A failure on record, with what is known of its document; the payload stays in the table, it may be large."""

    dead_letter_id: str
    tenant: str
    state: str
    """`open`, `replayed` or `discarded`."""
    stage: str
    reason: str
    message: str
    attempts: int
    subject: str
    payload_bytes: int
    collection_id: str
    document_id: str
    version_id: str
    generation: int
    job_id: str
    collection: str
    """The collection's name; empty once it is deleted."""
    source: str
    """What identifies the document; the file's name once it is deleted."""
    filename: str
    request_id: str
    original_key: str
    """Where the original is; empty once it is removed."""
    failed_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which dead letters are meant; what is left empty narrows nothing."""

    stage: str = ""
    reason: str = ""
    collection_id: str | None = None


EVERYTHING = Selection()


async def fail_version(connection: Connection, version: VersionReference, failure: Failure) -> str | None:
    """Give a version up: a dead letter, and its job failed with the message.

    Returns the dead letter's id; None where this message was given up before, or the version is committed, superseded
    or deleted: then there is nothing to give up. Staged batches stay, so that a replay of the missing ones completes
    the version.
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


async def still_refused(
    connection: Connection, *, tenant: str, collection_id: str, document_id: str, reason: str
) -> bool:
    """Return whether an object's document already has an open letter that it cannot be taken in, for this reason."""
    values = {"tenant": tenant, "collection_id": collection_id, "document_id": document_id, "reason": reason}
    cursor = await connection.execute(SELECT_REFUSED, {**values, "stage": ACCEPT})
    return await cursor.fetchone() is not None


async def get_dead_letter(connection: Connection, *, tenant: str, dead_letter_id: str) -> DeadLetter:
    """Return a dead letter; raise `NotFound`."""
    letter = None
    if is_id(dead_letter_id):
        async with connection.cursor(row_factory=class_row(DeadLetter)) as cursor:
            await cursor.execute(SELECT, {"tenant": tenant, "dead_letter_id": dead_letter_id})
            letter = await cursor.fetchone()
    if letter is None:
        raise _not_found(dead_letter_id)
    return letter


async def list_dead_letters(
    connection: Connection,
    *,
    tenant: str,
    state: str = "open",
    selection: Selection = EVERYTHING,
    page_size: int = 0,
    page_token: str = "",
) -> Page[DeadLetter]:
    """List dead letters in one state, newest first."""
    if state not in STATES:
        raise InvalidArgument(f"A failure's state is one of {', '.join(STATES)}.", field="state")
    page_size = pagination.check_page_size(page_size)
    values = _values(tenant, selection) | {
        "state": state,
        "before": pagination.read_page_token(page_token, start=pagination.LAST_KEY),
        "limit": page_size + 1,
    }
    async with connection.cursor(row_factory=class_row(DeadLetter)) as cursor:
        await cursor.execute(LIST, values)
        found = await cursor.fetchall()
    return pagination.make_page(found, page_size=page_size, key=lambda letter: letter.dead_letter_id)


async def open_ids(
    connection: Connection, *, tenant: str, selection: Selection, after: str, until: str, limit: int
) -> list[str]:
    """Return the ids of open dead letters, oldest first: those after one id, up to another."""
    values = _values(tenant, selection) | {"after": after, "until": until, "limit": limit}
    cursor = await connection.execute(SELECT_OPEN, values)
    return [str(dead_letter_id) for (dead_letter_id,) in await cursor.fetchall()]


async def check_ids(connection: Connection, *, tenant: str, dead_letter_ids: Sequence[str]) -> None:
    """Raise `NotFound` for the first id that names no dead letter."""
    for dead_letter_id in dead_letter_ids:
        if not is_id(dead_letter_id):
            raise _not_found(dead_letter_id)
    cursor = await connection.execute(SELECT_KNOWN, {"tenant": tenant, "dead_letter_ids": list(dead_letter_ids)})
    row = await cursor.fetchone()
    if row is not None:
        raise _not_found(str(row[0]))


async def replay(
    connection: Connection, *, tenant: str, dead_letter_id: str, address: Callable[[str, str, bytes], str]
) -> bool:
    """Have the stage that gave up try again: the version is open again, and the message goes into the outbox.

    `address` returns the subject of a stage's message in a lane. False, and nothing is changed, where the letter was
    closed before, or where a newer version or a deletion took the version's place.
    """
    letter = await get_dead_letter(connection, tenant=tenant, dead_letter_id=dead_letter_id)
    if letter.stage == ACCEPT:
        return await _take_again(connection, letter)
    values = _letter_values(letter)
    await connection.execute(LOCK_DOCUMENT, values)
    cursor = await connection.execute(SELECT_MESSAGE, values, binary=True)
    row = await cursor.fetchone()
    if row is None:
        return False
    payload, lane = row
    cursor = await connection.execute(REOPEN_VERSION, values)
    if cursor.rowcount == 0:
        return False
    for statement in (CLOSE, REOPEN_JOB):
        await connection.execute(statement, values | {"state": "replayed"})
    await outbox.put(connection, OutboxMessage(
        tenant=tenant, subject=address(letter.stage, lane, payload), payload=payload,
        # Another message id: that of the message given up may still be in the broker's duplicates window.
        message_id=f"{dead_letter_id}-replayed-{time.time_ns()}",
    ))
    return True


async def discard(connection: Connection, *, tenant: str, dead_letter_id: str) -> bool:
    """Close a dead letter without trying again, and drop what was staged; return whether it was open."""
    letter = await get_dead_letter(connection, tenant=tenant, dead_letter_id=dead_letter_id)
    values = _letter_values(letter)
    await connection.execute(LOCK_DOCUMENT, values)
    cursor = await connection.execute(CLOSE, values | {"state": "discarded"})
    if cursor.rowcount == 0:
        return False
    cursor = await connection.execute(DISCARD_VERSION, values)
    if cursor.rowcount == 1:
        # Of no other version: one that was opened again by another of its letters needs what it has staged.
        await connection.execute(DELETE_STAGED_CHUNKS, values)
    return True


async def _take_again(connection: Connection, letter: DeadLetter) -> bool:
    values = _letter_values(letter)
    cursor = await connection.execute(SELECT_MESSAGE, values, binary=True)
    row = await cursor.fetchone()
    if row is None:
        return False
    named = json.loads(row[0])
    # The object's row first, as whoever takes it in: it holds that row when it writes a letter.
    if not await manifest.take_again(connection, tenant=letter.tenant, bucket=named["bucket"], key=named["key"]):
        return False
    cursor = await connection.execute(CLOSE, values | {"state": "replayed"})
    return cursor.rowcount == 1


def _not_found(dead_letter_id: str) -> NotFound:
    return NotFound(f"There is no failure {dead_letter_id}.", field="dead_letter_id")


def _values(tenant: str, selection: Selection) -> dict[str, object]:
    if selection.stage and selection.stage not in STAGES:
        raise InvalidArgument(f"stage is {selection.stage!r}; use one of {', '.join(STAGES)}", field="filter.stage")
    return {
        "tenant": tenant, "stage": selection.stage, "reason": selection.reason,
        "collection_id": selection.collection_id,
    }


def _letter_values(letter: DeadLetter) -> dict[str, object]:
    return {
        "tenant": letter.tenant, "dead_letter_id": letter.dead_letter_id, "document_id": letter.document_id,
        "version_id": letter.version_id, "job_id": letter.job_id,
    }


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
on conflict (version_id, stage, sha256(payload), tenant) where state = 'open' do nothing
"""

SELECT_REFUSED = """
select from dead_letters
where tenant = %(tenant)s and collection_id = %(collection_id)s and document_id = %(document_id)s
  and stage = %(stage)s and reason = %(reason)s and state = 'open'
limit 1
"""

DESCRIBED = """
select letter.dead_letter_id, letter.tenant, letter.state, letter.stage, letter.reason, letter.message, letter.attempts,
       letter.subject, length(letter.payload) as payload_bytes, letter.collection_id, letter.document_id,
       letter.version_id, letter.generation, letter.job_id, coalesce(collection.name, '') as collection,
       coalesce(document.source, job.filename, '') as source,
       coalesce(version.filename, job.filename, '') as filename,
       coalesce(version.request_id, '') as request_id, coalesce(version.original_key, '') as original_key,
       letter.failed_at
from dead_letters as letter
left join collections as collection on collection.collection_id = letter.collection_id
left join documents as document on document.document_id = letter.document_id
left join document_versions as version on version.version_id = letter.version_id
left join jobs as job on job.job_id = letter.job_id
"""

SELECT = f"{DESCRIBED} where letter.tenant = %(tenant)s and letter.dead_letter_id = %(dead_letter_id)s"

_SELECTED = """
  and (%(stage)s::text = '' or letter.stage = %(stage)s)
  and (%(reason)s::text = '' or letter.reason = %(reason)s)
  and (%(collection_id)s::uuid is null or letter.collection_id = %(collection_id)s)
"""

LIST = f"""
{DESCRIBED}
where letter.tenant = %(tenant)s and letter.state = %(state)s and letter.dead_letter_id < %(before)s
  {_SELECTED}
order by letter.dead_letter_id desc
limit %(limit)s
"""

SELECT_OPEN = f"""
select letter.dead_letter_id
from dead_letters as letter
where letter.tenant = %(tenant)s and letter.state = 'open'
  and letter.dead_letter_id > %(after)s and letter.dead_letter_id <= %(until)s
  {_SELECTED}
order by letter.dead_letter_id
limit %(limit)s
"""

SELECT_KNOWN = """
select asked.dead_letter_id
from unnest(%(dead_letter_ids)s::uuid[]) with ordinality as asked (dead_letter_id, place)
where not exists (
    select from dead_letters as letter
    where letter.tenant = %(tenant)s and letter.dead_letter_id = asked.dead_letter_id
)
order by asked.place
limit 1
"""

# Only the newest version of a document is worth the work.
SELECT_MESSAGE = """
select letter.payload, version.lane
from dead_letters as letter
join document_versions as version on version.version_id = letter.version_id
join documents as document on document.document_id = version.document_id
where letter.tenant = %(tenant)s and letter.dead_letter_id = %(dead_letter_id)s and letter.state = 'open'
  and document.last_generation = version.generation
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
