"""What a collection's documents can be told apart by: their categories, and the facts in their metadata."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.filtering.fields import IN_COLLECTIONS
from sourcier.services.index.search.filters import CONDITIONS, Filters

DOCUMENTS_MAX = 20_000
"""Documents that are looked at: of more, the facets of these stand for all."""

CATEGORIES_MAX = 500
"""Beyond so many, a collection's categories are the most common ones."""

Fact = tuple[str, str | int | float | bool]
"""A key of metadata and its value."""


@dataclass(frozen=True, slots=True)
class Facets:
    """What documents that meet a filter can be narrowed by; the most frequent first."""

    categories: tuple[str, ...] = ()
    facts: tuple[Fact, ...] = ()


async def list_categories(connection: Connection, *, tenant: str, collections: Sequence[str]) -> list[str]:
    """Return the categories that searches can be narrowed to, the most common first.

    They are the documents' own and those that units give chunks, as for `filters.CONDITIONS`, which must agree.
    """
    values = {"tenant": tenant, "names": list(collections), "limit": CATEGORIES_MAX}
    cursor = await connection.execute(SELECT_ALL_CATEGORIES, values)
    return [str(category) for (category,) in await cursor.fetchall()]


async def find_facets(
    connection: Connection, *, tenant: str, collections: Sequence[str], filters: Filters, limit: int
) -> Facets:
    """Return the categories and facts of documents that meet the filters, at most so many of each.

    A fact that all documents share tells nothing, nor does one of a single document, as an id: only those of several
    are returned.
    """
    values = {
        "tenant": tenant, "names": list(collections), "limit": limit, "documents": DOCUMENTS_MAX,
    } | filters.parameters()
    categories = await (await connection.execute(filters.within(SELECT_CATEGORIES).encode(), values)).fetchall()
    facts = await (await connection.execute(filters.within(SELECT_FACTS).encode(), values)).fetchall()
    return Facets(tuple(category for (category,) in categories), tuple((key, value) for key, value in facts))


async def matches_any(connection: Connection, *, tenant: str, collections: Sequence[str], filters: Filters) -> bool:
    """Return whether any document of the collection meets the filters."""
    values = {"tenant": tenant, "names": list(collections)} | filters.parameters()
    row = await (await connection.execute(filters.within(SELECT_ANY).encode(), values)).fetchone()
    return row is not None


def fact_text(fact: Fact) -> str:
    """Return a fact as people and models write it: `key=value`."""
    key, value = fact
    return f"{key}={str(value).lower() if isinstance(value, bool) else value}"


def texts_of(facts: Sequence[Fact]) -> dict[str, Fact]:
    """Return facts by how they are written; the first of those that look alike."""
    return {fact_text(fact): fact for fact in reversed(facts)}


_MATCHING = f"""
    from documents
    where tenant = %(tenant)s and {IN_COLLECTIONS} and {CONDITIONS}
"""

SELECT_CATEGORIES = f"""
with matching as (select document_id, category {_MATCHING} limit %(documents)s)
select category
from (
    select category from matching
    union all
    select unit.category
    from matching
    join units as unit on unit.tenant = %(tenant)s and unit.document_id = matching.document_id
    join unit_builds as build on build.build_id = unit.build_id and build.state = 'live'
) as given
where category <> ''
group by category
order by count(*) desc, category
limit %(limit)s
"""

SELECT_FACTS = f"""
with matching as (select metadata {_MATCHING} limit %(documents)s)
select key, value
from matching
cross join lateral jsonb_each(metadata) as fact (key, value)
where jsonb_typeof(value) in ('string', 'number', 'boolean') and length(key) + length(value::text) <= 100
group by key, value
having count(*) > 1 and count(*) < (select count(*) from matching)
order by count(*) desc, key, value
limit %(limit)s
"""

SELECT_ANY = f"select 1 {_MATCHING} limit 1"
SELECT_ALL_CATEGORIES = """
with wanted as materialized (
    select collection_id from collections where tenant = %(tenant)s and name = any(%(names)s)
)
select category
from (
    select category from documents
    where tenant = %(tenant)s and collection_id in (select collection_id from wanted)
      and current_version is not null and category <> ''
    union all
    select unit.category
    from units as unit
    join unit_builds as build on build.build_id = unit.build_id and build.state = 'live'
    where unit.tenant = %(tenant)s and unit.collection_id in (select collection_id from wanted) and unit.category <> ''
) as given
group by category
order by count(*) desc, category
limit %(limit)s
"""
