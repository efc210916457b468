"""`Search` by stage: what the embedding, the query and the re-ranking of 20 candidates each take."""

from __future__ import annotations

import time

from bench.environment import running_stack
from bench.ingestion import load
from bench.measuring import Table, percentile
from bench.texts import questions, sheets
from sourcier.client import Client
from sourcier.options import SearchModeName

MODES: tuple[SearchModeName, ...] = ("dense", "lexical", "fused", "reranked")


async def run(*, quick: bool) -> list[Table]:
    """Ask different questions, one at a time, in every mode in turn."""
    files, origin = sheets()
    asked = questions(60 if quick else 300)
    stages = Table("search, p50 by stage", "ms", higher_is_better=False)
    totals = Table("search, whole call", "ms", higher_is_better=False)
    async with running_stack(SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway") as addresses:
        async with Client(addresses["SOURCIER_GATEWAY_URL"]) as client:
            chunks = await load(client, files[:30] if quick else files, collection="default")
            times: dict[str, list[float]] = {mode: [] for mode in MODES}
            by_stage: dict[str, list[float]] = {}
            for number, question in enumerate(asked):
                # The cache would answer a question's second embedding; each mode gets a text of its own.
                for place, mode in enumerate(MODES):
                    started = time.perf_counter()
                    found = await client.search(f"{question} {'?' * place}", mode=mode)
                    if number < 10:
                        continue
                    times[mode].append(1000 * (time.perf_counter() - started))
                    if mode == "reranked":
                        for entry in found.durations:
                            seconds = entry.duration.ToTimedelta().total_seconds()
                            by_stage.setdefault(entry.stage, []).append(1000 * seconds)
    for stage, values in by_stage.items():
        stages.samples[stage] = values
        stages.notes[stage] = f"p95 {percentile(values, 0.95):.1f}"
    for name, values in times.items():
        totals.samples[name] = values
        totals.notes[name] = f"p95 {percentile(values, 0.95):.1f}; {chunks} chunks of {origin}"
    added = percentile(times["reranked"], 0.5) - percentile(times["fused"], 0.5)
    totals.notes["reranked"] += f"; re-ranking 20 candidates adds {added:.1f} ms to the p50 (target under 10)"
    return [stages, totals]
