"""Collections: documents that are cut alike and share an embedding space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from sourcier.services.chassis.access import current_access
from sourcier.services.chassis.errors import AlreadyExists, InvalidArgument, NotFound
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.chassis.storable import check_storable
from sourcier.services.chassis.tenants import TENANT_PATTERN
from sourcier.services.index import pagination
from sourcier.services.index.pagination import Page
from sourcier.services.index.search.settings import RetrievalSettings
from sourcier.services.index.spaces.partitions import ensure_partition
from sourcier.services.index.spaces.spaces import get_space, take_up

DEFAULT_COLLECTION = "default"
NAME_CHARACTERS_MAX = 200
RETENTION_DAYS_MAX = 36_500


@dataclass(frozen=True, slots=True)
class Chunking:
    """How a collection wants its documents cut."""

    method: str
    unit: str
    target: int
    overlap: int
    maximum: int


@dataclass(frozen=True, slots=True)
class Collection:
    """A collection; what it holds is counted by `count_held`, which reads all its documents."""

    collection_id: str
    tenant: str
    number: int
    name: str
    space_id: str
    lane: str
    chunking: Chunking
    created_at: datetime
    retention_days: int = 0
    """Days a document is kept after it was indexed last; 0 keeps it until it is deleted."""
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    """How its passages are searched for, where a request does not say."""


@dataclass(frozen=True, slots=True)
class Held:
    """What can be found in a collection."""

    documents: int = 0
    chunks: int = 0


@dataclass(frozen=True, slots=True)
class CollectionUpdate:
    """What a change did."""

    chunking: Chunking
    outdated_count: int
    """Documents that can be found and were cut otherwise."""
    retention_days: int


async def create_collection(
    connection: Connection, *, tenant: str, name: str, space_id: str, chunking: Chunking, lane: str = "bulk",
    retention_days: int = 0, retrieval: RetrievalSettings | None = None,
) -> Collection:
    """Create a collection; raise `AlreadyExists` or `InvalidArgument`."""
    created = await _insert(
        connection, tenant=tenant, name=name, space_id=space_id, chunking=chunking, lane=lane,
        retention_days=retention_days, retrieval=retrieval,
    )
    if not created:
        raise AlreadyExists(f"There is already a collection {name!r}.", field="name")
    return await get_collection(connection, tenant=tenant, name=name)


async def ensure_collection(
    connection: Connection, *, tenant: str, name: str, space_id: str, chunking: Chunking, lane: str = "bulk",
    retention_days: int = 0,
) -> Collection:
    """Return the collection of this name, made with these settings where it does not exist.

    Raises `NotFound` for a caller who may make none, whether one that it may not see has this name or not.
    """
    found = await _select(connection, tenant=tenant, name=name)
    if found:
        return found[0]
    access = current_access()
    if access is not None and not access.everything:
        raise _not_found(name)
    await _insert(
        connection, tenant=tenant, name=name, space_id=space_id, chunking=chunking, lane=lane,
        retention_days=retention_days,
    )
    return await get_collection(connection, tenant=tenant, name=name)


async def get_collection(connection: Connection, *, tenant: str, name: str) -> Collection:
    """Return a collection by its name; raise `NotFound`."""
    check_storable(name, field="collection")
    found = await _select(connection, tenant=tenant, name=name or DEFAULT_COLLECTION)
    if not found:
        raise _not_found(name)
    return found[0]


async def list_collections(
    connection: Connection, *, tenant: str, page_size: int = 0, page_token: str = ""
) -> Page[Collection]:
    """List the tenant's collections in the order they were created."""
    page_size = pagination.check_page_size(page_size)
    after = pagination.read_page_token(page_token, start=pagination.FIRST_KEY)
    found = await _select(connection, tenant=tenant, name=None, after=after, limit=page_size + 1)
    return pagination.make_page(found, page_size=page_size, key=lambda collection: collection.collection_id)


async def names_with_documents(connection: Connection, *, tenant: str, limit: int) -> list[str]:
    """Return the names of collections that hold a document that can be found, at most so many, in their order."""
    cursor = await connection.execute(SELECT_NAMES_WITH_DOCUMENTS, {"tenant": tenant, "limit": limit})
    return [str(name) for (name,) in await cursor.fetchall()]


async def count_held(connection: Connection, *, tenant: str, of: Sequence[Collection]) -> list[Held]:
    """Return what can be found in each collection, in their order; takes as long as they have documents."""
    ids = [collection.collection_id for collection in of]
    cursor = await connection.execute(COUNT_HELD, {"tenant": tenant, "collection_ids": ids})
    held = {collection_id: Held(documents, chunks) async for collection_id, documents, chunks in cursor}
    return [held.get(collection_id, Held()) for collection_id in ids]


async def retrieval_of(connection: Connection, *, tenant: str, name: str) -> RetrievalSettings:
    """Return how a collection's passages are searched for; nothing said where there is no such collection."""
    cursor = await connection.execute(SELECT_RETRIEVAL, {"tenant": tenant, "name": name or DEFAULT_COLLECTION})
    row = await cursor.fetchone()
    return RetrievalSettings() if row is None else RetrievalSettings.stored(row[0])


async def search_settings_of(database: Database, *, tenant: str, name: str) -> tuple[RetrievalSettings, str]:
    """Return how a collection's passages are searched for, and in which space; nothing where there is none such."""
    values = {"tenant": tenant, "name": name or DEFAULT_COLLECTION}
    row = await database.look(SELECT_SEARCH_SETTINGS, values, tenant=tenant)
    return (RetrievalSettings(), "") if row is None else (RetrievalSettings.stored(row[0]), str(row[1]))


async def lock_collection(connection: Connection, *, tenant: str, name: str) -> Collection:
    """Return a collection whose settings nobody else changes before this transaction ends; raise `NotFound`."""
    check_storable(name, field="name")
    await connection.execute(LOCK_SETTINGS, {"tenant": tenant, "name": name or DEFAULT_COLLECTION})
    return await get_collection(connection, tenant=tenant, name=name)


async def update_collection(
    connection: Connection, *, tenant: str, name: str, chunking: Chunking, retention_days: int,
    configuration_digest: str, retrieval: RetrievalSettings | None = None,
) -> CollectionUpdate:
    """Cut, keep and search a collection's documents otherwise from now on; raise `NotFound` or `InvalidArgument`.

    Those it holds stay as they are cut; how long they are kept is the same for all.
    """
    values = {
        "tenant": tenant, "name": name, "digest": configuration_digest,
        "retention_days": _checked_retention(retention_days), "retrieval": _stored(retrieval), **asdict(chunking),
    }
    cursor = await connection.execute(UPDATE, values)
    row = await cursor.fetchone()
    if row is None:
        raise _not_found(name)
    cursor = await connection.execute(COUNT_OUTDATED, values | {"collection_id": row[0]})
    counted = await cursor.fetchone()
    return CollectionUpdate(
        chunking, outdated_count=0 if counted is None else counted[0], retention_days=retention_days
    )


async def _insert(
    connection: Connection, *, tenant: str, name: str, space_id: str, chunking: Chunking, lane: str,
    retention_days: int, retrieval: RetrievalSettings | None = None,
) -> bool:
    if not TENANT_PATTERN.fullmatch(tenant):
        raise InvalidArgument("A tenant is 1 to 40 characters of a-z, 0-9 and hyphen.", field="tenant")
    if not name.strip() or len(name) > NAME_CHARACTERS_MAX or not name.isprintable():
        message = f"A collection's name is 1 to {NAME_CHARACTERS_MAX} printable characters."
        raise InvalidArgument(message, field="name")
    _checked_retention(retention_days)
    await get_space(connection, space_id)
    await connection.execute(INSERT_TENANT, (tenant,))
    values = {
        "collection_id": new_id(),
        "tenant": tenant,
        "name": name,
        "space_id": space_id,
        "lane": lane,
        "method": chunking.method,
        "unit": chunking.unit,
        "target": chunking.target,
        "overlap": chunking.overlap,
        "maximum": chunking.maximum,
        "retention_days": retention_days,
        "retrieval": _stored(retrieval or RetrievalSettings()),
    }
    cursor = await connection.execute(INSERT, values)
    if cursor.rowcount == 0:
        return False  # one that is there may have gone to another space since, and needs nothing of this one
    space = await take_up(connection, space_id)
    await ensure_partition(connection, vectors_table=space.vectors_table, tenant=tenant)
    return True


def _not_found(name: str) -> NotFound:
    return NotFound(f"There is no collection {name!r}.", field="collection")


def _stored(retrieval: RetrievalSettings | None) -> Jsonb | None:
    return None if retrieval is None else Jsonb(retrieval.checked(prefix="retrieval.").said)


def _checked_retention(retention_days: int) -> int:
    if not 0 <= retention_days <= RETENTION_DAYS_MAX:
        raise InvalidArgument(
            f"retention_days cannot be {retention_days}: use 1 to {RETENTION_DAYS_MAX:,} days, or 0 to keep documents "
            "until they are deleted.", field="retention_days",
        )
    return retention_days


async def _select(
    connection: Connection, *, tenant: str, name: str | None, after: str = pagination.FIRST_KEY, limit: int = 1
) -> list[Collection]:
    values = {"tenant": tenant, "name": name, "after": after, "limit": limit}
    cursor = await connection.execute(SELECT, values)
    return [_collection(*row) for row in await cursor.fetchall()]


def _collection(
    collection_id: str, tenant: str, number: int, name: str, space_id: str, lane: str, created_at: datetime, *rest: Any
) -> Collection:
    *chunking, retention_days, retrieval = rest
    return Collection(
        collection_id=collection_id,
        tenant=tenant,
        number=number,
        name=name,
        space_id=space_id,
        lane=lane,
        chunking=Chunking(*chunking),
        created_at=created_at,
        retention_days=retention_days,
        retrieval=RetrievalSettings.stored(retrieval),
    )


INSERT_TENANT = "insert into tenants (tenant) values (%s) on conflict do nothing"

INSERT = """
insert into collections (collection_id, tenant, name, space_id, lane, chunking_method, chunking_unit, chunking_target,
                         chunking_overlap, chunking_maximum, retention_days, retrieval)
values (%(collection_id)s, %(tenant)s, %(name)s, %(space_id)s, %(lane)s, %(method)s, %(unit)s, %(target)s,
        %(overlap)s, %(maximum)s, %(retention_days)s, %(retrieval)s)
on conflict (tenant, name) do nothing
"""

SELECT = """
select collection_id, tenant, number, name, space_id, lane, created_at,
       chunking_method, chunking_unit, chunking_target, chunking_overlap, chunking_maximum, retention_days, retrieval
from collections
where tenant = %(tenant)s
  and (%(name)s::text is null or name = %(name)s)
  and collection_id > %(after)s
order by collection_id
limit %(limit)s
"""

COUNT_HELD = """
select collection_id, count(*)::int, coalesce(sum(chunk_count), 0)::int
from documents
where tenant = %(tenant)s and collection_id = any(%(collection_ids)s::uuid[]) and current_version is not null
group by collection_id
"""

SELECT_NAMES_WITH_DOCUMENTS = """
select name
from collections
where tenant = %(tenant)s and exists (
    select from documents
    where documents.tenant = collections.tenant and documents.collection_id = collections.collection_id
      and current_version is not null
)
order by collection_id
limit %(limit)s
"""

SELECT_RETRIEVAL = "select retrieval from collections where tenant = %(tenant)s and name = %(name)s"
SELECT_SEARCH_SETTINGS = """
select retrieval, space_id from collections where tenant = %(tenant)s and name = %(name)s
"""

# Two changes at once are one after the other; documents are accepted meanwhile, which a lock `for update` would stop.
LOCK_SETTINGS = """
select from collections where tenant = %(tenant)s and name = %(name)s for no key update
"""

UPDATE = """
update collections
set chunking_method = %(method)s, chunking_unit = %(unit)s, chunking_target = %(target)s,
    chunking_overlap = %(overlap)s, chunking_maximum = %(maximum)s, retention_days = %(retention_days)s,
    retrieval = coalesce(%(retrieval)s::jsonb, retrieval)
where tenant = %(tenant)s and name = %(name)s
returning collection_id
"""

COUNT_OUTDATED = """
select count(*)::int
from documents as document
join document_versions as version on version.version_id = document.current_version
where document.tenant = %(tenant)s and document.collection_id = %(collection_id)s
  and version.configuration_digest <> %(digest)s
"""
