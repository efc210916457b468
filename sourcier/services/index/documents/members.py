"""Documents inside documents: what a mail or an archive holds, recorded with it and deleted with it.

Locks go from the outside in: the outermost document, the one that is opened, then its members. So two archives inside
one cannot exceed the bounds together, and nobody waits for who waits for him.
"""

# Statements are put together from constants of this module alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg.types.json import Jsonb

from sourcier.services.chassis.postgres.database import Connection


@dataclass(frozen=True, slots=True)
class Opened:
    """A version whose members are to be recorded, as it stands under the locks."""

    depth: int
    """How many documents it stands in; 0 for one that was sent itself."""
    document_count: int
    """How many documents came inside the outermost one so far, and their bytes."""
    size_bytes: int
    recorded: bool
    """Whether its members, or those of a newer version, are there."""
    ended: bool
    """Whether it was deleted or overtaken."""
    metadata: Mapping[str, Any]
    category: str


async def open_version(connection: Connection, *, tenant: str, document_id: str, version_id: str) -> Opened | None:
    """Lock a document with the outermost one around it; return how it stands, None where it is gone."""
    values = {"tenant": tenant, "document_id": document_id, "version_id": version_id}
    cursor = await connection.execute(OUTERMOST, values)
    row = await cursor.fetchone()
    if row is None:
        return None
    values["outermost"], depth = row
    await connection.execute(LOCK, values | {"locked": values["outermost"]})
    await connection.execute(LOCK, values | {"locked": document_id})
    # A statement of its own: it sees what was committed while the locks were waited for.
    cursor = await connection.execute(SELECT, values)
    row = await cursor.fetchone()
    if row is None:
        return None
    recorded, ended, metadata, category = row
    cursor = await connection.execute(COUNT_WITHIN, values)
    counted = await cursor.fetchone()
    assert counted is not None
    return Opened(depth, int(counted[0]), int(counted[1]), recorded, ended, metadata, category)


async def record_none(connection: Connection, *, tenant: str, document_id: str, generation: int) -> bool:
    """Note that a version has no members; return False, with nothing noted, while there are some of one before it."""
    values = {"tenant": tenant, "document_id": document_id, "generation": generation}
    await connection.execute(LOCK, values | {"locked": document_id})
    # A statement of its own: it sees what was committed while the lock was waited for.
    cursor = await connection.execute(HAS_MEMBERS, values)
    if await cursor.fetchone() is not None:
        return False
    await connection.execute(RECORDED, values)
    return True


async def note_metadata(
    connection: Connection, *, tenant: str, version_id: str, metadata: Mapping[str, str]
) -> None:
    """Note what a version's document says of itself, before it is visible."""
    values = {"tenant": tenant, "version_id": version_id, "metadata": Jsonb(dict(metadata)) if metadata else None}
    await connection.execute(NOTE_METADATA, values)


async def taken_sources(
    connection: Connection, *, tenant: str, collection_id: str, document_id: str, sources: Sequence[str]
) -> set[str]:
    """Return which sources are those of documents that did not come inside this one: they stay whose they are."""
    values = {
        "tenant": tenant, "collection_id": collection_id, "document_id": document_id, "sources": list(sources),
    }
    cursor = await connection.execute(TAKEN, values)
    return {str(source) for (source,) in await cursor.fetchall()}


async def others(
    connection: Connection, *, tenant: str, document_id: str, kept: Sequence[str]
) -> list[str]:
    """Return the members of a document besides those that are kept."""
    values = {"tenant": tenant, "document_id": document_id, "kept": list(kept)}
    cursor = await connection.execute(OTHERS, values)
    return [str(member) for (member,) in await cursor.fetchall()]


async def recorded(connection: Connection, *, tenant: str, document_id: str, generation: int) -> None:
    """Note that the members of a version are there."""
    values = {"tenant": tenant, "document_id": document_id, "generation": generation}
    await connection.execute(RECORDED, values)


async def lock_within(connection: Connection, *, tenant: str, document_id: str) -> list[str]:
    """Lock all documents that came inside a locked one, at whatever depth; return them."""
    values = {"tenant": tenant, "document_id": document_id}
    cursor = await connection.execute(LOCK_WITHIN, values)
    return [str(member) for (member,) in await cursor.fetchall()]


# A chain that led to itself would end at the limit: none can be made, and none is followed for ever.
OUTERMOST = """
with recursive around as (
    select document_id, part_of, 0 as depth
    from documents
    where tenant = %(tenant)s and document_id = %(document_id)s
    union all
    select document.document_id, document.part_of, depth + 1
    from documents as document
    join around on document.document_id = around.part_of
    where document.tenant = %(tenant)s and depth < 100
)
select document_id, depth from around order by depth desc limit 1
"""

LOCK = "select from documents where tenant = %(tenant)s and document_id = %(locked)s for update"

SELECT = """
select document.members_generation >= version.generation, version.state = 'superseded', version.metadata,
       version.category
from documents as document
join document_versions as version on version.document_id = document.document_id
where document.tenant = %(tenant)s and document.document_id = %(document_id)s
  and version.tenant = %(tenant)s and version.version_id = %(version_id)s
"""

_WITHIN = """
with recursive within as (
    select document_id, size_bytes
    from documents
    where tenant = %(tenant)s and part_of = %({outer})s
    union
    select document.document_id, document.size_bytes
    from documents as document
    join within on document.part_of = within.document_id
    where document.tenant = %(tenant)s
)
"""

COUNT_WITHIN = _WITHIN.format(outer="outermost") + "select count(*), coalesce(sum(size_bytes), 0) from within"

# Ordered, so that two who lock the same documents do not wait for each other.
LOCK_WITHIN = _WITHIN.format(outer="document_id") + """
select document.document_id
from documents as document
join within using (document_id)
where document.tenant = %(tenant)s
order by document.document_id
for update of document
"""

HAS_MEMBERS = "select from documents where tenant = %(tenant)s and part_of = %(document_id)s limit 1"

NOTE_METADATA = """
update document_versions set found_metadata = %(metadata)s
where tenant = %(tenant)s and version_id = %(version_id)s and found_metadata is distinct from %(metadata)s
"""

TAKEN = """
select source
from documents
where tenant = %(tenant)s and collection_id = %(collection_id)s and source = any(%(sources)s)
  and part_of is distinct from %(document_id)s
"""

OTHERS = """
select document_id
from documents
where tenant = %(tenant)s and part_of = %(document_id)s and document_id <> all(%(kept)s::uuid[])
order by document_id
"""

RECORDED = """
update documents set members_generation = %(generation)s
where tenant = %(tenant)s and document_id = %(document_id)s and members_generation < %(generation)s
"""
