"""Searches as answers make them: the gateway's own code over a stack's database and services."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import click

from eval.retrieval.retrieval import Progress, collection_name
from eval.sets import corpus
from eval.sets.datasets import Dataset
from eval.system import System
from sourcier import Client
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.gateway.answering.baseline import Backgrounds
from sourcier.services.gateway.peers.services import Limits, Peers
from sourcier.services.gateway.retrieval.query import Mode, Query
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.stopwatch import Stopwatch
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.question_terms import question_words
from sourcier.services.index.search.scope import find_scope
from sourcier.services.index.search.search import SearchResult

TENANT = "default"
CALL_SECONDS_MAX = 60.0
DEPTH = 100
"""Candidates asked for: so many that enough are left when an article is taken away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and what a search of it found."""

    question: str
    results: tuple[SearchResult, ...]
    """At most `DEPTH`, in the order of the fusion."""
    scores: Mapping[str, float]
    """The re-ranker's, by chunk id."""
    passages: int
    """Passages of the collection."""
    frequencies: Mapping[str, int]
    """In how many of them each of the question's stems occurs."""
    background: tuple[float, ...]
    """Late interaction of the question with texts about anything at all."""
    background_seconds: float
    """What that took."""


class Asking(Protocol):
    """Who holds collections and asks questions of them."""

    async def hold(self, dataset: Dataset) -> str:
        """Have a set's passages in a collection; return its name."""

    async def hold_files(self, paths: Sequence[Path], *, name: str) -> str:
        """Have files in a collection, read and cut as they are by default; return its name."""

    async def prepare(self, questions: Sequence[str], *, collection: str) -> None:
        """Hear which questions come next."""

    async def ask(self, question: str, *, collection: str) -> Asked:
        """Return what is found."""


class Asker:
    """Asks questions of a stack's collections."""

    def __init__(self, system: System, client: Client, database: Database, retriever: Retriever, peers: Peers) -> None:
        self._system = system
        self._client = client
        self._database = database
        self._retriever = retriever
        self._backgrounds = Backgrounds(peers)

    async def hold(self, dataset: Dataset) -> str:
        """Ingest what is missing of a set's passages; return their collection."""
        collection = collection_name(dataset, self._system)
        await corpus.ingest(
            self._client, dataset, collection=collection, progress=Progress(f"{dataset.name} ingested")
        )
        return collection

    async def hold_files(self, paths: Sequence[Path], *, name: str) -> str:
        """Ingest files; return their collection."""
        await corpus.ingest_files(self._client, paths, collection=name)
        return name

    async def prepare(self, questions: Sequence[str], *, collection: str) -> None:
        """Do nothing: each question is searched for when it is asked."""

    async def ask(self, question: str, *, collection: str) -> Asked:
        """Return what is found; raise `RuntimeError` where re-ranking failed, for its figures would be a lie."""
        query = Query(
            tenant=TENANT, question=question, collection=collection, filters=Filters(), mode=Mode.RERANKED,
            limit=DEPTH, candidates=DEPTH,
        )
        deadline = Deadline.after(CALL_SECONDS_MAX)
        async with self._retriever.embedding_of(query, deadline=deadline) as coming:
            found = await self._retriever.retrieve(query, coming, stopwatch=Stopwatch(), deadline=deadline)
        embedding, results = found.embedding, found.results
        assert embedding is not None
        ranked, degradation = await self._retriever.rank(
            query, embedding, results, stopwatch=Stopwatch(), deadline=deadline
        )
        if degradation is not None:
            raise RuntimeError(f"{question}: {degradation.reason}")
        stems = sorted(frozenset().union(*question_words(question)))
        async with self._database.transaction(tenant=TENANT, read_only=True) as connection:
            scope = await find_scope(
                connection, tenant=TENANT, collections=[collection], filters=Filters(), stems=stems
            )
        background = await self._backgrounds.of(embedding.space_id, tenant=TENANT, deadline=deadline)
        started = time.perf_counter()
        scores = tuple(background.scores(embedding).tolist())
        return Asked(
            question=question, results=tuple(results),
            scores={entry.passage.chunk_id: entry.rerank_score or 0.0 for entry in ranked},
            passages=scope.passages, frequencies=scope.frequencies,
            background=scores, background_seconds=time.perf_counter() - started,
        )


@asynccontextmanager
async def open_asker(system: System) -> AsyncIterator[Asker]:
    """Yield an asker over a stack's own services."""
    if not system.environment:
        raise click.ClickException("this is measured over a stack's own services; leave --gateway out")
    urls = {name: system.environment.get(f"SOURCIER_{name.upper()}_URL", "") for name in ("ingest", "embed", "rerank")}
    async with (
        Database(DatabaseSettings(url=system.environment["SOURCIER_POSTGRES_URL"])) as database,
        Peers(
            ingest_url=urls["ingest"], embed_url=urls["embed"], rerank_url=urls["rerank"], generate_url=urls["ingest"],
            limits=Limits(CALL_SECONDS_MAX, CALL_SECONDS_MAX, CALL_SECONDS_MAX),
        ) as peers,
        Client(system.gateway) as client,
    ):
        retriever = Retriever(database, peers, result_threshold=0.0, search_seconds_max=CALL_SECONDS_MAX)
        yield Asker(system, client, database, retriever, peers)
