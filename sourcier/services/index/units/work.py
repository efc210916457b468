"""Units on their way: released into the queue, loaded with their chunk, and settled once the model has spoken.

Whoever settles a unit holds its document's lock and finds the unit waiting and its text unchanged, or nothing happens:
a message that comes twice, or after its chunk has gone, changes nothing.
"""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.spaces.held import HELD

TRANSIENT = ("UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED")
"""Reasons that are no chunk's fault: it is sent again after a while."""
SENDS_MAX = 5
"""How often a chunk is sent before its unit fails for such a reason, too."""


@dataclass(frozen=True, slots=True)
class ReleasedUnit:
    """A unit that is to be made, and the version that its chunk is of."""

    unit_id: str
    tenant: str
    collection_id: str
    document_id: str
    version_id: str
    generation: int
    job_id: str
    request_id: str
    lane: str
    sends: int


@dataclass(frozen=True, slots=True)
class UnitTask:
    """What the model is to read."""

    unit_id: str
    document_id: str
    fingerprint: bytes
    title: str
    heading_path: Sequence[str]
    text: str
    language: str
    """ISO 639-1 code; empty when unsure."""
    categories: Sequence[str]
    """Those that the collection's agents allow; empty for any."""
    chunks_made: int
    """Units of the document that the model has made in this build."""
    tokens_used: int
    """What they cost, prompts and completions."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settlement:
    """What became of a unit."""

    state: str
    """`enriched`, `no_pairs` or `failed`."""
    reason: str = ""
    message: str = ""
    category: str = ""
    summary: str = ""
    keywords: tuple[str, ...] = ()
    usefulness: float = 0.0
    """0 to 1."""
    pairs: tuple[tuple[str, str], ...] = field(default=())
    """Questions and their answers."""
    model: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0


async def release(
    connection: Connection, *, in_flight_max: int, limit: int, stalled_seconds: float
) -> list[ReleasedUnit]:
    """Mark waiting units as sent, interactive documents first, at most `in_flight_max` under way per tenant.

    Those sent so long ago that their message may be lost are sent again. The caller puts the messages into the outbox
    in the same transaction, of `ALL_TENANTS`.
    """
    async with connection.cursor(row_factory=class_row(ReleasedUnit)) as cursor:
        await cursor.execute(RELEASE, {
            "in_flight_max": in_flight_max, "limit": limit, "stalled_seconds": stalled_seconds,
        })
        return await cursor.fetchall()


async def load(connection: Connection, *, tenant: str, unit_id: str) -> UnitTask | None:
    """Return what is to be read for a unit; None where it is made already, or gone."""
    async with connection.cursor(row_factory=class_row(UnitTask), binary=True) as cursor:
        await cursor.execute(LOAD, {"tenant": tenant, "unit_id": unit_id})
        return await cursor.fetchone()


async def settle(
    connection: Connection, *, tenant: str, document_id: str, unit_id: str, fingerprint: bytes, settlement: Settlement
) -> bool:
    """Write what became of a unit; return False where it was settled before, or its chunk has changed or gone."""
    values = {
        "tenant": tenant, "document_id": document_id, "unit_id": unit_id, "fingerprint": fingerprint,
        "state": settlement.state, "reason": settlement.reason, "message": settlement.message,
        "category": settlement.category, "summary": settlement.summary, "keywords": Jsonb(list(settlement.keywords)),
        "usefulness": settlement.usefulness, "model": settlement.model, "prompt_tokens": settlement.prompt_tokens,
        "completion_tokens": settlement.completion_tokens,
    }
    await connection.execute(LOCK_DOCUMENT, values)
    cursor = await connection.execute(SETTLE, values)
    if cursor.rowcount == 0:
        return False
    await connection.execute(INSERT_PAIRS, values | {
        "pair_ids": [new_id() for _ in settlement.pairs],
        "questions": [question for question, _ in settlement.pairs],
        "answers": [answer for _, answer in settlement.pairs],
    })
    if settlement.state != "failed":
        await connection.execute(NOTE_GAPS_OF_UNIT, values)
    return True


async def give_up(
    connection: Connection, *, tenant: str, unit_id: str, reason: str, message: str, again_seconds: float
) -> None:
    """Note why a unit could not be made; one that failed for no fault of its own waits to be sent again."""
    await connection.execute(GIVE_UP, {
        "tenant": tenant, "unit_id": unit_id, "reason": reason, "message": message[:1_000],
        "transient": list(TRANSIENT), "sends_max": SENDS_MAX, "again_seconds": again_seconds,
    })


RELEASE = """
with chosen as materialized (
    select waiting.unit_id
    from tenants
    cross join lateral (
        select count(*) as units
        from units
        where units.tenant = tenants.tenant and state = 'waiting'
          and sent_at > now() - make_interval(secs => %(stalled_seconds)s)
    ) as in_flight
    cross join lateral (
        select unit_id, created_at, lane
        from units
        where units.tenant = tenants.tenant and state = 'waiting' and not_before <= now()
          and (sent_at is null or sent_at <= now() - make_interval(secs => %(stalled_seconds)s))
          and exists (
              select from agents as agent
              left join deployments as deployment using (agent_id)
              where agent.collection_id = units.collection_id
                and (agent.indexing_method <> 'none'
                     or deployment.overlay ->> 'indexing_method' in ('qa_atomic', 'classic'))
          )
        order by lane = 'bulk', created_at, chunk_index
        limit greatest(%(in_flight_max)s - in_flight.units, 0)
        for update skip locked
    ) as waiting
    order by waiting.lane = 'bulk', waiting.created_at
    limit %(limit)s
)
update units as unit
set sent_at = now(), sends = sends + 1
from chosen, document_versions as version
where unit.unit_id = chosen.unit_id and version.version_id = unit.version_id
returning unit.unit_id, unit.tenant, unit.collection_id, unit.document_id, unit.version_id, version.generation,
          version.job_id, version.request_id, unit.lane, unit.sends
"""

LOAD = """
select unit.unit_id, unit.document_id, unit.fingerprint, document.title, chunk.heading_path, chunk.text,
       chunk.language, coalesce(allowed.categories, '[]') as categories, made.chunks::int as chunks_made,
       made.tokens::bigint as tokens_used
from units as unit
join chunks as chunk on chunk.tenant = unit.tenant and chunk.chunk_id = unit.chunk_id
join documents as document on document.document_id = unit.document_id
cross join lateral (
    select jsonb_agg(distinct allowed_name) as categories
    from agents as agent
    cross join lateral jsonb_array_elements_text(agent.categories) as category (allowed_name)
    where agent.tenant = unit.tenant and agent.collection_id = unit.collection_id
) as allowed
cross join lateral (
    select count(*) filter (where model <> '') as chunks,
           coalesce(sum(prompt_tokens + completion_tokens), 0) as tokens
    from units as other
    where other.document_id = unit.document_id and other.build_id = unit.build_id
) as made
where unit.tenant = %(tenant)s and unit.unit_id = %(unit_id)s and unit.state = 'waiting'
"""

LOCK_DOCUMENT = "select from documents where tenant = %(tenant)s and document_id = %(document_id)s for update"

SETTLE = """
update units
set state = %(state)s, reason = %(reason)s, message = %(message)s, category = %(category)s, summary = %(summary)s,
    keywords = %(keywords)s, usefulness = %(usefulness)s, model = %(model)s,
    prompt_tokens = prompt_tokens + %(prompt_tokens)s, completion_tokens = completion_tokens + %(completion_tokens)s,
    revision = revision + 1, updated_at = now()
where tenant = %(tenant)s and unit_id = %(unit_id)s and state = 'waiting' and fingerprint = %(fingerprint)b
"""

INSERT_PAIRS = """
insert into unit_pairs (pair_id, unit_id, tenant, place, question, answer)
select pair_id, %(unit_id)s, %(tenant)s, place, question, answer
from unnest(%(pair_ids)s::uuid[], %(questions)s::text[], %(answers)s::text[])
     with ordinality as pair (pair_id, question, answer, place)
"""

INSERT_GAPS = f"""
insert into unit_gaps (unit_id, space_id, tenant)
select unit.unit_id, space.space_id, unit.tenant
from units as unit
join collections as collection using (collection_id)
join embedding_spaces as space on {HELD.format(space="space.space_id")}
where unit.tenant = %(tenant)s and {{chosen}}
on conflict (unit_id, space_id, tenant) do update set noted_at = clock_timestamp()
"""
NOTE_GAPS_OF_UNIT = INSERT_GAPS.format(chosen="unit.unit_id = %(unit_id)s")

GIVE_UP = """
update units
set state = case when %(reason)s = any(%(transient)s::text[]) and sends < %(sends_max)s then 'waiting'
                 else 'failed' end,
    reason = %(reason)s, message = %(message)s, sent_at = null,
    not_before = now() + make_interval(secs => %(again_seconds)s), updated_at = now()
where tenant = %(tenant)s and unit_id = %(unit_id)s and state = 'waiting'
"""
