"""A collection's knowledge units as a whole: which methods its agents ask for, and one set of units at a time that
answers.

The first set answers as it grows, beside the plain passages. A later one, for another method or made anew, is built
beside the one that answers and takes its place in one row (docs/adr/0011).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.curation.agents import MADE_METHODS
from sourcier.services.index.units import build_statements as statements


@dataclass(frozen=True, slots=True)
class Wanted:
    """A collection whose agents ask for more than its units give."""

    tenant: str
    collection_id: str
    methods: list[str]
    """The indexing methods of all its agents and deployments, in order."""


@dataclass(frozen=True, slots=True)
class UnitBuild:
    """A set of units and how far it is."""

    build_id: str
    tenant: str
    collection_id: str
    state: str
    """`building`, `live` or `retired`."""
    methods: list[str]
    regenerate: bool
    planned_after: str | None
    """Documents up to this id have their units; None once all have."""
    accept_failed: bool
    error: str
    created_at: datetime
    updated_at: datetime
    switched_at: datetime | None


@dataclass(frozen=True, slots=True)
class UnitCounts:
    """How many units of a set are in each state, and what they cost."""

    waiting: int
    enriched: int
    no_pairs: int
    failed: int
    without_vectors: int
    """Units with content whose vectors are still to be made."""
    prompt_tokens: int
    completion_tokens: int


async def wanting(connection: Connection) -> list[Wanted]:
    """Return the collections whose agents ask for a method that no open build has.

    In a transaction of `ALL_TENANTS`.
    """
    async with connection.cursor(row_factory=class_row(Wanted)) as cursor:
        await cursor.execute(statements.SELECT_WANTING, {"methods": list(MADE_METHODS)})
        return await cursor.fetchall()


async def wanted_methods(connection: Connection, *, collection_id: str) -> list[str]:
    """Return the indexing methods that a collection's agents and deployments ask for, in order."""
    cursor = await connection.execute(
        statements.SELECT_METHODS, {"collection_id": collection_id, "methods": list(MADE_METHODS)}
    )
    return [str(method) for (method,) in await cursor.fetchall()]


async def count_unmade(connection: Connection, *, tenant: str, agent_id: str) -> int:
    """Return how many chunks the language model is still to read for an agent; 0 where its method makes nothing."""
    cursor = await connection.execute(
        statements.COUNT_UNMADE, {"tenant": tenant, "agent_id": agent_id, "methods": list(MADE_METHODS)}
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])


async def open_builds(connection: Connection, *, state: str) -> list[UnitBuild]:
    """Return the builds in a state, the oldest first; in a transaction of `ALL_TENANTS`."""
    async with connection.cursor(row_factory=class_row(UnitBuild)) as cursor:
        await cursor.execute(statements.SELECT_IN_STATE, {"state": state})
        return await cursor.fetchall()


async def builds_of(connection: Connection, *, tenant: str, collection_id: str) -> list[UnitBuild]:
    """Return a collection's open builds, the live one first."""
    async with connection.cursor(row_factory=class_row(UnitBuild)) as cursor:
        await cursor.execute(
            statements.SELECT_OPEN_OF_COLLECTION, {"tenant": tenant, "collection_id": collection_id}
        )
        return await cursor.fetchall()


async def begin(
    connection: Connection, *, tenant: str, collection_id: str, methods: Sequence[str], regenerate: bool = False
) -> UnitBuild:
    """Begin a set of units, or widen the one that is being built; the first of a collection answers at once.

    Two that begin at once wait for one another on the collection's row.
    """
    values = {
        "tenant": tenant, "collection_id": collection_id, "methods": sorted(methods), "regenerate": regenerate,
        "build_id": new_id(),
    }
    await connection.execute(statements.LOCK_COLLECTION, values)
    opened = {build.state: build for build in await builds_of(
        connection, tenant=tenant, collection_id=collection_id
    )}
    if "building" in opened:
        values["build_id"] = opened["building"].build_id
        await connection.execute(statements.WIDEN, values)
        if regenerate and not opened["building"].regenerate:
            for statement in (statements.REGENERATE, statements.FORGET_TAKEN_OVER):
                await connection.execute(statement, values)
        # What it has already gets the vectors of the further method.
        await connection.execute(statements.NOTE_GAPS, values | {"space_id": None})
    else:
        await connection.execute(statements.INSERT, values | {"state": "building" if "live" in opened else "live"})
    return await _get(connection, str(values["build_id"]))


async def plan(connection: Connection, build: UnitBuild, *, limit: int) -> int:
    """Give the chunks of the next documents their units: taken over from the live set, or waiting; return how many
    documents that were.

    0 means that all are planned. Documents that are committed meanwhile get theirs in their own commit.
    """
    values: dict[str, Any] = {
        "tenant": build.tenant, "collection_id": build.collection_id, "build_id": build.build_id,
        "after": build.planned_after, "limit": limit, "regenerate": build.regenerate,
    }
    cursor = await connection.execute(statements.LOCK_DOCUMENTS, values)
    document_ids = [str(document_id) for (document_id,) in await cursor.fetchall()]
    values |= {"document_ids": document_ids, "last": document_ids[-1] if document_ids else None}
    if document_ids:
        for statement in (*statements.TAKING_OVER, statements.ADD_WAITING):
            await connection.execute(statement, values)
    await connection.execute(statements.NOTE_PLANNED, values)
    return len(document_ids)


async def take_over_edited(connection: Connection, *, tenant: str, unit_id: str, document_id: str) -> None:
    """Let the set that is being built, where one is, have a unit as a person has just changed it.

    The caller holds the document's lock.
    """
    values: dict[str, Any] = {"tenant": tenant, "unit_id": unit_id, "document_ids": [document_id]}
    cursor = await connection.execute(statements.DELETE_COPY, values)
    row = await cursor.fetchone()
    if row is not None:
        values |= {"build_id": row[0], "regenerate": row[1]}
        for statement in statements.TAKING_OVER:
            await connection.execute(statement, values)


async def count(connection: Connection, *, build_id: str) -> UnitCounts:
    """Count a set's units."""
    async with connection.cursor(row_factory=class_row(UnitCounts)) as cursor:
        await cursor.execute(statements.COUNT, {"build_id": build_id})
        counts = await cursor.fetchone()
    assert counts is not None
    return counts


async def switch(connection: Connection, build: UnitBuild) -> bool:
    """Let a set that is whole answer instead of the one before, in one step; return whether it does now.

    Chunks that failed, and that the set before has pairs of, keep it from answering unless a person accepts that.
    """
    values = {"tenant": build.tenant, "collection_id": build.collection_id, "build_id": build.build_id}
    await connection.execute(statements.LOCK_COLLECTION, values)
    cursor = await connection.execute(statements.SELECT_LACKING, values)
    row = await cursor.fetchone()
    if row is None:
        return False
    unfinished, lost = row
    if unfinished:
        return False
    if lost:
        error = (
            f"{lost} chunks failed that have questions and answers in the index that answers now; try them again "
            "(`sourcier agents rebuild NAME --failed`), or let it take over without them (`--accept-failed`)"
        )
        await connection.execute(statements.NOTE_ERROR, values | {"error": error})
        return False
    await connection.execute(statements.RETIRE_LIVE, values)
    await connection.execute(statements.MAKE_LIVE, values)
    return True


async def accept_failed(connection: Connection, *, tenant: str, collection_id: str) -> None:
    """Let the set that is being built take over although chunks failed; raise `FailedPrecondition` where none is."""
    cursor = await connection.execute(statements.ACCEPT_FAILED, {"tenant": tenant, "collection_id": collection_id})
    if cursor.rowcount == 0:
        raise FailedPrecondition(
            "Nothing is being built beside the index that answers; there is nothing to accept.", field="accept_failed"
        )


async def retry_failed(connection: Connection, *, tenant: str, collection_id: str) -> int:
    """Let the collection's units that failed be made once more; return how many."""
    cursor = await connection.execute(statements.RETRY_FAILED, {"tenant": tenant, "collection_id": collection_id})
    return cursor.rowcount


async def clear_retired(connection: Connection, *, limit: int) -> int:
    """Delete units of sets that answer no more, a page of them, and the sets that have none left; return how many."""
    cursor = await connection.execute(statements.DELETE_RETIRED_UNITS, {"limit": limit})
    deleted = cursor.rowcount
    if deleted < limit:
        await connection.execute("delete from unit_builds where state = 'retired'")
    return deleted


async def _get(connection: Connection, build_id: str) -> UnitBuild:
    async with connection.cursor(row_factory=class_row(UnitBuild)) as cursor:
        await cursor.execute(statements.SELECT_BUILD, {"build_id": build_id})
        build = await cursor.fetchone()
    assert build is not None
    return build
