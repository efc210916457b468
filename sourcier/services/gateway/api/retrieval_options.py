"""How a question is searched for, once request, conversation, collection and service have had their say."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.access import Access, current_access
from sourcier.services.chassis.errors import DeadlineExceeded
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.grpc.serving import require
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.retrieval.scoping import Scoping
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.index.collections.collections import search_settings_of
from sourcier.services.index.search.settings import NOTHING_SAID, RetrievalSettings, first_said

DEFAULT_LIMIT = 5
CANDIDATES_MAX = 100
COLLECTIONS_HELD_MAX = 10_000
"""Collections of which is remembered how they were last searched."""
MODE_NAMES = {
    answer_pb2.SEARCH_MODE_UNSPECIFIED: None,
    answer_pb2.SEARCH_MODE_DENSE: "dense",
    answer_pb2.SEARCH_MODE_LEXICAL: "lexical",
    answer_pb2.SEARCH_MODE_FUSED: "fused",
    answer_pb2.SEARCH_MODE_RERANKED: "reranked",
}
_FIELDS = ("result_threshold", "suppress_duplicates", "neighbours", "detect_categories", "neighbour_tokens")


_Known = tuple[str, str, Access | None]
"""A collection as a caller knows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalOptions:
    """How a question is searched for; nothing is left open."""

    limit: int
    """Passages that a search returns, or that the language model is given."""
    candidates: int
    mode: str
    """One of `retrieval_settings.MODES`."""
    exact: bool = False
    result_threshold: float = 0.0
    suppress_duplicates: bool = False
    neighbours: int = 0
    neighbour_tokens: int = 1_000
    detect_categories: bool = False
    held: RetrievalSettings = NOTHING_SAID
    """The collection's own settings, as they were read."""
    space_id: str = ""
    """The collection's space as its settings were read; empty where there was no such collection."""


def said_by_search(request: answer_pb2.SearchRequest) -> RetrievalSettings:
    """Return what a search says of itself; raise `InvalidArgument` for a value out of its bounds."""
    require(request.mode in MODE_NAMES, f"mode {request.mode} is not known; use SEARCH_MODE_DENSE, _LEXICAL, _FUSED or "
            "_RERANKED, or leave it out", field="mode")
    return _said(
        request, limit=request.limit or None, candidates=request.candidates or None, mode=MODE_NAMES[request.mode],
        exact=request.exact if request.HasField("exact") else None,
    )


def said_by_question(request: answer_pb2.AskRequest) -> RetrievalSettings:
    """Return what a question says of its search; raise `InvalidArgument` for a value out of its bounds."""
    return _said(
        request, passages=request.passages or None, candidates=request.candidates or None,
        rerank=request.rerank if request.HasField("rerank") else None,
    )


def _said(
    request: answer_pb2.SearchRequest | answer_pb2.AskRequest, **values: int | float | str | None
) -> RetrievalSettings:
    given = {field.name: value for field, value in request.ListFields() if field.name in _FIELDS}
    return RetrievalSettings(**(given | values)).checked()


class RetrievalPlanner:
    """Puts the places that have a say in order."""

    def __init__(self, database: Database, settings: GatewaySettings) -> None:
        self._database = database
        self._settings = settings
        self.scoping = Scoping(database, seconds_max=settings.search_seconds_max)
        self._held: dict[_Known, tuple[RetrievalSettings, str]] = {}
        self._service = RetrievalSettings(
            limit=DEFAULT_LIMIT, passages=settings.passages, candidates=settings.candidates,
            rerank=settings.rerank, result_threshold=settings.result_threshold, exact=False,
            suppress_duplicates=settings.suppress_duplicates, neighbours=settings.neighbours,
            neighbour_tokens=settings.neighbour_tokens, detect_categories=settings.detect_categories,
        )

    def expected(
        self, request: answer_pb2.SearchRequest, *, tenant: str, collection: str
    ) -> RetrievalOptions | None:
        """Return how the search is made if the collection is as it was last read; None where it never was.

        No more than a guess, which saves a search the time of reading: it has to find out whether it is right. Raises
        `InvalidArgument` as `for_search` does.
        """
        held = self._held.get(_known(tenant, collection))
        return None if held is None else self._for_search(said_by_search(request), *held)

    def forget(self, *, tenant: str, collection: str) -> None:
        """Expect nothing of a collection any more, until it is read again."""
        self._held.pop(_known(tenant, collection), None)

    async def for_search(
        self, request: answer_pb2.SearchRequest, *, tenant: str, collection: str, deadline: Deadline
    ) -> RetrievalOptions:
        """Return how a search is made; raise `InvalidArgument` for what cannot be."""
        said = said_by_search(request)
        held, space_id = await self._of_collection(tenant=tenant, collection=collection, deadline=deadline)
        self._hold(tenant, collection, held, space_id)
        return self._for_search(said, held, space_id)

    def _for_search(self, said: RetrievalSettings, held: RetrievalSettings, space_id: str) -> RetrievalOptions:
        settings = first_said(said, held, self._service)
        return _options(settings, said, limit=settings.limit or DEFAULT_LIMIT, held=held, space_id=space_id)

    def _hold(self, tenant: str, collection: str, held: RetrievalSettings, space_id: str) -> None:
        self._held.pop(_known(tenant, collection), None)
        if space_id:
            self._held[_known(tenant, collection)] = held, space_id
        if len(self._held) > COLLECTIONS_HELD_MAX:
            del self._held[next(iter(self._held))]

    async def for_question(
        self, request: answer_pb2.AskRequest, *, preferred: bool | None, tenant: str, collection: str,
        deadline: Deadline,
    ) -> RetrievalOptions:
        """Return how a question is searched for; `preferred` is its conversation's word on re-ranking (R2)."""
        said = said_by_question(request)
        held, space_id = await self._of_collection(tenant=tenant, collection=collection, deadline=deadline)
        settings = first_said(said, RetrievalSettings(rerank=preferred), held, self._service)
        return _options(settings, said, limit=settings.passages or self._settings.passages, held=held,
                        space_id=space_id)

    async def _of_collection(
        self, *, tenant: str, collection: str, deadline: Deadline
    ) -> tuple[RetrievalSettings, str]:
        """Return a collection's settings and space; without a collection, that nobody said anything."""
        if not collection:
            return NOTHING_SAID, ""
        try:
            async with asyncio.timeout(deadline.remaining(self._settings.search_seconds_max)):
                return await search_settings_of(self._database, tenant=tenant, name=collection)
        except TimeoutError as error:
            raise DeadlineExceeded("the collection's settings could not be read in time") from error


def _known(tenant: str, collection: str) -> _Known:
    """Return the key of a collection, by caller: how fast a search fails must not tell that others search there."""
    return tenant, collection, current_access()


def _options(
    settings: RetrievalSettings, said: RetrievalSettings, *, limit: int, held: RetrievalSettings, space_id: str
) -> RetrievalOptions:
    candidates = settings.candidates or limit
    if said.candidates is None:
        # Somebody else's word, which must not keep this request from what it asks for.
        candidates = max(candidates, limit)
    require(limit <= candidates, f"candidates is {candidates}; use {limit} to {CANDIDATES_MAX}", field="candidates")
    return RetrievalOptions(
        limit=limit, candidates=candidates, mode=settings.mode or "reranked", exact=bool(settings.exact),
        result_threshold=settings.result_threshold or 0.0, suppress_duplicates=bool(settings.suppress_duplicates),
        neighbours=settings.neighbours or 0, neighbour_tokens=settings.neighbour_tokens or 1,
        detect_categories=bool(settings.detect_categories), held=held, space_id=space_id,
    )
