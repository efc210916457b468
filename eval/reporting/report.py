"""Turns rankings into figures, and figures into a block of docs/measured/history/quality.md between two markers."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path

import click

from eval.measured import HISTORY, outdated
from eval.reporting import blocks
from eval.reporting.blocks import (
    markdown_table as markdown_table,  # handed on: every evaluation writes its block with it
)
from eval.reporting.provenance import commit, features
from eval.retrieval.measures import MEASURES, Estimate, estimate, measure
from eval.retrieval.searching import MODES, Ranking
from eval.sets.datasets import Dataset

COLUMNS = {"ndcg@10": "nDCG@10", "recall@1": "R@1", "recall@5": "R@5", "recall@20": "R@20", "mrr@20": "MRR@20"}
NAMES = {"dense": "dense", "lexical": "full text", "fused": "fused", "reranked": "re-ranked"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RetrievalFigures:
    """A run's figures."""

    dataset: str
    passages: int
    questions: int
    modes: Mapping[str, Mapping[str, Estimate]]
    """Estimate by mode and measure."""
    gain: Estimate
    """nDCG@10 of re-ranked less that of fused, question by question."""


def figures(dataset: Dataset, rankings: Iterable[Ranking]) -> RetrievalFigures:
    """Return the figures of a run in which every question was asked in every mode."""
    relevant = {question.question_id: question.relevant for question in dataset.questions}
    measured = {(ranking.question, ranking.mode): measure(ranking.passages, relevant[ranking.question])
                for ranking in rankings}
    modes: dict[str, dict[str, Estimate]] = {
        mode: {name: estimate([measured[question, mode][name] for question in relevant]) for name in MEASURES}
        for mode in MODES
    }
    gains = [measured[question, "reranked"]["ndcg@10"] - measured[question, "fused"]["ndcg@10"]
             for question in relevant]
    return RetrievalFigures(
        dataset=dataset.name, passages=len(dataset.passages), questions=len(relevant), modes=modes,
        gain=estimate(gains),
    )


def table(run: RetrievalFigures) -> str:
    """Return the figures as Markdown."""
    rows = [("", *(COLUMNS[name] for name in MEASURES))]
    for mode in MODES:
        rows.append((NAMES[mode], *(_cell(run.modes[mode][name]) for name in MEASURES)))
    gain = run.gain
    return (
        f"{markdown_table(rows)}\n\nRe-ranking adds {gain.mean:+.4f} nDCG@10 to fusion "
        f"({gain.low:+.4f} to {gain.high:+.4f})."
    )


def provenance(*, system: str, command: str) -> str:
    """Return the line that says what was measured, where, when and how."""
    now = datetime.now(UTC)
    return f"{now:%d %B %Y} · {system} · {_machine()} · commit {commit()} · `{command}`"


def write_block(document: Path, name: str, body: str) -> None:
    """Put a block into a history, and tell which figures of the page in front have to be written anew."""
    blocks.write_block(document, name, body, title="Quality: history")
    if document.parent.name == HISTORY and (told := outdated(document.parents[1])):
        click.echo(told)


def write_summary(path: Path, run: RetrievalFigures, *, system: str) -> None:
    """Keep the figures as JSON beside the raw rankings."""
    path.write_text(json.dumps({"system": system, **asdict(run)}, indent=1), "utf-8")


def _cell(value: Estimate) -> str:
    return f"{value.mean:.4f} ±{(value.high - value.low) / 2:.3f}"


def _machine() -> str:
    flags = ", ".join(features())
    return f"{platform.machine()}, {len(os.sched_getaffinity(0))} cores{f' ({flags})' if flags else ''}"
