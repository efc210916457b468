"""Lexical search: BM25 with candidates from an inverted index and exact scores, in one statement."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

from psycopg import sql

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.types import sparse_vector
from sourcier.services.index.acronyms.asking import NO_ALTERNATIVES, Alternatives
from sourcier.services.index.lexical.bm25 import DIMENSION, question_weights
from sourcier.services.index.lexical.entries import SHOW_CANDIDATES, candidates_query, holding_query
from sourcier.services.index.search.dense import Hit
from sourcier.services.index.search.scope import Scope

CANDIDATES_MAX = 5_000
"""Passages scored, about 2 µs each: all stems of a question in a small corpus, its rarest ones in a large one."""

SCANNED_MAX = 50_000
"""Passages read where even the rarest stem is commoner than that; beyond, the search is no longer exact."""

READ_MAX = 200_000
"""Passages that a stem may be in for its postings to be read beside another's."""

TOGETHER = 3.0
"""How much oftener than by chance two stems of a question are in one passage."""

QUESTION_STEMS_MAX = 64
"""Rarest stems kept of a very long question."""


async def search_lexical(
    connection: Connection, scope: Scope, *, stems: Sequence[str], limit: int, added: Alternatives = NO_ALTERNATIVES,
    doubted: AbstractSet[str] = frozenset(),
) -> list[Hit]:
    """Return the passages with the highest BM25 score, best first; none where no stem matches.

    `stems` are the question's, which the scope has counted; `added` is what its acronyms add to them, and `doubted` are
    those that count half.
    """
    if not stems and not added.groups:
        return []
    # A filter leaves a share of the candidates, so it affords commoner stems; else it would find too few.
    share = scope.matching / scope.passages if 0 < scope.matching < scope.passages else 1.0
    stems = sorted(stems, key=lambda stem: scope.frequencies.get(stem, 0))[:QUESTION_STEMS_MAX]
    weights = added.added_to(
        question_weights(stems, passages=scope.passages, frequencies=scope.frequencies, doubted=doubted)
    )
    groups = candidate_groups(
        stems, frequencies=scope.frequencies, passages=scope.passages, candidates_max=round(CANDIDATES_MAX / share)
    )
    alone = sum(len(group) == 1 for group in groups)
    hits = await _fetch(connection, scope, weights, [*groups, *added.groups], limit=limit)
    wanted = limit if scope.filters.empty else min(limit, scope.matching)
    while len(hits) < wanted and alone < len(stems):
        # Passages with a single, common stem are left: nobody gets fewer than there are.
        alone = min(max(2 * alone, 1), len(stems))
        single = [(stem,) for stem in stems[:alone]]
        hits = await _fetch(connection, scope, weights, [*single, *added.groups], limit=limit)
    return hits


async def search_holding(
    connection: Connection, scope: Scope, *, terms: Sequence[str], stems: Sequence[str], limit: int,
    beginnings: bool = False,
) -> list[Hit]:
    """Return the passages that hold any of the terms of identifiers, those of the highest BM25 first.

    `beginnings`: the terms that they hold need only begin so.
    """
    candidates = holding_query(terms, collection_numbers=scope.collection_numbers, beginnings=beginnings)
    weights = question_weights(stems[:QUESTION_STEMS_MAX], passages=scope.passages, frequencies=scope.frequencies)
    return await _best(connection, scope, weights, candidates, limit=limit)


async def _fetch(
    connection: Connection, scope: Scope, weights: Mapping[int, float], groups: Sequence[tuple[str, ...]], *, limit: int
) -> list[Hit]:
    """Return the best of the passages that hold all stems of any group."""
    if not groups:
        return []
    candidates = candidates_query(groups, collection_numbers=scope.collection_numbers)
    return await _best(connection, scope, weights, candidates, limit=limit)


async def _best(
    connection: Connection, scope: Scope, weights: Mapping[int, float], candidates: str, *, limit: int
) -> list[Hit]:
    """Return the best of the passages that a `tsquery` finds, by the weights of what is looked for."""
    values = {
        "tenant": scope.tenant,
        "weights": sparse_vector(weights, dimension=DIMENSION),
        "scanned_max": SCANNED_MAX,
        "limit": limit,
    } | scope.parameters
    named = scope.filters.empty or scope.matching_documents is not None
    query = sql.SQL(SEARCH if named else SEARCH_AMONG).format(condition=sql.SQL(scope.condition))
    async with connection.pipeline():
        await connection.execute(SHOW_CANDIDATES, (candidates,))
        cursor = await connection.execute(query, values)
    return [Hit(chunk_id, -negative_score) for chunk_id, negative_score in await cursor.fetchall()]


def candidate_groups(
    stems: Sequence[str], *, frequencies: Mapping[str, int], passages: int, candidates_max: int = CANDIDATES_MAX
) -> list[tuple[str, ...]]:
    """Return groups of stems, the rarest first: a passage that holds all stems of one of them is a candidate.

    The rarest stems alone, as many as stay within the budget; for what is left of it, commoner ones two by two, which
    the best passages hold together. How many passages hold both is estimated by chance and `TOGETHER`.
    """
    stems = sorted(stems, key=lambda stem: frequencies.get(stem, 0))
    groups: list[tuple[str, ...]] = []
    left = candidates_max
    for stem in stems:
        if frequencies.get(stem, 0) > left:
            break
        left -= frequencies.get(stem, 0)
        groups.append((stem,))
    common = [stem for stem in stems[len(groups) :] if frequencies[stem] <= READ_MAX]
    pairs = [
        (min(TOGETHER * frequencies[one] * frequencies[other] / max(passages, 1), frequencies[one]), (one, other))
        for one, other in itertools.combinations(common, 2)
    ]
    for estimate, pair in sorted(pairs):
        if estimate > left:
            break
        left -= round(estimate)
        groups.append(pair)
    return groups


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

# Where a filter leaves too many documents to be named, the planner takes them for few, and reads the entries of each:
# 900 ms of 100,000 entries, where the inverted index takes 15. Behind `offset 0` it has to begin with the candidates.
SEARCH_AMONG = """
select chunk_id, terms <#> %(weights)b as negative_score
from (
    select chunk_id, document_id, terms
    from (
        select chunk_id, document_id, terms from lexical_entries where tenant = %(tenant)s offset 0
    ) as entry
    where true {condition}
    limit %(scanned_max)s
) as candidate
order by negative_score, chunk_id
limit %(limit)s
"""
