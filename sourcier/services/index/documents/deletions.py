"""The deletion of a collection: its documents page by page, each page a transaction, then the collection itself.

What is deleted stays deleted, and the collection is there until the end: a deletion that is cut off goes on when it is
asked for again. Documents go as a whole, so a search meets all of one or nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.storable import check_storable
from sourcier.services.index.documents import documents
from sourcier.services.index.pagination import FIRST_KEY
from sourcier.services.index.pipeline.commit_statements import TAKE_TIME

DOCUMENTS_MAX = 500
CHUNKS_MAX = 10_000
"""Of a page, unless its one document has more: about a second's work."""
REASON = "The collection was deleted."


@dataclass(frozen=True, slots=True)
class DeletedPage:
    """Documents that were deleted."""

    document_count: int
    file_removals: tuple[int, ...]
    """Notes of the files that they leave in the object store."""
    after: str | None
    """Where the next page begins; None once there is none."""


async def find_collection(connection: Connection, *, tenant: str, name: str) -> str | None:
    """Return the id of a collection that may be deleted; None where there is none of that name.

    Raises `FailedPrecondition` while an agent answers from it: the answers that people validated are not to go with it.
    """
    check_storable(name, field="name")
    cursor = await connection.execute(SELECT, {"tenant": tenant, "name": name})
    row = await cursor.fetchone()
    if row is None:
        return None
    await _refuse_used(connection, {"tenant": tenant, "collection_id": row[0]})
    return str(row[0])


async def delete_page(
    connection: Connection, *, tenant: str, collection_id: str, after: str = FIRST_KEY,
    documents_max: int = DOCUMENTS_MAX, chunks_max: int = CHUNKS_MAX,
) -> DeletedPage:
    """Delete documents of a collection behind `after`; raise `FailedPrecondition` once an agent answers from it.

    What somebody else holds, for a commit or another deletion, is left for the end.
    """
    values = {"tenant": tenant, "collection_id": collection_id, "after": after, "limit": documents_max}
    await connection.execute(TAKE_TIME)
    await connection.execute(SHARE_COLLECTION, values)
    await _refuse_used(connection, values)
    cursor = await connection.execute(LOCK_PAGE, values)
    locked = [(str(document_id), int(chunk_count)) for document_id, chunk_count in await cursor.fetchall()]
    chosen = _page(locked, chunks_max=chunks_max)
    removals = await documents.delete_locked(
        connection, tenant=tenant, collection_id=collection_id, document_ids=chosen, reason=REASON
    )
    await connection.execute(FORGET_OBJECTS, values | {"document_ids": chosen})
    # Fewer than asked for may be there because others hold some: all behind them was looked at.
    whole = len(chosen) == len(locked) < documents_max
    return DeletedPage(len(chosen), removals, after=None if whole else chosen[-1])


async def delete_rest(connection: Connection, *, tenant: str, collection_id: str) -> DeletedPage:
    """Delete a collection with what it still holds; deleting what is not there succeeds.

    Waits for the commits under way. Raises `FailedPrecondition` while an agent answers from it.
    """
    values = {"tenant": tenant, "collection_id": collection_id}
    await connection.execute(TAKE_TIME)
    # As the collector does it: the object, then the collection and its documents.
    await connection.execute(LOCK_OBJECTS, values)
    cursor = await connection.execute(LOCK_COLLECTION, values)
    if await cursor.fetchone() is None:
        return DeletedPage(0, (), after=None)
    await _refuse_used(connection, values)
    cursor = await connection.execute(LOCK_DOCUMENTS, values)
    locked = [str(document_id) for (document_id,) in await cursor.fetchall()]
    removals = await documents.delete_locked(
        connection, tenant=tenant, collection_id=collection_id, document_ids=locked, reason=REASON
    )
    for statement in (DELETE_CHANGES, DELETE_COLLECTION):
        await connection.execute(statement, values)
    return DeletedPage(len(locked), removals, after=None)


def _page(locked: list[tuple[str, int]], *, chunks_max: int) -> list[str]:
    """Return the first documents that have so many chunks together, at least one."""
    chosen: list[str] = []
    chunks = 0
    for document_id, chunk_count in locked:
        chunks += chunk_count
        if chosen and chunks > chunks_max:
            break
        chosen.append(document_id)
    return chosen


async def _refuse_used(connection: Connection, values: dict[str, Any]) -> None:
    cursor = await connection.execute(SELECT_AGENTS, values)
    found = await cursor.fetchall()
    if found:
        raise FailedPrecondition(
            f"The collection {found[0][1]!r} is what {', '.join(repr(agent) for agent, _ in found)} answers from; "
            "delete the agent first, or give it another collection (`sourcier agents update`).", field="name",
        )


SELECT = "select collection_id from collections where tenant = %(tenant)s and name = %(name)s"

SELECT_AGENTS = """
select agent.name, collection.name
from agents as agent
join collections as collection using (collection_id)
where agent.tenant = %(tenant)s and collection_id = %(collection_id)s
order by agent.name
limit 5
"""

_COLLECTION = "select collection_id from collections where tenant = %(tenant)s and collection_id = %(collection_id)s"

# Documents may be sent meanwhile. Who begins or switches a space holds the collection for itself, and locks units then.
SHARE_COLLECTION = f"{_COLLECTION} for key share"
LOCK_COLLECTION = f"{_COLLECTION} for update"

LOCK_PAGE = """
select document_id, chunk_count
from documents
where tenant = %(tenant)s and collection_id = %(collection_id)s and document_id > %(after)s
order by document_id
limit %(limit)s
for update skip locked
"""

LOCK_DOCUMENTS = """
select document_id
from documents
where tenant = %(tenant)s and collection_id = %(collection_id)s
order by document_id
for update
"""

# The collection's deletion would do so to all of them at once. Those that the collector holds are left to it: it waits
# for the document that we hold.
FORGET_OBJECTS = """
with free as materialized (
    select tenant, bucket, key
    from objects
    where tenant = %(tenant)s and document_id = any(%(document_ids)s::uuid[])
    for no key update skip locked
)
update objects set collection_id = null
from free
where (objects.tenant, objects.bucket, objects.key) = (free.tenant, free.bucket, free.key)
"""

LOCK_OBJECTS = """
select from objects
where tenant = %(tenant)s and collection_id = %(collection_id)s
order by bucket, key
for no key update
"""

DELETE_CHANGES = "delete from lexical_changes where tenant = %(tenant)s and collection_id = %(collection_id)s"
DELETE_COLLECTION = "delete from collections where tenant = %(tenant)s and collection_id = %(collection_id)s"
