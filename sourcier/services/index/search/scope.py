"""A search's scope: which collections of which space, how many passages, and how often the question's stems occur."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcier.services.chassis.errors import NotFound, SpaceMismatch
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.search.filters import CONDITIONS, UNITS_OF_CATEGORY, Documents, Filters
from sourcier.services.index.search.settings import NOTHING_SAID, RetrievalSettings

NAMED_DOCUMENTS_MAX = 1_000
"""Documents that a search's statements name one by one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """What a search runs over."""

    tenant: str
    collection_ids: tuple[str, ...]
    collection_numbers: tuple[int, ...]
    space_id: str
    dimension: int
    vectors_table: str
    passages: int
    """Passages of the collections, as of the last refresh of the frequencies."""
    filters: Filters
    matching: int
    """Passages that meet the filters; those of the collections without filters."""
    frequencies: Mapping[str, int]
    """In how many of the collections' passages each stem of the question occurs; absent where in none."""
    retrieval: RetrievalSettings
    """How the collection is searched where a request says nothing else; empty for several collections."""
    has_units: bool
    """Whether knowledge units of one of the collections answer."""
    matching_documents: tuple[str, ...] | None = None
    """The documents that meet the filters, where they are few enough to be named; None where they have to be found."""

    @property
    def condition(self) -> str:
        """What a statement adds on rows with a `document_id` and a `chunk_id`, with the values of `parameters`."""
        return self._condition("found")

    @property
    def scanned_condition(self) -> str:
        """The same, for a statement that reads every row that meets it, document by document."""
        return self._condition("listed")

    def _condition(self, unnamed: Documents) -> str:
        """Return it with the documents named where they are known, and told in the way given where they are not."""
        known = self.matching_documents is not None
        return self.filters.condition(documents="named" if known else unnamed, units=self.has_units)

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the values of `condition`, and `collection_ids`."""
        return self.filters.parameters(self.collection_ids) | {
            "matching_documents": list(self.matching_documents or ())
        }

    def check_vector(self, *, space_id: str, dimension: int) -> None:
        """Raise `SpaceMismatch` where a question's vector is not of the scope's space."""
        if space_id != self.space_id:
            message = f"The question's vector is of the space {space_id}, the collections are of {self.space_id}."
            raise SpaceMismatch(message)
        if dimension != self.dimension:
            message = f"The space {space_id} has vectors of {self.dimension} dimensions, not {dimension}."
            raise SpaceMismatch(message)


async def find_scope(
    connection: Connection,
    *,
    tenant: str,
    collections: Sequence[str],
    filters: Filters,
    stems: Sequence[str] = (),
    space_id: str = "",
) -> Scope:
    """Look up the collections by name; raise `NotFound`, or `SpaceMismatch` where they do not share a space."""
    values: dict[str, Any] = {
        "tenant": tenant, "names": list(collections), "stems": list(stems), "space_id": space_id,
    } | filters.parameters()
    cursor = await connection.execute(SELECT_COLLECTIONS, values)
    rows = await cursor.fetchall()
    _check_found(collections, {name for name, *_ in rows})
    space_id, dimension, vectors_table = _only_one({tuple(row[7:]) for row in rows})
    passages = sum(count for _, _, _, count, *_ in rows)
    frequencies: Counter[str] = Counter()
    for _, _, _, _, counts, *_ in rows:
        frequencies.update(counts)
    has_units = any(row[5] for row in rows)
    retrieval = RetrievalSettings.stored(rows[0][6]) if len(rows) == 1 else NOTHING_SAID
    matching, documents = (passages, None) if filters.empty else await _find_matching(connection, filters, values)
    return Scope(
        tenant=tenant,
        collection_ids=tuple(collection_id for _, collection_id, *_ in rows),
        collection_numbers=tuple(number for _, _, number, *_ in rows),
        space_id=space_id,
        dimension=dimension,
        vectors_table=vectors_table,
        passages=passages,
        filters=filters,
        matching=matching,
        frequencies=frequencies,
        retrieval=retrieval,
        has_units=has_units,
        matching_documents=documents,
    )


async def find_space(connection: Connection, *, tenant: str, collections: Sequence[str]) -> str:
    """Return the id of the collections' space; raise `NotFound`, or `SpaceMismatch` where they do not share one."""
    cursor = await connection.execute(SELECT_SPACES, {"tenant": tenant, "names": list(collections)})
    rows = await cursor.fetchall()
    _check_found(collections, {name for name, _ in rows})
    (space_id,) = _only_one({(space_id,) for _, space_id in rows})
    return str(space_id)


def _check_found(collections: Sequence[str], found: set[str]) -> None:
    missing = set(collections) - found
    if missing or not found:
        raise NotFound(
            f"There is no collection {', '.join(sorted(missing))}; name one that exists. A collection is made with its "
            "first document.", field="collections",
        )


def _only_one(spaces: set[tuple[Any, ...]]) -> tuple[Any, ...]:
    if len(spaces) > 1:
        raise SpaceMismatch("The collections are of different embedding spaces; search them apart.")
    return spaces.pop()


async def _find_matching(
    connection: Connection, filters: Filters, values: dict[str, Any]
) -> tuple[int, tuple[str, ...] | None]:
    """Return how many passages meet the filters, and their documents where those can be named."""
    values = values | {"named_max": NAMED_DOCUMENTS_MAX}
    cursor = await connection.execute(filters.within(FIND_MATCHING).encode(), values)
    row = await cursor.fetchone()
    assert row is not None
    matching, documents = int(row[0]), None if row[1] is None else tuple(row[1])
    if values["chunk_types"]:
        matching = await _count(connection, filters.within(COUNT_CHUNKS), values)
    elif values["categories"]:
        matching += await _count(connection, filters.within(COUNT_CHUNKS_OF_OTHERS), values)
    return matching, documents


async def _count(connection: Connection, statement: str, values: dict[str, Any]) -> int:
    cursor = await connection.execute(statement.encode(), values)
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


SELECT_SPACES = "select name, space_id from collections where tenant = %(tenant)s and name = any(%(names)s)"

# Materialised: behind row-level security, an index serves plain columns but no expression that is not leakproof.
SELECT_COLLECTIONS = """
with wanted as materialized (
    select collection_id, name, number, space_id, retrieval
    from collections
    where tenant = %(tenant)s and name = any(%(names)s)
),
lexeme as materialized (
    select collection_id, stem, number || ':' || stem as lexeme
    from wanted
    cross join unnest(%(stems)s::text[]) as stem
),
occurring as (
    select frequency.collection_id, jsonb_object_agg(stem, greatest(frequency.passages, 0)) as frequencies
    from lexeme
    join lexeme_frequencies as frequency using (collection_id, lexeme)
    group by frequency.collection_id
)
select name, collection_id, number, greatest(coalesce(passages, 0), 0), coalesce(frequencies, '{}'),
       exists (select from unit_builds as build
               where build.collection_id = wanted.collection_id and build.state = 'live'),
       retrieval, embedding_spaces.space_id, dimension, vectors_table
from wanted
join embedding_spaces on embedding_spaces.space_id = coalesce(nullif(%(space_id)s::text, ''), wanted.space_id)
left join collection_statistics using (collection_id)
left join occurring using (collection_id)
"""

# Conditions on metadata read every document of the collections: done once, where they then can be named.
# Passages are those of documents that meet the conditions as a whole.
FIND_MATCHING = f"""
select coalesce(sum(chunk_count) filter (
           where %(categories)s::text[] is null or category = any(%(categories)s::text[])
       ), 0)::int,
       case when count(*) <= %(named_max)s then coalesce(array_agg(document_id), '{{}}') end
from documents
where tenant = %(tenant)s
  and collection_id in (select collection_id from collections where tenant = %(tenant)s and name = any(%(names)s))
  and {CONDITIONS}
"""

# As `Filters.condition` has it; by chunk, for a document's chunks may differ in both.
COUNT_CHUNKS = f"""
with matching as materialized (
    select document_id, category from documents
    where tenant = %(tenant)s
      and collection_id in (select collection_id from collections where tenant = %(tenant)s and name = any(%(names)s))
      and {CONDITIONS}
)
select count(*)::int
from chunks
join matching using (document_id)
where tenant = %(tenant)s and (%(chunk_types)s::text[] = '{{}}' or kind = any(%(chunk_types)s::text[]))
  and (%(categories)s::text[] is null or matching.category = any(%(categories)s::text[])
       or chunk_id in ({UNITS_OF_CATEGORY.format(key="chunk_id")}))
"""

# Chunks of the categories in documents of none of them: few beside all the chunks of the documents that are of one.
COUNT_CHUNKS_OF_OTHERS = f"""
select count(*)::int
from chunks
where tenant = %(tenant)s and chunk_id in ({UNITS_OF_CATEGORY.format(key="chunk_id")})
  and document_id in (
      select document_id from documents
      where tenant = %(tenant)s
        and collection_id in (select collection_id from collections where tenant = %(tenant)s and name = any(%(names)s))
        and {CONDITIONS} and category <> all(%(categories)s::text[])
  )
"""
