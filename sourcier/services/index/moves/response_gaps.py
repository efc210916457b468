"""Which learned responses lack a vector in a space that they need it in."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.pagination import FIRST_KEY
from sourcier.services.index.spaces.held import HELD


@dataclass(frozen=True, slots=True)
class MissingVector:
    """A response that needs a vector in a space."""

    response_id: str
    tenant: str
    space_id: str
    question: str


async def missing_vectors(
    connection: Connection, *, space_id: str, limit: int, after: MissingVector | None = None
) -> list[MissingVector]:
    """Return active responses without a vector in this space that they need it in, in order, those behind `after`.

    In a transaction of `ALL_TENANTS`.
    """
    values = {
        "space_id": space_id, "limit": limit,
        "tenant": "" if after is None else after.tenant, "after": FIRST_KEY if after is None else after.response_id,
    }
    async with connection.cursor(row_factory=class_row(MissingVector)) as cursor:
        await cursor.execute(SELECT_MISSING, values)
        return await cursor.fetchall()


SELECT_MISSING = f"""
select response_id, response.tenant, space.space_id, question
from learned_responses as response
join agents as agent using (agent_id)
join collections as collection using (collection_id)
join embedding_spaces as space on space.space_id = %(space_id)s and {HELD.format(space="space.space_id")}
where response.state = 'active' and (response.tenant, response_id) > (%(tenant)s, %(after)s::uuid) and not exists (
    select from learned_response_vectors as vector
    where vector.agent_id = response.agent_id and vector.space_id = space.space_id
      and vector.response_id = response.response_id
)
order by response.tenant, response_id
limit %(limit)s
"""
