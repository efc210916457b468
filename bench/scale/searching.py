"""Searches through the product's own functions over a loaded index: recall, filters that fill, time under load."""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from bench.measuring import Table, percentile
from bench.scale.corpus import DOCUMENT, identifier
from bench.scale.loading import COLLECTION, TENANT, LoadedIndex
from bench.scale.passages import RealTexts
from bench.scale.rows import SHARES, has_share
from sourcier.services.index.search import lexical, search
from sourcier.services.index.search.filters import Filters
from sourcier.services.index.search.search import QuestionVector, SearchRequest

LIMIT = 10
CLIENTS = (1, 4, 16)
ELSEWHERE = "elsewhere"
"""A filter on documents of another field and language than every question: nothing near a question matches."""
ELSEWHERE_ORIGINS = ("cranfield", "documentation")
FILTERS: dict[str, Filters] = {
    "no filter": Filters(),
    **{name: Filters(metadata={name: True}) for name in SHARES},
    ELSEWHERE: Filters(categories=ELSEWHERE_ORIGINS),
}
SCAN_ROWS = 50_000
EXHAUSTIVE_CANDIDATES = 100_000_000

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Agreement:
    """What searches found, beside what there is."""

    recall: list[float]
    """By question: share of the ten best that were found."""
    filled: list[float]
    """By question: results returned / results that exist, up to the limit."""


class Searches:
    """The product's searches of a loaded index."""

    def __init__(self, index: LoadedIndex, real: RealTexts) -> None:
        """Keep the index and the questions."""
        self.index = index
        self._real = real
        self._origins: list[str] | None = None

    async def dense(self, question: int, filters: Filters, *, limit: int = LIMIT, exact: bool = False) -> list[str]:
        """Return the ids of the passages closest to a question's vector."""
        vector = QuestionVector(
            self.index.space.space_id, self._real.question_vectors[question].astype("<f2").tobytes()
        )
        found = await search.dense(self.index.database, _request(filters, limit, exact=exact), vector=vector)
        return [result.passage.chunk_id for result in found]

    async def lexical(self, question: int, filters: Filters, *, limit: int = LIMIT) -> list[str]:
        """Return the ids of the passages with a question's rare words."""
        request = _request(filters, limit)
        found = await search.lexical(self.index.database, request, question=self._real.questions[question])
        return [result.passage.chunk_id for result in found]

    async def fused(self, question: int) -> None:
        """Find candidates as the gateway does before it re-ranks: a hundred of each kind, fused to twenty."""
        vector = QuestionVector(
            self.index.space.space_id, self._real.question_vectors[question].astype("<f2").tobytes()
        )
        await search.fused(
            self.index.database, _request(Filters(), 20), question=self._real.questions[question], vector=vector
        )

    async def agreement(self, name: str, *, questions: int) -> Agreement:
        """Compare dense searches with products of all vectors, beside the database; nothing where nothing matches."""
        matching = await self._matching(name)
        if not matching.any():
            return Agreement([], [])
        truth = nearest(self.index.vectors, self._real.question_vectors[:questions], matching=matching, limit=LIMIT)
        agreement = Agreement([], [])
        exists = min(LIMIT, int(matching.sum()))
        for question, places in enumerate(truth):
            found = await self.dense(question, FILTERS[name])
            expected = {identifier("chunk", int(place)) for place in places[:exists]}
            agreement.filled.append(len(found) / exists)
            agreement.recall.append(len(expected & set(found)) / exists)
        return agreement

    async def lexical_agreement(self, name: str, *, questions: int) -> Agreement:
        """Compare lexical searches with an exhaustive BM25; what that finds nothing for is left out."""
        filters = FILTERS[name]
        bounded = [await self.lexical(question, filters) for question in range(questions)]
        kept = lexical.CANDIDATES_MAX, lexical.SCANNED_MAX
        lexical.CANDIDATES_MAX = lexical.SCANNED_MAX = EXHAUSTIVE_CANDIDATES
        try:
            exhaustive = [await self.lexical(question, filters) for question in range(questions)]
        finally:
            lexical.CANDIDATES_MAX, lexical.SCANNED_MAX = kept
        pairs = [(found, best) for found, best in zip(bounded, exhaustive, strict=True) if best]
        return Agreement(
            recall=[len({*found} & {*best}) / len(best) for found, best in pairs],
            filled=[len(found) / len(best) for found, best in pairs],
        )

    async def _matching(self, name: str) -> BoolArray:
        """Return for each chunk whether a filter lets it through."""
        documents = range(-(-self.index.loading.size // DOCUMENT))
        if name in SHARES:
            passing = [has_share(document, name) for document in documents]
        elif name == ELSEWHERE:
            async with self.index.database.transaction(tenant=TENANT, read_only=True) as connection:
                cursor = await connection.execute("select source, category from documents where tenant = %s", (TENANT,))
                passed = {source for source, category in await cursor.fetchall() if category in ELSEWHERE_ORIGINS}
            passing = [f"{document}.txt" in passed for document in documents]
        else:
            passing = [True] * len(documents)
        return np.repeat(np.asarray(passing), DOCUMENT)[: self.index.loading.size]


def nearest(
    vectors: npt.NDArray[np.float16], questions: npt.NDArray[np.float32], *, matching: BoolArray, limit: int
) -> npt.NDArray[np.int64]:
    """Return the places of the vectors closest to each question among those that match, best first."""
    asked = questions.astype(np.float16).astype(np.float32)
    best = np.full((len(questions), limit), -2.0, dtype=np.float32)
    places = np.zeros((len(questions), limit), dtype=np.int64)
    for start in range(0, len(vectors), SCAN_ROWS):
        part = np.asarray(vectors[start : start + SCAN_ROWS], dtype=np.float32)
        part /= np.linalg.norm(part, axis=1, keepdims=True)
        scores = np.where(matching[start : start + SCAN_ROWS], asked @ part.T, -2.0)
        top = np.argpartition(-scores, min(limit, scores.shape[1] - 1), axis=1)[:, :limit]
        scored = np.concatenate((best, np.take_along_axis(scores, top, axis=1)), axis=1)
        placed = np.concatenate((places, top + start), axis=1)
        order = np.argsort(-scored, axis=1, kind="stable")[:, :limit]
        best, places = np.take_along_axis(scored, order, axis=1), np.take_along_axis(placed, order, axis=1)
    return places


async def timed_under_load(
    table: Table, contestant: str, ask: Callable[[int], Awaitable[object]], *, clients: int, questions: int, times: int,
    seconds_max: float,
) -> list[float]:
    """Return what `under_load` does, and keep it in a table, with its percentiles and the calls a second."""
    samples = await under_load(ask, clients=clients, questions=questions, times=times, seconds_max=seconds_max)
    table.samples[contestant] = samples
    table.notes[contestant] = "p50 {:.1f}, p95 {:.1f}, p99 {:.1f}; {:.0f}/s".format(
        *(percentile(samples, share) for share in (0.5, 0.95, 0.99)), 1000 * clients * len(samples) / sum(samples),
    )
    return samples


def by_size(values: Mapping[str, float]) -> dict[str, list[tuple[float, float]]]:
    """Return a curve's series of values that are named `10,000 chunks, kind`: by kind, over the size."""
    series: dict[str, list[tuple[float, float]]] = {}
    for name, value in values.items():
        size, kind = name.split(" chunks, ")
        series.setdefault(kind, []).append((float(size.replace(",", "")), value))
    return series


async def under_load(
    ask: Callable[[int], Awaitable[object]], *, clients: int, questions: int, times: int, seconds_max: float
) -> list[float]:
    """Return the milliseconds of `times` calls by so many clients, each asking as soon as it was answered."""
    numbers = itertools.count()
    samples: list[float] = []
    stop_at = time.perf_counter() + seconds_max

    async def client() -> None:
        while (number := next(numbers)) < times and time.perf_counter() < stop_at:
            started = time.perf_counter()
            await ask(number % questions)
            samples.append(1000 * (time.perf_counter() - started))

    await asyncio.gather(*(client() for _ in range(clients)))
    return samples


def _request(filters: Filters, limit: int, *, exact: bool = False) -> SearchRequest:
    collections: Sequence[str] = (COLLECTION,)
    return SearchRequest(tenant=TENANT, collections=collections, limit=limit, filters=filters, exact=exact)
