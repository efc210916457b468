"""One test set through the running services: ingest, ask everything, measure, report."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from pathlib import Path

import click

from eval import gates
from eval.gates import Figure
from eval.reporting import report
from eval.retrieval import searching
from eval.sets import corpus
from eval.sets.datasets import Dataset
from eval.system import System
from sourcier import Client

RESULTS = Path(__file__).parents[1] / "results"
PROGRESS_SECONDS = 10.0
DEFAULT_CANDIDATES = 20
"""As the gateway has it; the results of other depths are kept apart."""
GATED = (
    ("dense", "ndcg@10"), ("lexical", "ndcg@10"), ("fused", "ndcg@10"),
    ("reranked", "ndcg@10"), ("reranked", "recall@5"), ("reranked", "recall@20"),
)
"""Modes and measures that must not fall."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalRun:
    """What is measured and where it is told."""

    dataset: Dataset
    complete: bool
    """Whether all questions are asked: only such a run is written into the document."""
    candidates: int
    resume: bool
    """Whether rankings that were kept are taken as they are; else every question is asked again."""
    label: str
    """Sets the raw results of an experiment apart; empty for the standing ones."""
    document: Path | None
    command: str


async def measure_retrieval(run: RetrievalRun, system: System) -> report.RetrievalFigures:
    """Measure, print the table, keep raw rankings and summary, and write a complete run into the document."""
    dataset = run.dataset
    depth = f"{run.candidates}-candidates" if run.candidates != DEFAULT_CANDIDATES else ""
    name = "-".join(part for part in (dataset.name, system.engine or "external", depth, run.label) if part)
    raw = RESULTS / f"{name}.jsonl"
    if not run.resume:
        raw.unlink(missing_ok=True)
    async with Client(system.gateway) as client:
        collection = collection_name(dataset, system)
        sources = await corpus.ingest(client, dataset, collection=collection, progress=Progress("passages ingested"))
        rankings = await searching.search_all(
            client, dataset.questions, collection=collection, sources=sources, results=raw, candidates=run.candidates,
            progress=Progress("questions asked"),
        )
    figures = report.figures(dataset, rankings)
    report.write_summary(RESULTS / f"{name}.json", figures, system=system.described)
    if run.complete and not run.label:
        gates.keep(gated(name, figures, command=run.command))
    table = report.table(figures)
    title = f"{_title(figures)}, {run.candidates} candidates re-ranked"
    click.echo(f"\n{title}\n\n{table}\n")
    if run.complete and run.document is not None and not run.label:
        origin = report.provenance(system=system.described, command=run.command)
        report.write_block(run.document, name, f"### {title}\n\n{table}\n\n{origin}")
    return figures


def gated(name: str, figures: report.RetrievalFigures, *, command: str) -> dict[str, Figure]:
    """Return the figures of a run that must not fall, by what they are called."""
    return {
        f"retrieval {name}: {report.NAMES[mode]} {report.COLUMNS[measure]}": Figure.of(
            figures.modes[mode][measure], count=figures.questions, command=command
        )
        for mode, measure in GATED
    }


def collection_name(dataset: Dataset, system: System) -> str:
    """Return the collection that holds a set as one engine embeds it."""
    return re.sub(r"[^a-z0-9-]+", "-", f"eval-{dataset.name}-{system.engine or 'external'}".lower())


class Progress:
    """Says how far something is, every few seconds and at the end."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._started_at = self._said_at = time.monotonic()

    def __call__(self, done: int, total: int) -> None:
        """Take the count so far."""
        now = time.monotonic()
        if done < total and now - self._said_at < PROGRESS_SECONDS:
            return
        self._said_at = now
        click.echo(f"{done:,} of {total:,} {self._what} ({now - self._started_at:.0f} s)", err=True)


def _title(figures: report.RetrievalFigures) -> str:
    return f"{figures.dataset}: {figures.passages:,} passages, {figures.questions:,} questions"
