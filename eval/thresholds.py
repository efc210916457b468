"""The gateway's thresholds: set on half of a test set's articles, reported on the other half and on the demo's own."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import click

from eval import handbook, report, searching
from eval.calibration import Calibration, Scored, calibrate, report_on
from eval.datasets import Dataset
from eval.handbook import HandbookScore
from eval.refusal import refusal_scores
from eval.retrieval import RESULTS
from eval.system import System
from services.gateway.settings import GatewaySettings
from sourcier import Client

LOST_MAX = 0.02
"""Share of answerable questions that a threshold may lose."""
SIGNALS = {"late interaction": "reranked", "cosine similarity": "dense"}
SETTINGS = {"late interaction": "refusal_threshold", "cosine similarity": "refusal_similarity"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A calibration and what it is of."""

    what: str
    chosen: Calibration
    """At the threshold that loses `LOST_MAX`."""
    standing: Calibration
    """At the gateway's default."""


async def measure_thresholds(
    dataset: Dataset, system: System, *, document: Path | None, command: str
) -> None:
    """Read the rankings of the retrieval run, score the demo's questions, and report."""
    name = f"{dataset.name}-{system.engine or 'external'}"
    rankings = list(searching.read(RESULTS / f"{name}.jsonl"))
    if not rankings:
        raise click.ClickException(f"run `python -m eval retrieval` on {dataset.name} with this engine first")
    refusals = [_refusal_row(dataset, rankings, signal) for signal in SIGNALS]
    async with Client(system.gateway) as client:
        demo = await handbook.score_handbook(client)
    body = "\n\n".join([
        "### Refusing what the corpus does not hold", _table(refusals, "signal"), _demo(demo),
        report.provenance(system=system.described, command=command),
    ])
    click.echo(body)
    _keep(RESULTS / f"thresholds-{name}.json", refusals, demo)
    if document is not None:
        report.write_block(document, "thresholds", body)


def _refusal_row(dataset: Dataset, rankings: Sequence[searching.Ranking], signal: str) -> Row:
    scores = refusal_scores(dataset, rankings, mode=SIGNALS[signal])
    return _row(f"{signal} (`{SETTINGS[signal]}`)", scores.present, scores.absent, _default(SETTINGS[signal]))


def _row(what: str, kept: Sequence[Scored], stopped: Mapping[str, Sequence[Scored]], standing: float) -> Row:
    return Row(
        what=what, chosen=calibrate(kept, stopped, lost_max=LOST_MAX),
        standing=report_on(kept, stopped, threshold=standing),
    )


def _default(setting: str) -> float:
    return float(GatewaySettings.model_fields[setting].default)


def _table(rows: Sequence[Row], first: str) -> str:
    kinds = list(rows[0].chosen.contrasts)
    head = [first, "threshold", "lost", *(f"stops {kind} (AUROC)" for kind in kinds)]
    cells = [head]
    for row in rows:
        for name, calibration in ((f"set to lose {LOST_MAX:.0%}", row.chosen), ("the default", row.standing)):
            cells.append([
                f"{row.what}, {name}", f"{calibration.threshold:.3f}", f"{calibration.lost:.1%}",
                *(f"{each.stopped:.1%} ({each.auroc:.3f})" for each in calibration.contrasts.values()),
            ])
    return report.markdown_table(cells)


def _demo(scores: Sequence[HandbookScore]) -> str:
    limits = {"late interaction": _default("refusal_threshold"), "cosine": _default("refusal_similarity")}
    rows = [["the demo's questions", "late interaction", "cosine", "refused, re-ranked", "refused, not re-ranked"]]
    for kind, answerable in (("with an answer", True), ("without one", False)):
        chosen = [each for each in scores if each.answerable is answerable]
        late, cosine = ([getattr(each, name) for each in chosen] for name in ("late_interaction", "similarity"))
        rows.append([
            f"{len(chosen)} {kind}", f"{min(late):.3f} to {max(late):.3f}", f"{min(cosine):.3f} to {max(cosine):.3f}",
            str(sum(score < limits["late interaction"] for score in late)),
            str(sum(score < limits["cosine"] for score in cosine)),
        ])
    return report.markdown_table(rows)


def _keep(path: Path, refusals: Sequence[Row], demo: Sequence[HandbookScore]) -> None:
    kept = {
        "refusals": [asdict(row) for row in refusals],
        "demo": [asdict(each) for each in demo],
    }
    path.write_text(json.dumps(kept, indent=1, ensure_ascii=False), "utf-8")
