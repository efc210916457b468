"""What each stage of a search takes, one question at a time, and what re-ranking adds."""

from __future__ import annotations

import statistics
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import click

from eval.reporting import report
from eval.retrieval.retrieval import Progress, collection_name
from eval.sets import corpus
from eval.sets.datasets import Dataset
from eval.system import System
from sourcier import Client
from sourcier.options import SearchModeName

COMPARED: tuple[SearchModeName, ...] = ("fused", "reranked")
LIMIT = 5
SEARCH_SECONDS_MAX = 60.0


async def measure_latency(dataset: Dataset, system: System, *, document: Path | None, command: str) -> None:
    """Ask each question fused and re-ranked, in turns, its embedding remembered; report the medians."""
    durations: defaultdict[tuple[str, str], list[float]] = defaultdict(list)
    added: list[float] = []
    async with Client(system.gateway) as client:
        collection = collection_name(dataset, system)
        await corpus.ingest(client, dataset, collection=collection, progress=Progress("passages ingested"))
        for number, question in enumerate(dataset.questions):
            # The first asking embeds; those that are compared do not, and take turns in going first.
            await client.search(question.text, limit=LIMIT, collection=collection, timeout_seconds=SEARCH_SECONDS_MAX)
            totals = {}
            for mode in COMPARED[:: 1 if number % 2 else -1]:
                started = time.perf_counter()
                response = await client.search(
                    question.text, limit=LIMIT, mode=mode, collection=collection, timeout_seconds=SEARCH_SECONDS_MAX
                )
                totals[mode] = time.perf_counter() - started
                durations[mode, "as the client sees it"].append(totals[mode])
                for entry in response.durations:
                    durations[mode, entry.stage].append(entry.duration.ToNanoseconds() / 1e9)
            added.append(totals["reranked"] - totals["fused"])
    body = _table(durations, added, len(dataset.questions))
    click.echo(body)
    if document is not None:
        origin = report.provenance(system=system.described, command=command)
        report.write_block(document, "latency", f"### What re-ranking costs\n\n{body}\n\n{origin}")


def _table(durations: dict[tuple[str, str], list[float]], added: Sequence[float], questions: int) -> str:
    stages = list(dict.fromkeys(stage for _, stage in durations))
    rows = [["p50 / p95, ms", *COMPARED]]
    rows += [[stage, *(_milliseconds(durations.get((mode, stage), [])) for mode in COMPARED)] for stage in stages]
    medians = {mode: statistics.median(durations[mode, "as the client sees it"]) for mode in COMPARED}
    return (
        f"{report.markdown_table(rows)}\n\n{questions} questions, one at a time, 20 candidates, their embeddings "
        f"remembered. Re-ranking adds {(medians['reranked'] - medians['fused']) * 1e3:.1f} ms to the p50 of `Search` "
        f"(median of the differences, question by question: {statistics.median(added) * 1e3:.1f} ms)."
    )


def _milliseconds(seconds: Sequence[float]) -> str:
    if not seconds:
        return ""
    ordered = sorted(seconds)
    return f"{statistics.median(ordered) * 1e3:.1f} / {ordered[int(0.95 * (len(ordered) - 1))] * 1e3:.1f}"
