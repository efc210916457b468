"""`Search` by stage and against the sum of its parts: embedding, statements and re-ranking, measured bare."""

from __future__ import annotations

import time
from collections.abc import Mapping

from bench.environment import running_stack
from bench.ingestion.ingestion import load
from bench.measuring import Table, percentile
from bench.search.parts import CANDIDATES, WARM, bare_search, in_turn
from bench.texts import questions, sheets
from sourcier.client import Client
from sourcier.options import SearchModeName

MODES: tuple[SearchModeName, ...] = ("dense", "lexical", "fused", "reranked")
CALL, PARTS, RANKING = "Search over gRPC", "the parts, bare", f"re-ranking {CANDIDATES}, bare"
STAGE = f"re-ranking {CANDIDATES}, as the gateway waits for it"


async def run(*, quick: bool) -> list[Table]:
    """Ask different questions, one at a time: in every mode, then beside the parts of the same search."""
    files, origin = sheets()
    asked = questions(40 if quick else 300)
    async with (
        running_stack(SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway") as addresses,
        Client(addresses["SOURCIER_GATEWAY_URL"]) as client,
    ):
        chunks = await load(client, files[:4] if quick else files, collection="default")
        modes = await _modes(client, asked, note=f"{chunks} chunks of {origin}")
        return [*modes, await _against_parts(client, addresses, asked)]


async def _modes(client: Client, asked: list[str], *, note: str) -> list[Table]:
    """Time every mode in turn, and what the gateway says of the stages of re-ranked search."""
    stages = Table("search, p50 by stage", "ms", higher_is_better=False)
    totals = Table("search, whole call", "ms", higher_is_better=False)
    for number, question in enumerate(asked):
        # The cache would answer a question's second embedding; each mode gets a text of its own.
        for place, mode in enumerate(MODES):
            started = time.perf_counter()
            found = await client.search(f"{question} {'?' * place}", mode=mode)
            if number < WARM:
                continue
            totals.add(mode, 1000 * (time.perf_counter() - started))
            if mode == "reranked":
                for entry in found.durations:
                    stages.add(entry.stage, 1000 * entry.duration.ToTimedelta().total_seconds())
    for table in (stages, totals):
        table.notes |= {name: f"p95 {percentile(values, 0.95):.1f}" for name, values in table.samples.items()}
    added = percentile(totals.samples["reranked"], 0.5) - percentile(totals.samples["fused"], 0.5)
    totals.notes["reranked"] += f"; {note}; re-ranking adds {added:.1f} ms to the p50"
    return [stages, totals]


async def _against_parts(client: Client, addresses: Mapping[str, str], asked: list[str]) -> Table:
    """Time the call and its parts on the same question, in turn; who goes first changes."""
    table = Table("search, against the sum of its parts", "ms", higher_is_better=False)
    async with bare_search(addresses["SOURCIER_POSTGRES_URL"]) as bare:
        # The modes asked the questions before, and the service remembers what it embedded.
        async for call, parts in in_turn(client, bare, [f"{question} (suite)" for question in asked]):
            for name, seconds in (
                (CALL, call.whole), (PARTS, parts.total), ("embedding, bare", parts.embedding),
                ("statements, bare", parts.statements), (RANKING, parts.ranking), (STAGE, call.ranking),
            ):
                table.add(name, 1000 * seconds)
    table.notes[CALL] = f"re-ranked, {CANDIDATES} candidates; p95 {percentile(table.samples[CALL], 0.95):.1f}"
    table.notes[PARTS] = "one question at a time; engine and threads as the service's, statements sent as recorded"
    table.ratio(CALL, PARTS, target=1.2)
    table.limit(RANKING, at_most=3.0)
    table.limit(STAGE, at_most=3.0)
    return table
