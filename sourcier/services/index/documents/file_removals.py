"""Files of what was deleted: noted in the transaction that deletes their rows, and forgotten once they are gone.

A crash, or a store that is away, leaves notes, and the next sweep finds them. Whether anybody needs a file is asked
when it is removed, under the lock of its content, which accepting takes too: it may have come again meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.locks import kept_files_key

UNDER_WAY_SECONDS = 3600.0
"""How long a message of a version can be under way, and bring its artefact back."""
RETRY_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class FileRemoval:
    """The original and the artefacts of a version that is gone."""

    removal_id: int
    tenant: str
    original_key: str
    content_sha256: bytes
    original_needed: bool
    """Whether a version, of any document, has the same original."""
    content_needed: bool
    """Whether a version of the tenant has the same content."""


async def note_documents(connection: Connection, values: Mapping[str, Any]) -> tuple[int, ...]:
    """Note the files of `document_ids` of a `tenant`, before their versions go; return the ids of what is due."""
    return await _note(connection, NOTE_DOCUMENTS, values)


async def note_versions(connection: Connection, version_ids: Sequence[str]) -> tuple[int, ...]:
    """Note the files of versions, of whatever tenants, likewise."""
    return await _note(connection, NOTE_VERSIONS, {"version_ids": list(version_ids)})


async def due(connection: Connection, *, limit: int, among: Sequence[int] | None = None) -> list[FileRemoval]:
    """Return what is due, of all notes or of these, each locked, and its content against being taken in.

    What is being taken in at this moment, or removed by somebody else, is left out.
    """
    cursor = await connection.execute(LOCK, {"limit": limit, "among": None if among is None else list(among)})
    locked = [removal_id for (removal_id,) in await cursor.fetchall()]
    async with connection.cursor(row_factory=class_row(FileRemoval), binary=True) as removals:
        # A statement of its own: it sees what was accepted before the lock was had.
        await removals.execute(SELECT, {"removal_ids": locked})
        return await removals.fetchall()


async def forget(connection: Connection, removal_ids: Sequence[int]) -> None:
    """Forget notes whose files are gone, or needed."""
    await connection.execute("delete from file_removals where removal_id = any(%s)", (list(removal_ids),))


async def postpone(connection: Connection, removal_id: int) -> None:
    """Try a note again later, after those that are due by then."""
    await connection.execute(POSTPONE, {"removal_id": removal_id, "seconds": RETRY_SECONDS})


async def _note(connection: Connection, statement: str, values: Mapping[str, Any]) -> tuple[int, ...]:
    cursor = await connection.execute(statement, {**values, "under_way_seconds": UNDER_WAY_SECONDS})
    return tuple(removal_id for removal_id, is_due in await cursor.fetchall() if is_due)


# What was refused has no original, nor anything made of it. What was released may be read at this moment, and its
# artefact stored: it is removed once more after that.
_NOTE = """
insert into file_removals (tenant, original_key, content_sha256, not_before)
select distinct tenant, original_key, content_sha256, now() + make_interval(secs => waited.seconds)
from document_versions as version
join (values (0), (%(under_way_seconds)s)) as waited (seconds)
  on waited.seconds = 0 or version.state = 'released' or (
      version.state = 'superseded' and finished_at > now() - make_interval(secs => %(under_way_seconds)s)
  )
where original_key <> '' and {which}
returning removal_id, not_before <= now()
"""

NOTE_DOCUMENTS = _NOTE.format(which="tenant = %(tenant)s and document_id = any(%(document_ids)s::uuid[])")
NOTE_VERSIONS = _NOTE.format(which="version_id = any(%(version_ids)s::uuid[])")

# Chosen first: the lock would be taken for every note there is.
LOCK = f"""
with chosen as materialized (
    select removal_id, tenant, content_sha256
    from file_removals
    where not_before <= now()
      -- Not while a back-up is taken, whose database may name them.
      and (select pg_try_advisory_xact_lock_shared({kept_files_key('current_schema()')}))
      and (%(among)s::bigint[] is null or removal_id = any(%(among)s::bigint[]))
    order by not_before
    limit %(limit)s
    for update skip locked
)
select removal_id
from chosen
where pg_try_advisory_xact_lock(hashtextextended(tenant || encode(content_sha256, 'hex'), 0))
"""  # noqa: S608

SELECT = """
select removal_id, tenant, original_key, content_sha256,
       exists (
           select from document_versions as version
           where version.tenant = removal.tenant and version.original_key = removal.original_key
       ) as original_needed,
       exists (
           select from document_versions as version
           where version.tenant = removal.tenant and version.content_sha256 = removal.content_sha256
       ) as content_needed
from file_removals as removal
where removal_id = any(%(removal_ids)s)
"""

POSTPONE = """
update file_removals set not_before = now() + make_interval(secs => %(seconds)s) where removal_id = %(removal_id)s
"""
