"""Chunks around passages, of the same version and section without a gap, and the pictures beside passages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.places.encoding import PICTURES_VERSION
from sourcier.services.index.search.passages import Passage, get_passages

NEIGHBOURS_MAX = 5
"""On either side."""
PICTURES_WITHIN = 32
"""Chunks on either side in which pictures are looked for: passages of pictures follow the text of their page."""


async def neighbours_of(
    connection: Connection, *, tenant: str, passages: Sequence[Passage], count: int, vectors_table: str | None = None
) -> dict[str, tuple[Passage, ...]]:
    """Return up to `count` chunks before and after each passage by its chunk id, in the document's order.

    With token codes where a space's table is named. A chunk of another section ends the run.
    """
    if not passages or not count:
        return {}
    values = {
        "tenant": tenant, "chunk_ids": [passage.chunk_id for passage in passages],
        "count": min(count, NEIGHBOURS_MAX),
    }
    cursor = await connection.execute(SELECT_NEAR, values)
    near: defaultdict[str, dict[int, str]] = defaultdict(dict)
    for anchor, distance, chunk_id in await cursor.fetchall():
        near[anchor][distance] = chunk_id
    chosen = {anchor: _runs(found) for anchor, found in near.items()}
    wanted = list(dict.fromkeys(chunk_id for chunk_ids in chosen.values() for chunk_id in chunk_ids))
    found = await get_passages(connection, tenant=tenant, chunk_ids=wanted, vectors_table=vectors_table)
    known: Mapping[str, Passage] = {passage.chunk_id: passage for passage in found}
    return {
        anchor: tuple(known[chunk_id] for chunk_id in chunk_ids if chunk_id in known)
        for anchor, chunk_ids in chosen.items()
    }


def _runs(found: Mapping[int, str]) -> list[str]:
    """Return the chunks that are next to the passage, or next to one that is."""
    before, after = list[str](), list[str]()
    while (chunk_id := found.get(-len(before) - 1)) is not None:
        before.append(chunk_id)
    while (chunk_id := found.get(len(after) + 1)) is not None:
        after.append(chunk_id)
    return before[::-1] + after


async def pictures_beside(
    connection: Connection, *, tenant: str, passages: Sequence[Passage]
) -> dict[str, tuple[Passage, ...]]:
    """Return the passages that were read from pictures beside each passage, by its chunk id, in the document's order.

    Those of its page, slide or sheet; in formats without pages those of its section. Never the passage itself, and
    none that stands over `PICTURES_WITHIN` chunks away.
    """
    if not passages:
        return {}
    values = {
        "tenant": tenant, "chunk_ids": [passage.chunk_id for passage in passages], "within": PICTURES_WITHIN,
        "pictured": bytes([PICTURES_VERSION]),
    }
    cursor = await connection.execute(SELECT_PICTURES, values)
    beside: defaultdict[str, list[str]] = defaultdict(list)
    for anchor, chunk_id in await cursor.fetchall():
        beside[anchor].append(chunk_id)
    wanted = list(dict.fromkeys(chunk_id for chunk_ids in beside.values() for chunk_id in chunk_ids))
    found = {each.chunk_id: each for each in await get_passages(connection, tenant=tenant, chunk_ids=wanted)}
    return {
        anchor: tuple(found[chunk_id] for chunk_id in chunk_ids if chunk_id in found)
        for anchor, chunk_ids in beside.items()
    }


SELECT_NEAR = """
select anchor.chunk_id, near.chunk_index - anchor.chunk_index, near.chunk_id
from chunks as anchor
join chunks as near
  on near.document_id = anchor.document_id
 and near.chunk_index between anchor.chunk_index - %(count)s and anchor.chunk_index + %(count)s
where anchor.tenant = %(tenant)s and anchor.chunk_id = any(%(chunk_ids)s::uuid[])
  and near.tenant = %(tenant)s and near.chunk_id <> anchor.chunk_id
  and near.version_id = anchor.version_id and near.heading_path = anchor.heading_path and near.kind = anchor.kind
"""

# Only maps of places with pictures begin with that number.
SELECT_PICTURES = """
select anchor.chunk_id, near.chunk_id
from chunks as anchor
join chunks as near
  on near.document_id = anchor.document_id
 and near.chunk_index between anchor.chunk_index - %(within)s and anchor.chunk_index + %(within)s
where anchor.tenant = %(tenant)s and anchor.chunk_id = any(%(chunk_ids)s::uuid[])
  and near.tenant = %(tenant)s and near.chunk_id <> anchor.chunk_id
  and near.version_id = anchor.version_id and substring(near.place_map from 1 for 1) = %(pictured)s
  and case when anchor.page > 0 then near.page = anchor.page else near.heading_path = anchor.heading_path end
order by near.chunk_index
"""
