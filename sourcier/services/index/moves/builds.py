"""A collection's move to another embedding space: built beside the one that answers, switched to and back in one row.

building → ready ⇄ live → retired; whatever is not live may be dropped. A collection has one open build at a time, so it
is in two spaces at most: its own, which every search reads, and the one beside it.
"""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from psycopg import sql
from psycopg.rows import class_row

from sourcier.services.chassis.errors import AlreadyExists, FailedPrecondition, NotFound
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.curation.response_vectors import count_missing, forget_space
from sourcier.services.index.spaces.held import OPEN_STATES
from sourcier.services.index.spaces.partitions import ensure_partition
from sourcier.services.index.spaces.spaces import get_space, take_up
from sourcier.services.index.units import vectors as unit_points


@dataclass(frozen=True, slots=True)
class SpaceBuild:
    """How far a collection's move is."""

    build_id: str
    tenant: str
    collection_id: str
    collection: str
    """The collection's name."""
    from_space_id: str
    space_id: str
    state: str
    """`building`, `ready`, `live`, `retired`, `dropped` or `failed`."""
    chunks_total: int
    chunks_done: int
    """Chunks that have a vector in the space that does not answer, when last counted."""
    error: str
    """What keeps it from going on; empty while it does."""
    created_at: datetime
    updated_at: datetime
    ready_at: datetime | None
    switched_at: datetime | None
    finished_at: datetime | None

    @property
    def other_space_id(self) -> str:
        """The space that does not answer: the new one, or after the switch the old one."""
        return self.from_space_id if self.state in ("live", "retired") else self.space_id


@dataclass(frozen=True, slots=True)
class _Locked:
    collection_id: str
    name: str
    space_id: str


async def begin(connection: Connection, *, tenant: str, collection: str, space_id: str) -> SpaceBuild:
    """Begin to build a collection's vectors in a space; one that is under way already is returned as it is.

    One that failed begins anew, and a space that was retired is live again. Raises `NotFound`, `FailedPrecondition`
    where it is the collection's own space or its table is gone, or `AlreadyExists` where another build is open.
    """
    locked = await _lock(connection, tenant=tenant, collection=collection)
    opened = await _open(connection, tenant=tenant, collection_id=locked.collection_id)
    if opened is not None and space_id in (opened.space_id, opened.from_space_id):
        await take_up(connection, space_id)
        if opened.state == "failed":
            await connection.execute(RESTART, {"build_id": opened.build_id})
        return await get_build(connection, tenant=tenant, build_id=opened.build_id)
    if opened is not None:
        raise AlreadyExists(
            f"The collection {locked.name!r} has a build of the space {opened.space_id} open; drop it first.",
            field="space",
        )
    if space_id == locked.space_id:
        raise FailedPrecondition(f"The collection {locked.name!r} is in the space {space_id} already.", field="space")
    space = await take_up(connection, space_id)
    cursor = await connection.execute(PASSAGES, {"tenant": tenant})
    row = await cursor.fetchone()
    assert row is not None
    await ensure_partition(connection, vectors_table=space.vectors_table, tenant=tenant, rows=int(row[0]))
    values = {
        "build_id": new_id(), "tenant": tenant, "collection_id": locked.collection_id, "space_id": space_id,
        "from_space_id": locked.space_id,
    }
    await connection.execute(INSERT, values)
    await unit_points.note_gaps(connection, collection_id=locked.collection_id, space_id=space_id)
    return await get_build(connection, tenant=tenant, build_id=values["build_id"])


async def switch(connection: Connection, *, tenant: str, collection: str, force: bool = False) -> SpaceBuild:
    """Let searches read the space that was built; the one before is kept, to go back to.

    Raises `FailedPrecondition` unless the build is ready and whole. With `force` also before: documents that lack
    vectors are then found by their words alone until they have them.
    """
    return await _change(
        connection, tenant=tenant, collection=collection, force=force, from_states=("ready", "building"), to="live"
    )


async def roll_back(connection: Connection, *, tenant: str, collection: str, force: bool = False) -> SpaceBuild:
    """Let searches read the space before the switch again; the newer one is kept beside it.

    Raises `FailedPrecondition` where nothing was switched, or, unless `force`, while documents that came since lack
    vectors there.
    """
    return await _change(
        connection, tenant=tenant, collection=collection, force=force, from_states=("live",), to="ready"
    )


async def drop(connection: Connection, *, tenant: str, collection: str) -> SpaceBuild:
    """Give up the space that does not answer; its vectors are deleted soon after. Raises `NotFound`."""
    locked = await _lock(connection, tenant=tenant, collection=collection)
    opened = await _required(connection, tenant=tenant, locked=locked)
    state = "retired" if opened.state == "live" else "dropped"
    await connection.execute(FINISH, {"build_id": opened.build_id, "state": state})
    await forget_space(connection, collection_id=locked.collection_id, space_id=opened.other_space_id)
    await unit_points.forget_space(connection, collection_id=locked.collection_id, space_id=opened.other_space_id)
    return await get_build(connection, tenant=tenant, build_id=opened.build_id)


async def get_build(connection: Connection, *, tenant: str, build_id: str) -> SpaceBuild:
    """Return a build; raise `NotFound`."""
    async with connection.cursor(row_factory=class_row(SpaceBuild)) as cursor:
        await cursor.execute(SELECT, {"tenant": tenant, "build_id": build_id})
        build = await cursor.fetchone()
    if build is None:
        raise NotFound("There is no such build of a space.", field="build_id")
    return build


async def newest_build(connection: Connection, *, tenant: str, collection: str) -> SpaceBuild:
    """Return a collection's build, the newest one; raise `NotFound`."""
    async with connection.cursor(row_factory=class_row(SpaceBuild)) as cursor:
        await cursor.execute(SELECT_NEWEST, {"tenant": tenant, "collection": collection})
        build = await cursor.fetchone()
    if build is None:
        raise NotFound(
            f"The collection {collection!r} has no build of another space; begin one first (`sourcier spaces "
            "build`).", field="collection",
        )
    return build


async def open_build(connection: Connection, *, tenant: str, collection: str) -> SpaceBuild:
    """Return a collection's open build; raise `NotFound` where it has no other space."""
    build = await newest_build(connection, tenant=tenant, collection=collection)
    if build.state not in ("building", "ready", "live", "failed"):
        raise NotFound(f"The collection {collection!r} has no other space; build one first.", field="collection")
    return build


async def list_builds(connection: Connection, *, tenant: str) -> list[SpaceBuild]:
    """Return a tenant's builds, each collection's newest one."""
    async with connection.cursor(row_factory=class_row(SpaceBuild)) as cursor:
        await cursor.execute(SELECT_ALL, {"tenant": tenant})
        return await cursor.fetchall()


async def count_vectors(connection: Connection, *, tenant: str, collection_id: str, space_id: str) -> tuple[int, int]:
    """Return how many chunks of a collection can be found, and how many of them have a vector in a space."""
    space = await get_space(connection, space_id)
    statement = sql.SQL(COUNT_VECTORS).format(table=sql.Identifier(space.vectors_table))
    cursor = await connection.execute(statement, {"tenant": tenant, "collection_id": collection_id})
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0]), int(row[1])


async def _change(
    connection: Connection, *, tenant: str, collection: str, force: bool, from_states: tuple[str, ...], to: str
) -> SpaceBuild:
    locked = await _lock(connection, tenant=tenant, collection=collection)
    opened = await _required(connection, tenant=tenant, locked=locked)
    if opened.state == to and opened.switched_at is not None:
        return opened
    target = opened.other_space_id
    if to == "ready" and opened.state != "live":
        raise FailedPrecondition(
            f"The collection {locked.name!r} was not switched: it answers from {locked.space_id}, and there is nothing "
            "to go back to.", field="collection",
        )
    if opened.state not in from_states or (opened.state == "building" and not force):
        raise FailedPrecondition(
            f"The collection {locked.name!r} is {opened.state} on its way to the space {opened.space_id}"
            f"{f': {opened.error}' if opened.error else ''}; wait until it is ready (`sourcier spaces watch`).",
            field="collection",
        )
    # A process of an earlier version may have retired it while the build was begun.
    await take_up(connection, target)
    total, done = await count_vectors(
        connection, tenant=tenant, collection_id=locked.collection_id, space_id=target
    )
    if done < total and not force:
        raise FailedPrecondition(
            f"{total - done} of {total} chunks of the collection {locked.name!r} lack vectors in the space {target}; "
            "they are being made: try again in a moment, or force it and have these found by their words alone until "
            "then.", field="collection", missing=total - done,
        )
    lacking = await count_missing(connection, tenant=tenant, collection_id=locked.collection_id, space_id=target)
    if lacking and not force:
        raise FailedPrecondition(
            f"{lacking} FAQ entries of the collection {locked.name!r} lack vectors in the space {target}; the "
            "gateway makes them while an embed service of that space is named in its SOURCIER_EMBED_URL. Try again in "
            "a moment, or force it and have these answer again once they have them.",
            field="collection", missing=lacking,
        )
    units = await unit_points.count_gaps(connection, collection_id=locked.collection_id, space_id=target)
    if units and not force:
        raise FailedPrecondition(
            f"{units} knowledge units of the collection {locked.name!r} lack vectors in the space {target}; the enrich "
            "stage makes them while an embed service of that space is named in its SOURCIER_EMBED_URL. Try again in a "
            "moment, or force it and have these found by their chunks alone until they have them.",
            field="collection", missing=units,
        )
    values = {"collection_id": locked.collection_id, "build_id": opened.build_id, "space_id": target, "state": to}
    await connection.execute(SWITCH_COLLECTION, values)
    await connection.execute(SWITCH_MANIFEST, values)
    await connection.execute(SWITCH_BUILD, values | {"total": total, "done": done})
    if done < total:
        # The builder fills the space that does not answer, and gaps: this one answers from now on.
        space = await get_space(connection, target)
        await connection.execute(
            sql.SQL(NOTE_GAPS).format(table=sql.Identifier(space.vectors_table)), values | {"tenant": tenant}
        )
    return await get_build(connection, tenant=tenant, build_id=opened.build_id)


async def _lock(connection: Connection, *, tenant: str, collection: str) -> _Locked:
    async with connection.cursor(row_factory=class_row(_Locked)) as cursor:
        await cursor.execute(LOCK_COLLECTION, {"tenant": tenant, "collection": collection})
        locked = await cursor.fetchone()
    if locked is None:
        raise NotFound(f"There is no collection {collection!r}.", field="collection")
    return locked


async def _open(connection: Connection, *, tenant: str, collection_id: str) -> SpaceBuild | None:
    async with connection.cursor(row_factory=class_row(SpaceBuild)) as cursor:
        await cursor.execute(SELECT_OPEN, {"tenant": tenant, "collection_id": collection_id})
        return await cursor.fetchone()


async def _required(connection: Connection, *, tenant: str, locked: _Locked) -> SpaceBuild:
    opened = await _open(connection, tenant=tenant, collection_id=locked.collection_id)
    if opened is None:
        raise NotFound(
            f"The collection {locked.name!r} has no other space beside {locked.space_id}; build one first "
            "(`sourcier spaces build`).", field="collection",
        )
    return opened


LOCK_COLLECTION = """
select collection_id, name, space_id
from collections
where tenant = %(tenant)s and name = %(collection)s
for update
"""

SELECT_BUILDS = """
select build_id, build.tenant, build.collection_id, collection.name as collection, from_space_id, build.space_id,
       build.state, chunks_total, chunks_done, error, build.created_at, updated_at, ready_at, switched_at, finished_at
from space_builds as build
join collections as collection using (collection_id)
where build.tenant = %(tenant)s
"""

SELECT = SELECT_BUILDS + " and build_id = %(build_id)s"
SELECT_OPEN = f"""{SELECT_BUILDS}
  and collection_id = %(collection_id)s and build.state in {OPEN_STATES}
for update of build
"""
SELECT_NEWEST = SELECT_BUILDS + " and collection.name = %(collection)s order by build.created_at desc limit 1"
SELECT_ALL = f"""
select distinct on (collection_id) * from ({SELECT_BUILDS}) as build order by collection_id, created_at desc
"""

INSERT = """
insert into space_builds (build_id, tenant, collection_id, from_space_id, space_id)
values (%(build_id)s, %(tenant)s, %(collection_id)s, %(from_space_id)s, %(space_id)s)
"""

RESTART = "update space_builds set state = 'building', error = '', updated_at = now() where build_id = %(build_id)s"

FINISH = """
update space_builds set state = %(state)s, finished_at = now(), updated_at = now() where build_id = %(build_id)s
"""

SWITCH_COLLECTION = "update collections set space_id = %(space_id)s where collection_id = %(collection_id)s"

SWITCH_MANIFEST = """
update build_manifests as manifest
set space_id = space.space_id, model = space.model, revision = space.revision, dimension = space.dimension,
    built_at = now()
from embedding_spaces as space
where manifest.collection_id = %(collection_id)s and space.space_id = %(space_id)s
"""

SWITCH_BUILD = """
update space_builds
set state = %(state)s, switched_at = now(), updated_at = now(), chunks_total = %(total)s, chunks_done = %(done)s,
    error = '', ready_at = coalesce(ready_at, now())
where build_id = %(build_id)s
"""

# Locked before they are noted: a commit that holds its document would wait for our note, and our note for its document.
NOTE_GAPS = """
insert into space_gaps (document_id, tenant, collection_id)
select document_id, tenant, collection_id
from documents as document
where tenant = %(tenant)s and collection_id = %(collection_id)s and current_version is not null
  and exists (
      select from chunks as chunk
      where chunk.tenant = %(tenant)s and chunk.document_id = document.document_id and not exists (
          select from {table} as vector where vector.tenant = %(tenant)s and vector.chunk_id = chunk.chunk_id
      )
  )
order by document_id
for key share of document
on conflict (document_id, tenant) do nothing
"""

# A vector goes in one transaction with its chunk, so the counts tell whether any is missing.
PASSAGES = "select coalesce(sum(chunk_count), 0)::bigint from documents where tenant = %(tenant)s"

COUNT_VECTORS = """
select (
    select coalesce(sum(chunk_count), 0)::bigint
    from documents
    where tenant = %(tenant)s and collection_id = %(collection_id)s and current_version is not null
), (
    select count(*) from {table} where tenant = %(tenant)s and collection_id = %(collection_id)s
)
"""
