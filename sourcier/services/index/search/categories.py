"""The categories of a collection's passages."""

from __future__ import annotations

from collections.abc import Sequence

from sourcier.services.chassis.postgres.database import Connection

CATEGORIES_MAX = 500
"""Beyond so many, a collection's categories are the most common ones."""


async def list_categories(connection: Connection, *, tenant: str, collections: Sequence[str]) -> list[str]:
    """Return the categories that searches can be narrowed to, the most common first.

    They are the documents' own and those that units give chunks, as for `filters.CONDITIONS`, which must agree.
    """
    values = {"tenant": tenant, "names": list(collections), "limit": CATEGORIES_MAX}
    cursor = await connection.execute(SELECT, values)
    return [str(category) for (category,) in await cursor.fetchall()]


SELECT = """
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
