"""Search at 10,000, 100,000 and 1,000,000 chunks: recall, latency, filters, size; and how the index could be built."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial

from bench.measuring import Curve, Table, percentile
from bench.scale.corpus import GrownCorpus
from bench.scale.inserting import insert
from bench.scale.loading import LoadedIndex, loaded_index
from bench.scale.passages import RealTexts, real_texts
from bench.scale.searching import CLIENTS, FILTERS, Agreement, Searches, by_size, timed_under_load, under_load
from bench.scale.server import asked_sizes, scale_server
from bench.scale.variants import Comparison

RECALL_MIN = 0.95
DENSE_P95_MS, LEXICAL_P95_MS = 25.0, 60.0
TARGET_SIZE = 1_000_000
VARIANTS_SIZE = 100_000
"""Where ways to build the index are compared; the largest size where that is smaller."""


@dataclass(frozen=True, slots=True)
class Effort:
    """How long a run is at it."""

    sizes: tuple[int, ...]
    """Chunks."""
    passages: int
    """Real ones that are embedded."""
    questions: int
    """Whose results are compared with exact ones."""
    calls: int
    """Of each kind of search, by each client."""
    seconds: float
    """The longest that one kind of search is asked by so many clients."""
    commits: int


FULL = Effort(
    sizes=(10_000, 100_000, 1_000_000), passages=100_000, questions=200, calls=400, seconds=8.0, commits=100
)
QUICK = Effort(sizes=(4_000,), passages=100, questions=30, calls=100, seconds=0.1, commits=10)


@dataclass
class Tables:
    """What is found, by what it is about."""

    latency: Table = field(default_factory=lambda: Table("scale, latency", "ms", higher_is_better=False))
    p95: Table = field(default_factory=lambda: Table(
        "scale, p95 at one client, no filter", "ms", higher_is_better=False))
    recall: Table = field(default_factory=lambda: Table("scale, recall@10 of exact search", "share"))
    filled: Table = field(default_factory=lambda: Table("scale, results returned of those that exist", "share"))
    overlap: Table = field(default_factory=lambda: Table("scale, first ten shared with exhaustive BM25", "share"))
    seconds: Table = field(default_factory=lambda: Table("scale, loading", "s", higher_is_better=False))
    insert: Table = field(default_factory=lambda: Table("scale, a commit", "ms a chunk", higher_is_better=False))
    size: Table = field(default_factory=lambda: Table("scale, bytes a chunk", "bytes", higher_is_better=False))
    words: Table = field(default_factory=lambda: Table("scale, distinct lexemes", "lexemes"))

    def keep_agreement(self, name: str, *, dense: Agreement, lexical: Agreement) -> None:
        """Keep how far searches agree with exact ones; where there was nothing to be found, there is no sample."""
        for table, key, samples in (
            (self.recall, name, dense.recall), (self.filled, name, dense.filled), (self.overlap, name, lexical.recall),
            (self.filled, f"{name}, lexical", lexical.filled),
        ):
            if samples:
                table.samples[key] = samples

    def all(self) -> list[Table]:
        """Return the tables that hold anything."""
        found = (self.latency, self.p95, self.recall, self.filled, self.overlap, self.seconds, self.insert, self.size,
                 self.words)
        return [table for table in found if table.samples]


async def run(*, quick: bool) -> list[Table]:
    """Fill the product's schema at each size and search it; `SOURCIER_BENCH_SCALE_DIR` keeps what was filled."""
    effort = QUICK if quick else FULL
    sizes = asked_sizes(effort.sizes)
    tables = Tables()
    variants: list[Table] = []
    async with scale_server() as (server, kept):
        real = real_texts(limit=effort.passages, kept=kept)
        corpus = GrownCorpus(real)
        for size in sizes:
            async with loaded_index(server, real, size=size, kept=kept) as index:
                _describe(tables, index)
                await _measure(tables, index, real, effort)
                name = f"{size:,} chunks"
                tables.insert.samples[name] = await insert(index, corpus, documents=effort.commits)
                tables.insert.notes[name] = "analysed, committed, every index live; without embedding"
                if size == min(VARIANTS_SIZE, max(sizes)):
                    variants = await Comparison(index, corpus, questions=effort.questions).run(quick=quick)
    _note(tables, corpus)
    return [*tables.all(), *variants]


def _describe(tables: Tables, index: LoadedIndex) -> None:
    loading = index.loading
    name = f"{loading.size:,} chunks"
    tables.seconds.add(f"{name}, rows", loading.rows_seconds)
    tables.seconds.add(f"{name}, GIN", loading.gin_seconds)
    if loading.hnsw_seconds:
        tables.seconds.add(f"{name}, HNSW", loading.hnsw_seconds)
    for part, size in loading.bytes.items():
        tables.size.add(f"{name}, {part}", size / loading.size)
    tables.words.add(name, loading.lexemes)


async def _measure(tables: Tables, index: LoadedIndex, real: RealTexts, effort: Effort) -> None:
    searches = Searches(index, real)
    name = f"{index.loading.size:,} chunks"
    for filtered in FILTERS:
        agreement = await searches.agreement(filtered, questions=effort.questions)
        lexical = await searches.lexical_agreement(filtered, questions=effort.questions // 5)
        tables.keep_agreement(f"{name}, {filtered}", dense=agreement, lexical=lexical)
    kinds: dict[str, Callable[[int], Awaitable[object]]] = {"fused": searches.fused}
    for filtered, filters in FILTERS.items():
        kinds[f"dense, {filtered}"] = partial(searches.dense, filters=filters)
        kinds[f"lexical, {filtered}"] = partial(searches.lexical, filters=filters)
    for kind, ask in kinds.items():
        # Once for the caches, which a service that runs has warm.
        await under_load(
            ask, clients=2, questions=len(real.questions), times=effort.calls // 4, seconds_max=effort.seconds
        )
        for clients in CLIENTS:
            samples = await timed_under_load(
                tables.latency, f"{name}, {kind}, {clients} clients", ask, clients=clients,
                questions=len(real.questions), times=effort.calls * clients, seconds_max=effort.seconds,
            )
            if clients == 1 and (kind == "fused" or kind.endswith("no filter")):
                tables.p95.samples[f"{name}, {kind.removesuffix(', no filter')}"] = _p95s(samples)


def _hold(table: Table, name: str, value: float, *, at_least: float) -> None:
    table.limits.append({"contestant": name, "value": value, "at_most": None, "at_least": at_least,
                         "reached": value >= at_least})


def _p95s(samples: list[float]) -> list[float]:
    """Return the 95th percentile of each third of the calls."""
    third = max(len(samples) // 3, 1)
    return [percentile(samples[start : start + third], 0.95) for start in range(0, 3 * third, third)
            if samples[start : start + third]]


def _note(tables: Tables, corpus: GrownCorpus) -> None:
    """Say what the corpus is, hold figures against their limits, draw how they grow."""
    grown = (f"{len(corpus.real.passages)} real passages; noise σ {corpus.noise:.2f} of their covariance puts a copy "
             f"at cosine {corpus.nearest_cosine:.3f}, where a passage's nearest is; Heaps' β {corpus.heaps:.2f}")
    for name in tables.words.samples:
        tables.words.notes[name] = grown
    for name in tables.recall.samples:
        # A limit holds a median; of shares of ten, the mean is what counts, and of filled results the worst.
        mean = sum(tables.recall.samples[name]) / len(tables.recall.samples[name])
        tables.recall.notes[name] = f"mean {mean:.3f}"
        _hold(tables.recall, f"{name}, mean", mean, at_least=RECALL_MIN)
    for name, filled in tables.filled.samples.items():
        _hold(tables.filled, f"{name}, least", min(filled), at_least=1.0)
    for name, shared in tables.overlap.samples.items():
        tables.overlap.notes[name] = f"mean {sum(shared) / len(shared):.3f}"
    for kind, most in (("dense", DENSE_P95_MS), ("lexical", LEXICAL_P95_MS)):
        name = f"{TARGET_SIZE:,} chunks, {kind}"
        if name in tables.p95.samples:
            tables.p95.limit(name, at_most=most)
    series = by_size({name: tables.p95.median(name) for name in tables.p95.samples})
    tables.p95.curves.append(Curve("p95 of a search by the size of the collection", "chunks", "ms", series,
                                   log_x=True, log_y=True))
