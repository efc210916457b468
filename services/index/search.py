"""Search: dense, lexical or both fused, with the passages found. The gateway's way into the index.

Each search is one read-only transaction, so one snapshot: what was found is still there when it is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from services.chassis.errors import InvalidArgument
from services.chassis.postgres import Connection, Database
from services.index.analyser import analyse_question
from services.index.categories import list_categories
from services.index.dense import Hit, search_dense
from services.index.filters import Filters
from services.index.fusion import fuse
from services.index.lexical import search_lexical
from services.index.neighbours import neighbours_of
from services.index.passages import Passage, get_passages
from services.index.scope import Scope, find_scope, find_space

LIMIT_MAX = 1_000
QUESTION_CHARACTERS_MAX = 20_000
"""Read of a question for its words; the rarest count, so a longer one loses nothing that matters."""


@dataclass(frozen=True, slots=True)
class QuestionVector:
    """A question's pooled vector, bound to its space."""

    space_id: str
    values: bytes
    """Float16, little-endian, L2 norm 1."""

    @property
    def dimension(self) -> int:
        """Return the number of values."""
        return len(self.values) // 2


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchResult:
    """A passage, and why it is here."""

    passage: Passage
    score: float
    """What the results are ordered by: cosine similarity, BM25, or the sum of reciprocal ranks."""
    similarity: float | None = None
    """Cosine similarity; None where dense search did not find it."""
    lexical_score: float | None = None
    """BM25; None where lexical search did not find it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """Where to search and how much to return."""

    tenant: str
    collections: Sequence[str]
    limit: int
    filters: Filters = field(default_factory=Filters)
    exact: bool = False
    """Never use an approximate index."""
    with_codes: bool = False
    """Return the passages' token codes."""
    heads: int = 0
    """So many first places of each fused list are among the results in any case."""
    space_id: str = ""
    """Search in this space, beside the one that the collections answer from; empty for that one."""

    def __post_init__(self) -> None:
        """Raise `InvalidArgument` for a limit out of bounds."""
        if not 1 <= self.limit <= LIMIT_MAX:
            raise InvalidArgument(f"A search returns 1 to {LIMIT_MAX} passages.", field="limit")


async def dense(database: Database, request: SearchRequest, *, vector: QuestionVector) -> list[SearchResult]:
    """Return the passages closest to the question's vector; raise `SpaceMismatch`, `NotFound`."""
    async with database.transaction(tenant=request.tenant, read_only=True) as connection:
        scope = await _scope(connection, request, vector=vector)
        hits = await search_dense(connection, scope, vector=vector.values, limit=request.limit, exact=request.exact)
        return await _results(connection, request, scope, dense_hits=hits, lexical_hits=[])


async def lexical(database: Database, request: SearchRequest, *, question: str) -> list[SearchResult]:
    """Return the passages that share the question's rare words; raise `NotFound`."""
    stems = analyse_question(question[:QUESTION_CHARACTERS_MAX])
    async with database.transaction(tenant=request.tenant, read_only=True) as connection:
        scope = await _scope(connection, request, stems=stems)
        hits = await search_lexical(connection, scope, stems=stems, limit=request.limit)
        return await _results(connection, request, scope, dense_hits=[], lexical_hits=hits)


async def fused(
    database: Database, request: SearchRequest, *, question: str, vector: QuestionVector, depth: int = 100
) -> list[SearchResult]:
    """Return both searches' first `depth` passages, fused by reciprocal ranks; raise `SpaceMismatch`, `NotFound`."""
    depth = max(depth, request.limit)
    stems = analyse_question(question[:QUESTION_CHARACTERS_MAX])
    async with database.transaction(tenant=request.tenant, read_only=True) as connection:
        scope = await _scope(connection, request, stems=stems, vector=vector)
        dense_hits = await search_dense(connection, scope, vector=vector.values, limit=depth, exact=request.exact)
        lexical_hits = await search_lexical(connection, scope, stems=stems, limit=depth)
        return await _results(connection, request, scope, dense_hits=dense_hits, lexical_hits=lexical_hits)


async def space_of(database: Database, request: SearchRequest) -> str:
    """Return the id of the space that a search would be in; raise `NotFound`, `SpaceMismatch`."""
    async with database.transaction(tenant=request.tenant, read_only=True) as connection:
        return await find_space(connection, tenant=request.tenant, collections=request.collections)


async def categories(database: Database, request: SearchRequest) -> list[str]:
    """Return the categories that a search could be narrowed to, the most common first."""
    async with database.transaction(tenant=request.tenant, read_only=True) as connection:
        return await list_categories(connection, tenant=request.tenant, collections=request.collections)


async def neighbours(
    database: Database, request: SearchRequest, *, found: Sequence[Passage], count: int
) -> dict[str, tuple[Passage, ...]]:
    """Return the chunks around passages by their chunk ids, with token codes where the request wants them."""
    async with database.transaction(tenant=request.tenant, read_only=True) as connection:
        scope = await _scope(connection, request) if request.with_codes else None
        return await neighbours_of(
            connection, tenant=request.tenant, passages=found, count=count,
            vectors_table=None if scope is None else scope.vectors_table,
        )


async def passages(database: Database, *, tenant: str, chunk_ids: Sequence[str]) -> list[Passage]:
    """Return passages by id, in order, without those that no longer exist."""
    async with database.transaction(tenant=tenant, read_only=True) as connection:
        return await get_passages(connection, tenant=tenant, chunk_ids=chunk_ids)


async def _scope(
    connection: Connection, request: SearchRequest, *, stems: Sequence[str] = (), vector: QuestionVector | None = None
) -> Scope:
    scope = await find_scope(
        connection, tenant=request.tenant, collections=request.collections, filters=request.filters, stems=stems,
        space_id=request.space_id,
    )
    if vector is not None:
        scope.check_vector(space_id=vector.space_id, dimension=vector.dimension)
    return scope


async def _results(
    connection: Connection,
    request: SearchRequest,
    scope: Scope,
    *,
    dense_hits: Sequence[Hit],
    lexical_hits: Sequence[Hit],
) -> list[SearchResult]:
    similarities = {hit.chunk_id: hit.score for hit in dense_hits}
    lexical_scores = {hit.chunk_id: hit.score for hit in lexical_hits}
    if dense_hits and lexical_hits:
        ranked = fuse([list(similarities), list(lexical_scores)], limit=request.limit, heads=request.heads)
    else:
        ranked = list((similarities or lexical_scores).items())[: request.limit]
    scores = dict(ranked)
    found = await get_passages(
        connection,
        tenant=request.tenant,
        chunk_ids=list(scores),
        vectors_table=scope.vectors_table if request.with_codes else None,
    )
    return [
        SearchResult(
            passage=passage,
            score=scores[passage.chunk_id],
            similarity=similarities.get(passage.chunk_id),
            lexical_score=lexical_scores.get(passage.chunk_id),
        )
        for passage in found
    ]
