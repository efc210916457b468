"""Lexical search: BM25 with candidates from an inverted index and exact scores, in one statement."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from psycopg import sql

from services.chassis.postgres import Connection
from services.chassis.postgres_types import sparse_vector
from services.index.bm25 import DIMENSION, question_weights
from services.index.dense import Hit
from services.index.lexical_entries import SHOW_CANDIDATES, candidates_query
from services.index.scope import Scope

CANDIDATES_MAX = 5_000
"""Passages scored, about 2 µs each: all stems of a question in a small corpus, its rarest ones in a large one."""

SCANNED_MAX = 50_000
"""Passages read where even the rarest stem is commoner than that; beyond, the search is no longer exact."""

QUESTION_STEMS_MAX = 64
"""Rarest stems kept of a very long question."""


async def search_lexical(connection: Connection, scope: Scope, *, stems: Sequence[str], limit: int) -> list[Hit]:
    """Return the passages with the highest BM25 score, best first; none where no stem matches.

    `stems` are the question's, the same that the scope was found with.
    """
    if not stems:
        return []
    # A filter leaves a share of the candidates, so it affords commoner stems; else it would find too few.
    share = scope.matching / scope.passages if 0 < scope.matching < scope.passages else 1.0
    stems = sorted(stems, key=lambda stem: scope.frequencies.get(stem, 0))[:QUESTION_STEMS_MAX]
    rare = rarest_stems(stems, frequencies=scope.frequencies, candidates_max=round(CANDIDATES_MAX / share))
    weights = question_weights(stems, passages=scope.passages, frequencies=scope.frequencies)
    values = {
        "tenant": scope.tenant,
        "weights": sparse_vector(weights, dimension=DIMENSION),
        "scanned_max": SCANNED_MAX,
        "limit": limit,
    } | scope.filters.parameters(scope.collection_ids)
    query = sql.SQL(SEARCH).format(condition=sql.SQL(scope.filters.condition))
    candidates = candidates_query(rare, collection_numbers=scope.collection_numbers)
    async with connection.pipeline():
        await connection.execute(SHOW_CANDIDATES, (candidates,))
        cursor = await connection.execute(query, values)
        return [Hit(chunk_id, -negative_score) for chunk_id, negative_score in await cursor.fetchall()]


def rarest_stems(
    stems: Sequence[str], *, frequencies: Mapping[str, int], candidates_max: int = CANDIDATES_MAX
) -> list[str]:
    """Return the rarest stems whose passages together stay within the budget; the rarest one in any case."""
    chosen: list[str] = []
    candidates = 0
    for stem in sorted(stems, key=lambda stem: frequencies.get(stem, 0)):
        candidates += frequencies.get(stem, 0)
        if chosen and candidates > candidates_max:
            break
        chosen.append(stem)
    return chosen


# Row-level security applies `sourcier.candidates`; the limit inside bounds the work for a stem that is everywhere.
SEARCH = """
select chunk_id, terms <#> %(weights)b as negative_score
from (
    select chunk_id, document_id, terms
    from lexical_entries
    where tenant = %(tenant)s {condition}
    limit %(scanned_max)s
) as candidate
order by negative_score, chunk_id
limit %(limit)s
"""
