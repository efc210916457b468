"""How well questions without an answer are told from the others before the language model is called.

The weights of `services.gateway.answerability` are fitted on half of a set's articles and of the questions that are off
topic there; the figures are of the other halves, and of other sets of their own, none of which had a part in them.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from eval import gates, handbook, report
from eval.asking import Asking, open_asker
from eval.calibration import is_reported
from eval.datasets import Dataset
from eval.encoding import OfflineEncoder
from eval.offline_asking import OfflineAsker
from eval.refusal_sample import figures, sample_figures, write_sample
from eval.refusal_tables import cost, costs, off_topic_table, own_table, signals_table, write_curve
from eval.refusal_weights import fitted
from eval.retrieval import RESULTS, Progress
from eval.situations import (
    OFF_TOPIC,
    PRESENT,
    Corpus,
    Situation,
    across,
    ask_all,
    off_topic,
    situations_of,
)
from eval.system import System
from services.gateway.answerability import Signs

OFF_TOPIC_QUESTIONS_MAX, OWN_QUESTIONS_MAX = 225, 400
MODEL = "multilingual-e5-small"
EVERYDAY = Path(__file__).parent / "data" / "offtopic.jsonl"
EVERYDAY_NAME = "everyday questions"
DEMO_NAME = "the demo"
LANGUAGES = {"de": "German", "en": "English", "es": "Spanish"}


@dataclass(frozen=True, slots=True, kw_only=True)
class RefusalRun:
    """What is asked of what."""

    dataset: Dataset
    """The set that the weights are fitted on, and whose collection is asked what is off topic."""
    others: Sequence[Dataset]
    """Sets whose questions are off topic there, and that are asked about themselves too."""
    far: Sequence[Dataset]
    """Sets whose questions are off topic, and no more."""
    translated: Sequence[tuple[Dataset, Dataset]]
    """Pairs of sets of which the second is the first in another language: questions of one are asked of the other."""
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
    kept = RESULTS / f"situations-{run.dataset.name}-{engine}.jsonl"
    if run.again and kept.exists():
        situations = [_situation(json.loads(line)) for line in kept.read_text("utf-8").splitlines()]
    else:
        situations = await collect(run, asker)
        kept.write_text("".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in situations), "utf-8")
    own = [each for each in situations if _is_own(each, run.dataset.name)]
    if run.fitted:
        asked = [each for each in situations if not each.source.startswith(DEMO_NAME)]
        click.echo(fitted(asked, name=run.dataset.name))
        return
    body = "\n\n".join([
        "### Refusing what the corpus does not hold", signals_table(own), "What each threshold costs:", costs(own),
        "Off-topic questions, by where they are from:", off_topic_table(own),
        "Sets that had no part in the weights, asked about themselves, at the default:",
        own_table([each for each in situations if not _is_own(each, run.dataset.name) and _is_apart(each)]),
        cost(own), report.provenance(system=described, command=run.command),
    ])
    click.echo(body)
    write_sample(own)
    gates.keep(figures(own, command=run.command) | sample_figures())
    if run.document is not None:
        report.write_block(run.document, "refusals", body)
        write_curve(run.document.parent / "quality" / "refusals.svg", own)


async def collect(run: RefusalRun, asker: Asking) -> list[Situation]:
    """Have what is needed in collections and ask every question; return the situations of all."""
    everyday = [json.loads(line)["question"] for line in EVERYDAY.read_text("utf-8").splitlines()]
    situations: list[Situation] = []
    for dataset in (run.dataset, *run.others):
        collection = await asker.hold(dataset)
        questions = None if dataset is run.dataset else OWN_QUESTIONS_MAX
        situations += await own_situations(asker, dataset.first(questions), collection=collection)
    collection = await asker.hold(run.dataset)
    for other in (*run.others, *run.far):
        texts = [question.text for question in other.first(OFF_TOPIC_QUESTIONS_MAX).questions]
        situations += await _off_topic(asker, texts, source=other.name, collection=collection)
    situations += await _off_topic(asker, everyday, source=EVERYDAY_NAME, collection=collection)
    for one, other in run.translated:
        pair = across(one, other, name=f"{one.name} of {other.name}")
        collection = await asker.hold(other)
        situations += await own_situations(asker, pair.first(OWN_QUESTIONS_MAX), collection=collection)
    return situations + await _handbook(asker)


async def own_situations(asker: Asking, dataset: Dataset, *, collection: str) -> list[Situation]:
    """Ask a set's questions of its own collection."""
    known, relevant = Corpus.of(dataset), {each.question_id: each.relevant for each in dataset.questions}
    return await ask_all(
        asker, [(each.question_id, each.text) for each in dataset.questions], collection=collection,
        take=lambda question, asked: situations_of(asked, relevant[question], known, source=dataset.name),
        progress=Progress(f"questions of {dataset.name} asked"),
    )


async def _off_topic(asker: Asking, texts: Sequence[str], *, source: str, collection: str) -> list[Situation]:
    return await ask_all(
        asker, [(text, text) for text in dict.fromkeys(texts)], collection=collection,
        take=lambda _, asked: [off_topic(asked, source=source)], progress=Progress(f"questions of {source} asked"),
    )


async def _handbook(asker: Asking) -> list[Situation]:
    collection = await asker.hold_handbook()
    asked = [(entry.question, PRESENT if entry.answerable else OFF_TOPIC, DEMO_NAME) for entry in handbook.questions()]
    asked += [(text, PRESENT, f"{DEMO_NAME}, in {LANGUAGES[language]}") for text, language in handbook.translated()]
    await asker.prepare([question for question, _, _ in asked], collection=collection)
    return [
        Situation(
            state=state, source=source, article=question, question=question,
            signs=off_topic(await asker.ask(question, collection=collection), source=source).signs,
        )
        for question, state, source in asked
    ]


def _situation(row: Mapping[str, Any]) -> Situation:
    return Situation(**(dict(row) | {"signs": Signs(**row["signs"])}))


def _is_own(situation: Situation, name: str) -> bool:
    """Return whether a question was asked of the set's own collection."""
    return situation.source == name or (situation.state == OFF_TOPIC and situation.source != DEMO_NAME)


def _is_apart(situation: Situation) -> bool:
    """Return whether a situation had no part in the weights: of translated pairs, one half had."""
    return " of " not in situation.source or is_reported(situation.article)
