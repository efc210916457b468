"""How well questions without an answer are told from the others before the language model is called.

The weights of `sourcier.services.gateway.answering.answerability` are fitted on half of the articles
and questions; the figures are of the
other halves, and of sets of their own, none of which had a part in them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from eval import gates
from eval.refusals.sample import figures, sample_figures, write_sample
from eval.refusals.situations import DEMO_NAME, REWORDED, RefusalSets, collect
from eval.refusals.tables import cost, costs, elsewhere_table, off_topic_table, own_table, signals_table, write_curve
from eval.refusals.weights import fitted, sets_weights
from eval.reporting import report
from eval.retrieval.asking import Asking, open_asker
from eval.retrieval.encoding import OfflineEncoder
from eval.retrieval.offline_asking import OfflineAsker
from eval.retrieval.retrieval import RESULTS, Progress
from eval.sets.calibration import is_reported
from eval.sets.json_lines import read_rows
from eval.sets.situations import OFF_TOPIC, PRESENT, Situation
from eval.system import System
from sourcier.services.gateway.answering.answerability import Signs

MODEL = "multilingual-e5-small"


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalRun:
    """What is asked of what."""

    asked: RefusalSets
    again: bool
    """Whether what was asked before is reported on, instead of asking again."""
    fitted: bool
    """Whether weights are fitted and printed, instead of a report on those that stand."""
    document: Path | None
    command: str


async def measure_through(system: System, run: RefusalRun) -> None:
    """Measure through a stack's services."""
    async with open_asker(system) as asker:
        await measure_refusals(run, asker, engine=system.engine, described=system.described)


def measure_offline(run: RefusalRun, *, engine: str) -> None:
    """Measure in this process, with the services' own code."""
    encoder = OfflineEncoder(model=MODEL, engine=engine, kept=RESULTS)
    described = f"{encoder.model.manifest.name} (revision {encoder.model.manifest.revision}), {encoder.engine}"
    asyncio.run(measure_refusals(
        run, OfflineAsker(encoder, progress=Progress), engine=encoder.engine, described=described
    ))


async def measure_refusals(run: RefusalRun, asker: Asking, *, engine: str, described: str) -> None:
    """Ask everything, then fit or report, and keep the figures for the gates."""
    RESULTS.mkdir(exist_ok=True)
    kept = RESULTS / f"situations-{run.asked.dataset.name}-{engine}.jsonl"
    if run.again and kept.exists():
        situations = [_situation(row) for row in read_rows(kept)]
    else:
        situations = await collect(run.asked, asker)
        kept.write_text("".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in situations), "utf-8")
    name = run.asked.dataset.name
    home = next(each.collection for each in situations if each.source == name)
    own = [each for each in situations if each.collection == home and (each.source == name or each.state == OFF_TOPIC)]
    if run.fitted:
        # The demo's own questions, in the words of its documents, are kept apart from the weights altogether.
        click.echo(fitted([each for each in situations if each.source != DEMO_NAME], name=name))
        return
    body = "\n\n".join([
        "### Refusing what the corpus does not hold", signals_table(own), "What each threshold costs:", costs(own),
        "Off-topic questions, by where they are from:", off_topic_table(own),
        "Collections asked what they answer, at the default; of sets that had a part in the weights, the other half:",
        own_table([each for each in situations if each.collection != home and _is_apart(each, name=name)]),
        "Off-topic questions, by the collection that is asked, of the half that had no part in the weights:",
        elsewhere_table([each for each in situations if each.source != DEMO_NAME]),
        cost(own), report.provenance(system=described, command=run.command),
    ])
    click.echo(body)
    natural = [each for each in situations if each.source.endswith(REWORDED) and each.state == PRESENT]
    write_sample(own, natural)
    gates.keep(figures(own, natural, command=run.command) | sample_figures())
    if run.document is not None:
        report.write_block(run.document, "refusals", body)
        write_curve(run.document.parents[1] / "quality" / "refusals.svg", own)


def _situation(row: Mapping[str, Any]) -> Situation:
    return Situation(**(dict(row) | {"signs": Signs(**row["signs"])}))


def _is_apart(situation: Situation, *, name: str) -> bool:
    """Return whether a situation had no part in the weights: of what set them, one half had."""
    if situation.source == DEMO_NAME:
        return True
    if situation.state == OFF_TOPIC:
        return False
    return is_reported(situation.article) or not sets_weights(situation, name=name)
