"""A search's scope: which collections of which space, how many passages, and how often the question's stems occur."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from services.chassis.errors import NotFound, SpaceMismatch
from services.chassis.postgres import Connection
from services.index.filters import MATCHING_DOCUMENTS, Filters
from services.index.lexical_entries import lexeme
from services.index.spaces import StoredSpace, get_space


@dataclass(frozen=True, slots=True)
class Scope:
    """What a search runs over."""

    tenant: str
    collection_ids: tuple[str, ...]
    collection_numbers: tuple[int, ...]
    space_id: str
    passages: int
    """Passages of the collections, as of the last refresh of the frequencies."""
    filters: Filters
    matching: int
    """Passages that meet the filters; those of the collections without filters."""


async def find_scope(
    connection: Connection, *, tenant: str, collections: Sequence[str], filters: Filters | None = None
) -> Scope:
    """Look up the collections by name; raise `NotFound`, or `SpaceMismatch` where they do not share a space."""
    filters = filters or Filters()
    cursor = await connection.execute(SELECT_COLLECTIONS, {"tenant": tenant, "names": list(collections)})
    rows = await cursor.fetchall()
    missing = set(collections) - {name for name, *_ in rows}
    if missing or not rows:
        raise NotFound(f"There is no collection {', '.join(sorted(missing))}.", field="collections")
    spaces = {space_id for _, _, _, space_id, _ in rows}
    if len(spaces) > 1:
        raise SpaceMismatch("The collections are of different embedding spaces; search them apart.")
    collection_ids = tuple(collection_id for _, collection_id, *_ in rows)
    passages = sum(count for *_, count in rows)
    return Scope(
        tenant=tenant,
        collection_ids=collection_ids,
        collection_numbers=tuple(number for _, _, number, *_ in rows),
        space_id=spaces.pop(),
        passages=passages,
        filters=filters,
        matching=passages if filters.empty else await _count_matching(connection, tenant, collection_ids, filters),
    )


async def space_of(connection: Connection, scope: Scope, *, space_id: str, dimension: int) -> StoredSpace:
    """Return the scope's space; raise `SpaceMismatch` where the question's vector is of another."""
    if space_id != scope.space_id:
        message = f"The question's vector is of the space {space_id}, the collections are of {scope.space_id}."
        raise SpaceMismatch(message)
    space = await get_space(connection, space_id)
    if dimension != space.dimension:
        raise SpaceMismatch(f"The space {space_id} has vectors of {space.dimension} dimensions, not {dimension}.")
    return space


async def stem_frequencies(connection: Connection, scope: Scope, stems: Sequence[str]) -> Mapping[str, int]:
    """Return in how many of the collections' passages each stem occurs; absent where in none."""
    lexemes = {lexeme(stem, collection_number=number): stem for number in scope.collection_numbers for stem in stems}
    values = {
        "tenant": scope.tenant,
        "collection_ids": list(scope.collection_ids),
        "lexemes": list(lexemes),
    }
    cursor = await connection.execute(SELECT_FREQUENCIES, values)
    frequencies: dict[str, int] = {}
    for found, count in await cursor.fetchall():
        stem = lexemes[found]
        frequencies[stem] = frequencies.get(stem, 0) + max(count, 0)
    return frequencies


async def _count_matching(
    connection: Connection, tenant: str, collection_ids: tuple[str, ...], filters: Filters
) -> int:
    values = {"tenant": tenant, "collection_ids": list(collection_ids)} | filters.parameters()
    cursor = await connection.execute(COUNT_MATCHING, values)
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])


SELECT_COLLECTIONS = """
select name, collection_id, number, space_id, greatest(coalesce(passages, 0), 0)
from collections as collection
left join collection_statistics using (collection_id)
where collection.tenant = %(tenant)s and name = any(%(names)s)
"""

SELECT_FREQUENCIES = """
select lexeme, passages
from lexeme_frequencies
where tenant = %(tenant)s
  and collection_id = any(%(collection_ids)s::uuid[])
  and lexeme = any(%(lexemes)s)
"""

COUNT_MATCHING = f"""
select coalesce(sum(chunk_count), 0)::int
from ({MATCHING_DOCUMENTS}) as document
"""
