"""Ways to index the same vectors, beside the product's: types, HNSW's parameters, bits, partitions, iterative scans."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from bench.measuring import Curve, Table, percentile
from bench.scale.corpus import GrownCorpus
from bench.scale.inserting import BLOCK_NUMBER
from bench.scale.loading import TENANT, LoadedIndex
from bench.scale.searching import LIMIT, nearest
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.types import half_vector

BREADTHS = (40, 100, 200, 400)
"""`hnsw.ef_search`."""
PARTS = 10
"""Collections of equal size that the vectors are spread over."""
RESCORED = 200
"""Found by bits, then compared exactly."""
INSERTED = 500
INSERTED_AT_ONCE = 10
BUILD_MEMORY = "1GB"
TOP = f"order by embedding <=> %(vector)b::halfvec limit {LIMIT}"
BY_BITS = f"""
from (select number, embedding from {{table}} order by {{bits}} <~> {{asked}} limit {RESCORED}) as near {TOP}"""


@dataclass(frozen=True, slots=True)
class Variant:
    """A table, its index, and how it is asked."""

    name: str
    index: str
    """What follows `create index on`."""
    query: str = f"from {{table}} {TOP}"
    type: str = "halfvec(384)"
    partitioned: bool = False


HNSW = "{table} using hnsw (embedding {type}_cosine_ops) with (m = {m}, ef_construction = {candidates})"


def _graph(m: int, candidates: int, type_: str = "halfvec") -> str:
    return HNSW.replace("{m}", str(m)).replace("{candidates}", str(candidates)).replace("{type}", type_)


PRODUCT = Variant("halfvec, m 16, ef_construction 200 (the product's)", _graph(16, 200))
PARTITIONED = Variant(
    f"a partition for each of {PARTS} collections", _graph(16, 200), f"from {{table}} where part = 3 {TOP}",
    partitioned=True,
)
VARIANTS = (
    PRODUCT,
    Variant("vector, m 16, ef_construction 200", _graph(16, 200, "vector"), type="vector(384)",
            query=f"from {{table}} order by embedding <=> %(vector)b::halfvec::vector limit {LIMIT}"),
    Variant("halfvec, m 8, ef_construction 32", _graph(8, 32)),
    Variant("halfvec, m 16, ef_construction 64 (pgvector's own)", _graph(16, 64)),
    Variant("halfvec, m 24, ef_construction 200", _graph(24, 200)),
    Variant("bits, 200 re-scored", "{table} using hnsw ((binary_quantize(embedding)::bit(384)) bit_hamming_ops)",
            BY_BITS.replace("{bits}", "binary_quantize(embedding)::bit(384)")
            .replace("{asked}", "binary_quantize(%(vector)b::halfvec)::bit(384)")),
    Variant("bits about the mean, 200 re-scored",
            "{table} using hnsw ((binary_quantize(embedding - {mean})::bit(384)) bit_hamming_ops)",
            BY_BITS.replace("{bits}", "binary_quantize(embedding - {mean})::bit(384)")
            .replace("{asked}", "binary_quantize(%(vector)b::halfvec - {mean})::bit(384)")),
)


@dataclass
class VariantTables:
    """What was found of each way."""

    build: Table = field(default_factory=lambda: Table("index variants, build", "s", higher_is_better=False))
    size: Table = field(default_factory=lambda: Table("index variants, bytes a vector", "bytes",
                                                      higher_is_better=False))
    insert: Table = field(default_factory=lambda: Table("index variants, insert with the index live", "ms a row",
                                                        higher_is_better=False))
    pages: Table = field(default_factory=lambda: Table("index variants, pages of 8 KB read by a search", "pages",
                                                       higher_is_better=False))
    latency: Table = field(default_factory=lambda: Table("index variants, SQL alone", "ms", higher_is_better=False))
    recall: Table = field(default_factory=lambda: Table("index variants, recall@10", "share"))
    filled: Table = field(default_factory=lambda: Table("iterative scans, results returned of ten", "share"))

    def all(self) -> list[Table]:
        """Return the tables."""
        return [self.build, self.size, self.insert, self.pages, self.latency, self.recall, self.filled]


class Comparison:
    """Builds one variant after another from the vectors of a loaded index, and asks it."""

    def __init__(self, index: LoadedIndex, corpus: GrownCorpus, *, questions: int) -> None:
        """Find what is right by comparing all vectors."""
        real = corpus.real
        self.tables = VariantTables()
        self._index = index
        self._questions = [
            half_vector(vector.astype("<f2").tobytes()) for vector in real.question_vectors[:questions]
        ]
        asked, everything = real.question_vectors[:questions], np.ones(len(index.vectors), dtype=np.bool_)
        parts = np.arange(len(index.vectors))
        self._truth = nearest(index.vectors, asked, matching=everything, limit=LIMIT)
        self._truth_of_part = {
            count: nearest(index.vectors, asked, matching=parts % count == 3, limit=LIMIT) for count in (10, 100)
        }
        mean = np.asarray(index.vectors[:: max(len(index.vectors) // 10_000, 1)], dtype=np.float32).mean(axis=0)
        self._mean = "'[" + ",".join(f"{value:.4f}" for value in mean) + "]'::halfvec"
        # Of chunks that are not there yet: what is an exact copy shares the element of the first in the graph.
        self._new = corpus.block(BLOCK_NUMBER).vectors[:INSERTED]

    async def run(self, *, quick: bool) -> list[Table]:
        """Measure every variant, or with `quick` the few that differ most."""
        chosen = (PRODUCT, VARIANTS[-1]) if quick else (*VARIANTS, PARTITIONED)
        async with self._index.database.autocommit(tenant=TENANT) as connection:
            await connection.execute("set statement_timeout = 0")
            await connection.execute(f"set maintenance_work_mem = '{BUILD_MEMORY}'".encode())
            for variant in chosen:
                await self._fill(connection, variant)
                await self._build(connection, variant)
                await self._ask_all(connection, variant)
                if variant is PRODUCT:
                    await self._iterate(connection)
                await self._insert(connection, variant)
            await connection.execute("drop table if exists variant")
        self._draw()
        return self.tables.all()

    def _text(self, text: str) -> str:
        return text.replace("{table}", "variant").replace("{mean}", self._mean)

    async def _fill(self, connection: Connection, variant: Variant) -> None:
        by_part = " partition by list (part)" if variant.partitioned else ""
        statements = ["drop table if exists variant",
                      f"create table variant (number integer, part integer, embedding {variant.type}){by_part}"]
        if variant.partitioned:
            statements += [f"create table variant_{part} partition of variant for values in ({part})"
                           for part in range(PARTS)]
        statements.append("alter table variant alter column embedding set storage plain")
        for statement in statements:
            await connection.execute(statement.encode())
        for start in range(0, len(self._index.vectors), 2_000):
            await self._add(connection, start, self._index.vectors[start : start + 2_000])
        await connection.execute("vacuum analyze variant")

    async def _add(self, connection: Connection, start: int, vectors: npt.NDArray[np.float16]) -> None:
        await connection.execute(ADD, {
            "numbers": list(range(start, start + len(vectors))), "parts": PARTS,
            "vectors": [half_vector(vector.tobytes()) for vector in vectors],
        })

    async def _build(self, connection: Connection, variant: Variant) -> None:
        started = time.perf_counter()
        await connection.execute(f"create index on {self._text(variant.index)}".encode())
        self.tables.build.add(variant.name, time.perf_counter() - started)
        self.tables.build.notes[variant.name] = f"{len(self._index.vectors):,} vectors, {BUILD_MEMORY} of memory"
        self.tables.size.add(variant.name, await _index_bytes(connection) / len(self._index.vectors))

    async def _ask_all(self, connection: Connection, variant: Variant) -> None:
        statement = f"select number {self._text(variant.query)}"
        truth = self._truth_of_part[PARTS] if variant.partitioned else self._truth
        for breadth in BREADTHS:
            await _set(connection, "hnsw.ef_search", str(max(breadth, RESCORED if "re-scored" in variant.name else 0)))
            name = f"{variant.name}, ef_search {breadth}"
            await self._timed(connection, statement, truth, name)
            self.tables.pages.samples[name] = await self._pages(connection, statement)

    async def _timed(self, connection: Connection, statement: str, truth: npt.NDArray[np.int64], name: str) -> None:
        """Ask every question twice: once for the caches."""
        recall, filled, samples = [], [], []
        for timed in (False, True):
            for place, vector in enumerate(self._questions):
                started = time.perf_counter()
                cursor = await connection.execute(statement.encode(), {"vector": vector})
                found = {int(number) for (number,) in await cursor.fetchall()}
                if timed:
                    samples.append(1000 * (time.perf_counter() - started))
                    recall.append(len(found & set(truth[place].tolist())) / LIMIT)
                    filled.append(len(found) / LIMIT)
        self.tables.latency.samples[name], self.tables.recall.samples[name] = samples, recall
        self.tables.latency.notes[name] = f"p95 {percentile(samples, 0.95):.2f}"
        self.tables.recall.notes[name] = f"mean {np.mean(recall):.3f}"
        if "scan" in name:
            self.tables.filled.samples[name] = filled
            self.tables.filled.notes[name] = f"mean {np.mean(filled):.2f}, least {min(filled):.1f}"

    async def _pages(self, connection: Connection, statement: str) -> list[float]:
        pages: list[float] = []
        for vector in self._questions[:20]:
            explain = f"explain (analyze, buffers, timing off, format json) {statement}"
            cursor = await connection.execute(explain.encode(), {"vector": vector})
            row = await cursor.fetchone()
            assert row is not None
            plan: dict[str, Any] = row[0][0]["Plan"]
            pages.append(float(plan["Shared Hit Blocks"] + plan["Shared Read Blocks"]))
        return pages

    async def _iterate(self, connection: Connection) -> None:
        """Filter to one part in ten and in a hundred, in each mode of iterative scans."""
        await _set(connection, "hnsw.ef_search", "100")
        for parts in (10, 100):
            for mode in ("off", "strict_order", "relaxed_order"):
                await _set(connection, "hnsw.iterative_scan", mode)
                statement = f"select number from variant where number %% {parts} = 3 {TOP}"
                share = f"filter of {100 // parts} %"
                await self._timed(connection, statement, self._truth_of_part[parts], f"scan {mode}, {share}")
        await _set(connection, "hnsw.iterative_scan", "off")

    async def _insert(self, connection: Connection, variant: Variant) -> None:
        before = await _index_bytes(connection)
        for start in range(0, INSERTED, INSERTED_AT_ONCE):
            started = time.perf_counter()
            await self._add(connection, start, self._new[start : start + INSERTED_AT_ONCE])
            self.tables.insert.add(variant.name, 1000 * (time.perf_counter() - started) / INSERTED_AT_ONCE)
        assert await _index_bytes(connection) > before, "what was inserted is not in the graph"

    def _draw(self) -> None:
        series: dict[str, list[tuple[float, float]]] = {}
        for name, samples in self.tables.recall.samples.items():
            if "ef_search" in name:
                point = (float(np.mean(samples)), self.tables.latency.median(name))
                series.setdefault(name.rsplit(", ", 1)[0], []).append(point)
        self.tables.latency.curves.append(Curve("Recall and time by ef_search", "recall@10", "ms (p50)", series))


async def _index_bytes(connection: Connection) -> int:
    cursor = await connection.execute(INDEX_SIZE)
    row = await cursor.fetchone()
    assert row is not None
    return int(row[0])


async def _set(connection: Connection, name: str, value: str) -> None:
    await connection.execute("select set_config(%s, %s, false)", (name, value))


ADD = """
insert into variant (number, part, embedding)
select number, number %% %(parts)s, embedding
from unnest(%(numbers)b::integer[], %(vectors)b::halfvec[]) as vector (number, embedding)
"""

INDEX_SIZE = """
select sum(pg_relation_size(index.oid))
from pg_inherits
right join pg_class as tables on tables.oid = inhrelid
join pg_index on indrelid = tables.oid
join pg_class as index on index.oid = indexrelid
where (inhparent = to_regclass('variant') or tables.oid = to_regclass('variant')) and index.relkind = 'i'
"""
