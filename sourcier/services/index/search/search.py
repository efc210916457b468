"""Search: dense, lexical or both fused, with the passages found. The gateway's way into the index.

Each search is one read-only transaction, so one snapshot: what was found is still there when it is read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sourcier.services.chassis.errors import InvalidArgument, SettingsChanged
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.index.acronyms.asking import Expansion
from sourcier.services.index.search.dense import Hit, search_dense
from sourcier.services.index.search.facets import list_categories
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.fusion import fuse
from sourcier.services.index.search.holding import (
    NO_STANDING,
    NOTHING_ASKED,
    Holding,
    Missing,
    Standing,
    find_holding,
    read_unread,
)
from sourcier.services.index.search.lexical import search_lexical
from sourcier.services.index.search.neighbours import neighbours_of, pictures_beside
from sourcier.services.index.search.passages import Passage, get_passages
from sourcier.services.index.search.question_terms import AskedWords, Sought
from sourcier.services.index.search.scope import Scope, find_scope, find_space
from sourcier.services.index.search.settings import RetrievalSettings
from sourcier.services.index.search.units import UnitMatch, nearest_units, units_of
from sourcier.services.index.slips.choosing import Respelling

LIMIT_MAX = 1_000
TEXT_KIND = "text"


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


ComingVector = Callable[[Sequence[Respelling]], Awaitable[QuestionVector | None]]
"""Waits for a question's vector, made of what its slips may stand for, too; None where it does not come soon."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where a passage stands in each list, from 1; 0 where it is not in it."""

    dense: int = 0
    lexical: int = 0
    units: int = 0
    merged: int = 0
    """Among all that was found, by `SearchResult.score` alone."""


NO_PLACES = Places()


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
    unit: UnitMatch | None = None
    """What is known of the passage, and by which of it it was found; None where nothing is known."""
    incomplete: bool = False
    """Whether dense search may have left out closer passages than it found (`Hit.incomplete`)."""
    standing: Standing = NO_STANDING
    """What it holds of the question's identifiers: what holds more comes first, whatever the scores."""
    missing: tuple[Missing, ...] = ()
    """The question's identifiers that no passage holds; the same in all results."""
    places: Places = NO_PLACES
    """Why it is here: its place in each list."""
    expansions: tuple[Expansion, ...] = ()
    """The question's acronyms and long forms that were looked for in each other's place; the same in all results."""
    respellings: tuple[Respelling, ...] = ()
    """What else was searched for because words of the question may be slips of typing; the same in all results."""


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
    believed: RetrievalSettings | None = None
    """What the collection's settings were when the request was made of them; None where that need not be so still."""
    method: str = ""
    """The indexing method of the agent that is asked; empty for none: the passages' own text alone is searched."""
    kinds: tuple[str, ...] = ()
    """By what passages are found (`text` and kinds of `unit_points`); empty for `text` and what the method asks for."""

    @property
    def by_text(self) -> bool:
        """Return whether passages are found by their own text."""
        return not self.kinds or TEXT_KIND in self.kinds

    @property
    def unit_kinds(self) -> tuple[str, ...]:
        """Return the kinds of units' vectors that are named."""
        return tuple(kind for kind in self.kinds if kind != TEXT_KIND)

    @property
    def by_units(self) -> bool:
        """Return whether passages are found by what is known of them."""
        return bool(self.unit_kinds) if self.kinds else bool(self.method)

    def __post_init__(self) -> None:
        """Raise `InvalidArgument` for a limit out of bounds."""
        if not 1 <= self.limit <= LIMIT_MAX:
            raise InvalidArgument(f"A search returns 1 to {LIMIT_MAX} passages.", field="limit")


async def dense(database: Database, request: SearchRequest, *, vector: QuestionVector) -> list[SearchResult]:
    """Return the passages closest to the question's vector; raise `SpaceMismatch`, `NotFound`."""
    async with database.transaction(tenant=request.tenant, read_only=True, ends_later=True) as connection:
        scope = await _scope(connection, request, vector=vector)
        hits = await _dense_hits(connection, request, scope, vector, limit=request.limit)
        matches = await _unit_matches(connection, request, scope, vector, limit=request.limit)
        # All are cosines: of what a chunk was found by, the closest counts.
        closest: dict[str, float] = {}
        found: list[Hit | UnitMatch] = [*hits, *matches]
        for hit in found:
            closest[hit.chunk_id] = max(closest.get(hit.chunk_id, -1.0), _score(hit))
        scores = dict(sorted(closest.items(), key=lambda entry: -entry[1])[: request.limit])
        return await _results(connection, request, scope, scores, dense_hits=hits, matches=matches)


async def lexical(database: Database, request: SearchRequest, *, question: str) -> list[SearchResult]:
    """Return the passages that share the question's rare words; raise `NotFound`."""
    async with database.transaction(tenant=request.tenant, read_only=True, ends_later=True) as connection:
        words, sought = await _words(connection, request, question)
        scope, stems = sought.scope, sought.stems
        hits = await search_lexical(
            connection, scope, stems=stems, limit=request.limit, added=sought.added, doubted=sought.doubted
        )
        holding = await find_holding(
            connection, scope, asked=words.identifiers, stems=stems, limit=request.limit
        )
        scores = {**holding.scores, **{hit.chunk_id: hit.score for hit in hits}}
        return await _results(connection, request, scope, scores, lexical_hits=hits, holding=holding, sought=sought)


async def fused(
    database: Database, request: SearchRequest, *, question: str, vector: QuestionVector, depth: int = 100
) -> list[SearchResult]:
    """Return the searches' first `depth` passages, fused by reciprocal ranks; raise `SpaceMismatch`, `NotFound`.

    By vectors, by words, and where it is asked for by units, whose cosines are not those of passages: questions are
    closer to questions than to texts.
    """

    async def given(_: Sequence[Respelling]) -> QuestionVector:
        return vector

    found = await fused_while(database, request, question=question, coming=given, depth=depth)
    assert found is not None
    return found


async def fused_while(
    database: Database, request: SearchRequest, *, question: str, coming: ComingVector, depth: int = 100
) -> list[SearchResult] | None:
    """Search as `fused` does, by words while the question's vector is still being made, all in one snapshot.

    None where `coming` says that the vector is late: a connection is not to be held any longer for it.
    """
    depth = max(depth, request.limit)
    async with database.transaction(tenant=request.tenant, read_only=True, ends_later=True) as connection:
        words, sought = await _words(connection, request, question)
        scope, stems = sought.scope, sought.stems
        lexical_hits = await search_lexical(
            connection, scope, stems=stems, limit=depth, added=sought.added, doubted=sought.doubted
        ) if request.by_text else []
        holding = await find_holding(
            connection, scope, asked=words.identifiers, stems=stems, limit=request.limit
        )
        vector = await coming(sought.respellings)
        if vector is None:
            return None
        scope.check_vector(space_id=vector.space_id, dimension=vector.dimension)
        dense_hits = await _dense_hits(connection, request, scope, vector, limit=depth)
        matches = await _unit_matches(connection, request, scope, vector, limit=depth)
        found = [hits for hits in (dense_hits, lexical_hits, matches) if hits]
        if len(found) > 1:
            rankings = [[hit.chunk_id for hit in hits] for hits in found]
            # Of what holds an identifier the score counts however deep it lies.
            scores = dict(fuse(rankings, limit=request.limit, heads=request.heads))
            everywhere = dict(fuse(rankings, limit=sum(map(len, rankings)))) if holding.standings else {}
            scores |= {each: everywhere.get(each, 0.0) for each in holding.standings}
        else:
            scores = {hit.chunk_id: _score(hit) for hits in found for hit in hits[: request.limit]}
        return await _results(
            connection, request, scope, scores, dense_hits=dense_hits, lexical_hits=lexical_hits, matches=matches,
            holding=holding, sought=sought,
        )


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


async def pictures(database: Database, *, tenant: str, found: Sequence[Passage]) -> dict[str, tuple[Passage, ...]]:
    """Return the passages that were read from pictures beside passages, by their chunk ids."""
    async with database.transaction(tenant=tenant, read_only=True) as connection:
        return await pictures_beside(connection, tenant=tenant, passages=found)


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
    if request.believed is not None and request.believed != scope.retrieval:
        raise SettingsChanged
    if vector is not None:
        scope.check_vector(space_id=vector.space_id, dimension=vector.dimension)
    return scope


async def _words(connection: Connection, request: SearchRequest, question: str) -> tuple[AskedWords, Sought]:
    words = await AskedWords.read(
        connection, tenant=request.tenant, collections=request.collections, question=question,
        by_text=request.by_text,
    )
    return words, await words.sought(connection, await _scope(connection, request, stems=words.counted))


async def _dense_hits(
    connection: Connection, request: SearchRequest, scope: Scope, vector: QuestionVector, *, limit: int
) -> list[Hit]:
    if not request.by_text:
        return []
    return await search_dense(connection, scope, vector=vector.values, limit=limit, exact=request.exact)


async def _unit_matches(
    connection: Connection, request: SearchRequest, scope: Scope, vector: QuestionVector, *, limit: int
) -> list[UnitMatch]:
    if not request.by_units:
        return []
    return await nearest_units(
        connection, scope, vector=vector.values, kinds=request.unit_kinds, method=request.method, limit=limit,
        exact=request.exact,
    )


def _score(hit: Hit | UnitMatch) -> float:
    return hit.score if isinstance(hit, Hit) else hit.similarity or 0.0


async def _results(
    connection: Connection,
    request: SearchRequest,
    scope: Scope,
    scores: Mapping[str, float],
    *,
    dense_hits: Sequence[Hit] = (),
    lexical_hits: Sequence[Hit] = (),
    matches: Sequence[UnitMatch] = (),
    holding: Holding = NOTHING_ASKED,
    sought: Sought | None = None,
) -> list[SearchResult]:
    """Return the passages in the order of `scores`, those with the question's identifiers first; each with what found
    it."""
    similarities = {hit.chunk_id: hit.score for hit in dense_hits}
    lexical_scores = {**holding.scores, **{hit.chunk_id: hit.score for hit in lexical_hits}}
    incomplete = any(hit.incomplete for hit in dense_hits)
    places = [
        _numbered(ids) for ids in (
            similarities, (hit.chunk_id for hit in lexical_hits), (match.chunk_id for match in matches),
            sorted(scores, key=lambda each: -scores[each]),
        )
    ]
    if holding.asked:
        scores = holding.dominate(scores, limit=request.limit)
    if not scores:
        return []
    tenant, chunk_ids = request.tenant, list(scores)
    vectors_table = scope.vectors_table if request.with_codes else None
    found = await get_passages(connection, tenant=tenant, chunk_ids=chunk_ids, vectors_table=vectors_table)
    units = await units_of(connection, tenant=tenant, chunk_ids=chunk_ids) if scope.has_units else {}
    units |= {match.chunk_id: match for match in matches}
    if holding.unread:
        holding = await read_unread(holding, found)
        found = sorted(found, key=lambda passage: holding.of(passage.chunk_id).order, reverse=True)
    return [
        SearchResult(
            passage=described(passage, units.get(passage.chunk_id)),
            score=scores[passage.chunk_id],
            similarity=similarities.get(passage.chunk_id),
            lexical_score=lexical_scores.get(passage.chunk_id),
            unit=units.get(passage.chunk_id),
            incomplete=incomplete,
            standing=holding.of(passage.chunk_id),
            missing=holding.missing,
            places=Places(*(numbered.get(passage.chunk_id, 0) for numbered in places)),
            expansions=() if sought is None else sought.added.used,
            respellings=() if sought is None else sought.respellings,
        )
        for passage in found
    ]


def _numbered(chunk_ids: Iterable[str]) -> dict[str, int]:
    return {chunk_id: place for place, chunk_id in enumerate(chunk_ids, start=1)}


def described(passage: Passage, unit: UnitMatch | None) -> Passage:
    """Return a passage with what its unit says of it: the chunk's own category comes before its document's."""
    if unit is None or not (unit.category or unit.question):
        return passage
    return replace(
        passage, category=unit.category or passage.category, question=unit.question, answer=unit.answer
    )
