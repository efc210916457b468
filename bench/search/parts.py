"""A search's parts without what lies between them: the engine, the statements and the ranking, in this process."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np
import psycopg
from psycopg.pq import Format, PipelineStatus

from bench.stored_models import model_store
from sourcier.client import Client
from sourcier.services.chassis.models.store import Model
from sourcier.services.chassis.postgres.database import Connection, Database, DatabaseSettings
from sourcier.services.embed.encoder import Encoded, Encoder
from sourcier.services.embed.engines import open_engine
from sourcier.services.embed.settings import EmbedSettings
from sourcier.services.gateway.retrieval.retriever import CANDIDATE_HEADS
from sourcier.services.index.collections.collections import DEFAULT_COLLECTION
from sourcier.services.index.search import search
from sourcier.services.index.search.search import QuestionVector, SearchRequest, SearchResult
from sourcier.services.rerank.late_interaction import LateInteractionRanker
from sourcier.services.rerank.ranker import Candidate, Question

CANDIDATES = 20
WARM = 10
"""Questions that do not count."""
AGREEMENT_MIN = 0.9
"""Of a call's passages, the share that the bare search finds and ranks alike. Where they stand says nothing: a call
adds a share of BM25, and leaves out passages in words that it has already."""
SCORE_DIFFERENCE_MAX = 0.02
"""Of two rankings of one passage: int8 gives a question that is padded otherwise another vector. The largest that was
seen is 0.015, on the project's own texts."""


@dataclass(frozen=True)
class Statement:
    """One statement as it was sent."""

    query: Any
    parameters: Any
    binary: bool
    pipelined: bool
    """Whether it was sent with its neighbours, before their answers came."""


@dataclass(frozen=True)
class Prepared:
    """A search whose parts are known, so that each can be timed by itself."""

    question: str
    statements: list[Statement]
    asked: Question
    candidates: list[Candidate]


@dataclass(frozen=True)
class Parts:
    """Seconds of each part of one search."""

    embedding: float
    statements: float
    ranking: float

    @property
    def total(self) -> float:
        """All of them, one after the other."""
        return self.embedding + self.statements + self.ranking


@dataclass(frozen=True)
class Call:
    """Seconds of a search over gRPC, and of its re-ranking as the gateway tells them."""

    whole: float
    ranking: float


class BareSearch:
    """What a search consists of, on the database that the services use."""

    def __init__(self, model: Model, database: Database, *, tenant: str) -> None:
        self._model = model
        self._tenant = tenant
        self._encoder = Encoder(model, open_engine(model, name="auto", threads=0, streams=0))
        self._ranker = LateInteractionRanker()
        self._database = database

    async def prepare(self, question: str) -> Prepared:
        """Search once, and keep what the parts need of one another.

        For all questions before any is timed: statements that were sent a moment ago are answered from warm caches,
        which those of a call are not.
        """
        encoded = self._embed(question)
        sent, found = await self._recorded(question, encoded)
        return Prepared(
            question, sent, Question(question, encoded.token_vectors(), encoded.weights),
            [Candidate(each.passage.chunk_id, each.passage.text, each.passage.token_codes) for each in found],
        )

    async def measure(self, prepared: Prepared) -> Parts:
        """Time the parts, one after the other."""
        started = time.perf_counter()
        self._embed(prepared.question)
        embedding = time.perf_counter() - started
        statements = await self._replay(prepared.statements)
        # Codes that a search has just read are in the processor's caches.
        warm = [Candidate(each.chunk_id, each.text, bytes(bytearray(each.token_codes))) for each in prepared.candidates]
        started = time.perf_counter()
        self._ranker.score(prepared.asked, warm)
        return Parts(embedding, statements, time.perf_counter() - started)

    def scores(self, prepared: Prepared) -> dict[str, float]:
        """Return the re-ranking scores of a search's candidates by chunk id."""
        scores = self._ranker.score(prepared.asked, prepared.candidates)
        return {each.chunk_id: float(score) for each, score in zip(prepared.candidates, scores, strict=True)}

    def _embed(self, question: str) -> Encoded:
        tokens = self._encoder.tokenize([question], prefix=self._model.manifest.query_prefix, field="question")
        (encoded,) = self._encoder.encode(tokens)
        return encoded

    async def _recorded(self, question: str, encoded: Encoded) -> tuple[list[Statement], list[SearchResult]]:
        vector = QuestionVector(self._model.space_id, encoded.vector.astype(np.float16).tobytes())
        request = SearchRequest(
            tenant=self._tenant, collections=[DEFAULT_COLLECTION], limit=CANDIDATES, with_codes=True,
            heads=CANDIDATE_HEADS,
        )
        async with recorded() as sent:
            found = await search.fused(self._database, request, question=question, vector=vector)
        # The transaction's own begin is sent again by the one that the statements are repeated in.
        return sent[1:], found

    async def _replay(self, statements: list[Statement]) -> float:
        """Send the statements again, in one transaction as before; read every row, make nothing of it."""
        started = time.perf_counter()
        async with self._database.transaction(tenant=self._tenant, read_only=True) as connection:
            for pipelined, together in groupby(statements, key=lambda statement: statement.pipelined):
                async with connection.pipeline() if pipelined else nullcontext():
                    cursors = [await _sent(connection, statement) for statement in together]
                for cursor in cursors:
                    await cursor.fetchall()
        return time.perf_counter() - started


@asynccontextmanager
async def bare_search(url: str, *, tenant: str = "default") -> AsyncIterator[BareSearch]:
    """Yield the parts of a search on a database, with the model that the services take by default."""
    store = model_store()
    # Two connections from the start: what opens a further one would be recorded among a search's statements.
    async with Database(DatabaseSettings(url=url, connections_min=2)) as database:
        yield BareSearch(store.load(EmbedSettings.model_fields["model"].default), database, tenant=tenant)


async def in_turn(client: Client, bare: BareSearch, questions: Sequence[str]) -> AsyncIterator[tuple[Call, Parts]]:
    """Give the times of a call and of its parts on the same question, in turn; who goes first changes.

    The questions that warm up tell first that both find the same passages; an AssertionError says that they do not.
    """
    prepared = [await bare.prepare(question) for question in questions]
    agreed = [await _agreement(client, bare, each) for each in prepared[:WARM]]
    assert statistics.mean(agreed) >= AGREEMENT_MIN, f"call and parts find or rank differently: {agreed}"
    for number, each in enumerate(prepared[WARM:]):
        if number % 2:
            call = await _call(client, each.question)
            parts = await bare.measure(each)
        else:
            parts = await bare.measure(each)
            call = await _call(client, each.question)
        yield call, parts


async def _agreement(client: Client, bare: BareSearch, prepared: Prepared) -> float:
    """Return the share of a call's passages that the bare search has with the same re-ranking score."""
    found = await client.search(prepared.question, mode="reranked")
    scores = bare.scores(prepared)
    alike = [abs(scores.get(passage.chunk_id, math.inf) - passage.rerank_score) <= SCORE_DIFFERENCE_MAX
             for passage in found.passages]
    return statistics.mean(alike)


async def _call(client: Client, question: str) -> Call:
    started = time.perf_counter()
    found = await client.search(question, mode="reranked")
    seconds = time.perf_counter() - started
    ranked = sum(entry.duration.ToTimedelta().total_seconds() for entry in found.durations if entry.stage == "rerank")
    return Call(seconds, ranked)


async def _sent(connection: Connection, statement: Statement) -> psycopg.AsyncCursor[Any]:
    cursor = connection.cursor(binary=statement.binary)
    await cursor.execute(statement.query, statement.parameters)
    return cursor


@asynccontextmanager
async def recorded() -> AsyncIterator[list[Statement]]:
    """Yield a list that fills with every statement that this process sends meanwhile."""
    sent: list[Statement] = []
    execute = psycopg.AsyncCursor.execute

    async def recording(self: Any, query: Any, params: Any = None, **options: Any) -> Any:
        pipelined = self.connection.pgconn.pipeline_status == PipelineStatus.ON
        sent.append(Statement(query, params, self.format == Format.BINARY, pipelined))
        return await execute(self, query, params, **options)

    psycopg.AsyncCursor.execute = recording  # type: ignore[method-assign]
    try:
        yield sent
    finally:
        psycopg.AsyncCursor.execute = execute  # type: ignore[method-assign]
