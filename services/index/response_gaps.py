"""Which learned responses lack a vector in a space that they need it in."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from psycopg.rows import class_row

from services.chassis.postgres import Connection
from services.index.space_builds import HELD


@dataclass(frozen=True, slots=True)
class MissingVector:
    """A response that needs a vector in a space."""

    response_id: str
    tenant: str
    space_id: str
    question: str


async def missing_vectors(
    connection: Connection, *, space_ids: Sequence[str], limit: int
) -> list[MissingVector]:
    """Return active responses without a vector in one of these spaces that they need it in.

    In a transaction of `ALL_TENANTS`.
    """
    async with connection.cursor(row_factory=class_row(MissingVector)) as cursor:
        await cursor.execute(SELECT_MISSING, {"space_ids": list(space_ids), "limit": limit})
        return await cursor.fetchall()


SELECT_MISSING = f"""
select response_id, response.tenant, space.space_id, question
from learned_responses as response
join agents as agent using (agent_id)
join collections as collection using (collection_id)
join embedding_spaces as space on space.space_id = any(%(space_ids)s) and {HELD.format(space="space.space_id")}
where response.state = 'active' and not exists (
    select from learned_response_vectors as vector
    where vector.agent_id = response.agent_id and vector.space_id = space.space_id
      and vector.response_id = response.response_id
)
order by space.space_id, response.tenant, response_id
limit %(limit)s
"""
