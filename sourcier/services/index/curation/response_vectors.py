"""Vectors of learned responses' questions: which are closest, which are missing, how they are written.

A response has a vector in each space that its agent's collection is in, and in the one that is built beside it, while
it is active; one that does not answer has none. An agent's are scanned exactly: docs/measured/performance/answers.md
has what that costs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.types import half_vector
from sourcier.services.index.search.passages import SourceDocument


@dataclass(frozen=True, slots=True)
class NearResponse:
    """A learned response whose question is close to one that was asked."""

    response_id: str
    question: str
    answer: str
    category: str
    source: str
    heading_path: list[str]
    validated_by: str
    validated_at: datetime
    similarity: float
    """Cosine of the two questions' vectors."""
    bound: Sequence[Mapping[str, str]] = ()
    """The documents that the answer rests on, as PostgreSQL tells them."""

    @property
    def documents(self) -> tuple[SourceDocument, ...]:
        """Return the documents that the answer rests on."""
        return tuple(SourceDocument(**each) for each in self.bound)


@dataclass(frozen=True, slots=True)
class Nearest:
    """What a look-up came to."""

    responses: tuple[NearResponse, ...]
    """Closest first."""
    missing: int
    """Active responses that could not be found, because they have no vector in the space yet."""


async def nearest_responses(
    connection: Connection, *, tenant: str, agent_id: str, space_id: str, vector: bytes, limit: int
) -> Nearest:
    """Return an agent's active responses closest to a question's vector (float16, little-endian), best first."""
    values = {
        "tenant": tenant, "agent_id": agent_id, "space_id": space_id, "vector": half_vector(vector), "limit": limit,
    }
    async with connection.cursor(row_factory=class_row(NearResponse)) as cursor:
        await cursor.execute(SELECT_NEAREST, values)
        found = await cursor.fetchall()
    counted = await (await connection.execute(COUNT_MISSING_OF_AGENT, values)).fetchone()
    return Nearest(tuple(found), max(int(counted[0]), 0) if counted is not None else 0)


async def write_vectors(
    connection: Connection, *, tenant: str, space_id: str, vectors: Sequence[tuple[str, bytes]]
) -> int:
    """Write vectors by response id, of those that are active and have none in the space; return how many."""
    cursor = await connection.execute(INSERT_VECTORS, {
        "tenant": tenant, "space_id": space_id, "response_ids": [response_id for response_id, _ in vectors],
        "vectors": [half_vector(vector) for _, vector in vectors],
    })
    return cursor.rowcount


async def forget_space(connection: Connection, *, collection_id: str, space_id: str) -> None:
    """Delete the vectors that a collection's agents have in a space that was given up."""
    await connection.execute(DELETE_OF_SPACE, {"collection_id": collection_id, "space_id": space_id})


async def count_missing(connection: Connection, *, tenant: str, collection_id: str, space_id: str) -> int:
    """Return how many active responses of a collection's agents lack a vector in a space."""
    cursor = await connection.execute(
        COUNT_MISSING, {"tenant": tenant, "collection_id": collection_id, "space_id": space_id}
    )
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])


SELECT_NEAREST = """
with nearest as materialized (
    select response_id, embedding <=> %(vector)b as distance
    from learned_response_vectors
    where tenant = %(tenant)s and agent_id = %(agent_id)s and space_id = %(space_id)s
    order by distance
    limit %(limit)s
)
select response_id, question, answer, category, source, heading_path, validated_by, validated_at,
       1.0 - distance as similarity,
       coalesce((
           select jsonb_agg(jsonb_build_object(
               'document_id', source.document_id, 'version_id', source.version_id, 'title', source.title
           ) order by source.title, source.document_id)
           from learned_response_sources as source
           where source.response_id = response.response_id
       ), '[]') as bound
from nearest
join learned_responses as response using (response_id)
where response.tenant = %(tenant)s and state = 'active'
order by distance, response_id
"""

COUNT_MISSING_OF_AGENT = """
select (
    select count(*) from learned_responses
    where tenant = %(tenant)s and agent_id = %(agent_id)s and state = 'active'
) - (
    select count(*) from learned_response_vectors
    where tenant = %(tenant)s and agent_id = %(agent_id)s and space_id = %(space_id)s
)
"""

# The lock lets no commit take a response out of service between the two: it would leave it its vector.
INSERT_VECTORS = """
with active as (
    select response_id, agent_id
    from learned_responses
    where tenant = %(tenant)s and response_id = any(%(response_ids)s::uuid[]) and state = 'active'
    for share
)
insert into learned_response_vectors (agent_id, space_id, response_id, tenant, embedding)
select agent_id, %(space_id)s, response_id, %(tenant)s, vector.embedding
from unnest(%(response_ids)s::uuid[], %(vectors)b::halfvec[]) as vector (response_id, embedding)
join active using (response_id)
on conflict (agent_id, space_id, response_id, tenant) do nothing
"""

DELETE_OF_RESPONSE = """
delete from learned_response_vectors where tenant = %(tenant)s and response_id = %(response_id)s
"""

COUNT_MISSING = """
select count(*)
from learned_responses as response
join agents as agent using (agent_id)
where response.tenant = %(tenant)s and agent.collection_id = %(collection_id)s and response.state = 'active'
  and not exists (
      select from learned_response_vectors as vector
      where vector.agent_id = response.agent_id and vector.space_id = %(space_id)s
        and vector.response_id = response.response_id
  )
"""

DELETE_OF_SPACE = """
delete from learned_response_vectors
where space_id = %(space_id)s and agent_id in (select agent_id from agents where collection_id = %(collection_id)s)
"""
