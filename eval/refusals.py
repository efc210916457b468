"""How well questions without an answer are told from the others before the language model is called.

The weights of `services.gateway.answerability` are fitted on half of a set's articles and of the questions that are off
topic there; the figures are of the other halves, and of other sets of their own, none of which had a part in them.
"""

from __future__ import annotations

import csv
import json
import math
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, astuple, dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from eval import corpus, gates, handbook, plots, report
from eval.asking import Asker, open_asker
from eval.calibration import is_reported
from eval.datasets import Dataset
from eval.fitting import Logistic, fit
from eval.gates import Figure
from eval.measures import auroc, estimate
from eval.plots import Axis
from eval.retrieval import RESULTS, Progress, collection_name
from eval.situations import (
    ARTICLE_REMOVED,
    OFF_TOPIC,
    PASSAGE_REMOVED,
    PRESENT,
    Corpus,
    Situation,
    across,
    ask_all,
    off_topic,
    situations_of,
)
from eval.system import System
from services.gateway.answerability import COMPARABLE_MIN, Signs, answerability
from services.gateway.settings import GatewaySettings
from sourcier import Client

LOST_MAX = 0.05
"""Share of answerable questions that may be refused."""
LOST_FITTED, THRESHOLD_FITTED = 0.05, 0.25
"""Models are shifted so that this share of the setting half lies below this value: the default threshold."""
STATES = (OFF_TOPIC, ARTICLE_REMOVED, PASSAGE_REMOVED)
OFF_TOPIC_QUESTIONS_MAX, OWN_QUESTIONS_MAX = 225, 400
SAMPLE = Path(__file__).parent / "data" / "signs.csv"
SAMPLED_PER_STATE = 300
"""What `make test` judges again with the weights of then, against the figures of the same sample."""
EVERYDAY = Path(__file__).parent / "data" / "offtopic.jsonl"
EVERYDAY_NAME = "everyday questions"
DEMO_NAME = "the demo"
Signal = Callable[[Situation], float]
SIGNALS: Mapping[str, Signal] = {
    "late interaction alone": lambda each: each.signs.late_interaction or 0.0,
    "cosine alone": lambda each: each.signs.similarity,
    "answerability": lambda each: answerability(each.signs),
}


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


async def measure_refusals(run: RefusalRun, system: System) -> None:
    """Ask everything, then fit or report, and keep the figures for the gates."""
    RESULTS.mkdir(exist_ok=True)
    kept = RESULTS / f"situations-{run.dataset.name}-{system.engine}.jsonl"
    if run.again and kept.exists():
        situations = [_situation(json.loads(line)) for line in kept.read_text("utf-8").splitlines()]
    else:
        situations = await collect(run, system)
        kept.write_text("".join(json.dumps(asdict(each), ensure_ascii=False) + "\n" for each in situations), "utf-8")
    own = [each for each in situations if _is_own(each, run.dataset.name)]
    if run.fitted:
        click.echo(fitted(situations, name=run.dataset.name))
        return
    body = "\n\n".join([
        "### Refusing what the corpus does not hold", signals_table(own), "What each threshold costs:", costs(own),
        "Off-topic questions, by where they are from:", off_topic_table(own),
        "Sets that had no part in the weights, asked about themselves, at the default:",
        own_table([each for each in situations if not _is_own(each, run.dataset.name) and _is_apart(each)]),
        report.provenance(system=system.described, command=run.command),
    ])
    click.echo(body)
    write_sample(own)
    gates.keep(figures(own, command=run.command) | sample_figures())
    if run.document is not None:
        report.write_block(run.document, "refusals", body)
        write_curve(run.document.parent / "quality" / "refusals.svg", own)


async def collect(run: RefusalRun, system: System) -> list[Situation]:
    """Ingest what is missing and ask every question; return the situations of all."""
    everyday = [json.loads(line)["question"] for line in EVERYDAY.read_text("utf-8").splitlines()]
    situations: list[Situation] = []
    async with Client(system.gateway) as client, open_asker(system) as asker:
        for dataset in (run.dataset, *run.others):
            collection = collection_name(dataset, system)
            await corpus.ingest(client, dataset, collection=collection, progress=Progress(f"{dataset.name} ingested"))
            questions = None if dataset is run.dataset else OWN_QUESTIONS_MAX
            situations += await own_situations(asker, dataset.first(questions), collection=collection)
        collection = collection_name(run.dataset, system)
        for other in (*run.others, *run.far):
            texts = [question.text for question in other.first(OFF_TOPIC_QUESTIONS_MAX).questions]
            situations += await _off_topic(asker, texts, source=other.name, collection=collection)
        situations += await _off_topic(asker, everyday, source=EVERYDAY_NAME, collection=collection)
        for one, other in run.translated:
            pair = across(one, other, name=f"{one.name} of {other.name}")
            situations += await own_situations(
                asker, pair.first(OWN_QUESTIONS_MAX), collection=collection_name(other, system)
            )
        await handbook.ingest(client)
        situations += await _handbook(asker)
    return situations


async def own_situations(asker: Asker, dataset: Dataset, *, collection: str) -> list[Situation]:
    """Ask a set's questions of its own collection."""
    known, relevant = Corpus.of(dataset), {each.question_id: each.relevant for each in dataset.questions}
    return await ask_all(
        asker, [(each.question_id, each.text) for each in dataset.questions], collection=collection,
        take=lambda question, asked: situations_of(asked, relevant[question], known, source=dataset.name),
        progress=Progress(f"questions of {dataset.name} asked"),
    )


async def _off_topic(asker: Asker, texts: Sequence[str], *, source: str, collection: str) -> list[Situation]:
    return await ask_all(
        asker, [(text, text) for text in dict.fromkeys(texts)], collection=collection,
        take=lambda _, asked: [off_topic(asked, source=source)], progress=Progress(f"questions of {source} asked"),
    )


async def _handbook(asker: Asker) -> list[Situation]:
    situations: list[Situation] = []
    for entry in handbook.questions():
        asked = await asker.ask(entry.question, collection=handbook.COLLECTION)
        state = PRESENT if entry.answerable else OFF_TOPIC
        found = off_topic(asked, source=DEMO_NAME)
        situations.append(Situation(
            state=state, source=DEMO_NAME, article=entry.question, question=entry.question, signs=found.signs
        ))
    return situations


def fitted(situations: Sequence[Situation], *, name: str) -> str:
    """Return the weights of each model, fitted on the halves that set them.

    Where words compare: the set itself, and what is off topic there. Between languages: translated pairs, and what is
    off topic in another language. Without the re-ranker: as the first, without its signs.
    """
    setting = [each for each in situations if not is_reported(each.article)]
    alike = [each for each in setting if _is_own(each, name) and each.signs.shared >= COMPARABLE_MIN]
    between = [
        each for each in setting
        if each.signs.shared < COMPARABLE_MIN and (" of " in each.source or each.state == OFF_TOPIC)
    ]
    words = ("similarity", "lexical_lead", "window", "figures", "names")
    vectors = ("late_interaction", "lead")
    return "\n".join((
        _fitted("COMPARABLE", alike, (*vectors, *words)),
        *(_fitted("FOREIGN", pairs, (*vectors, "similarity", "figures")) for pairs in [between] if _answered(pairs)),
        _fitted("UNRANKED", alike, words),
    ))


def _answered(situations: Sequence[Situation]) -> bool:
    return any(each.state == PRESENT for each in situations)


def _fitted(model: str, chosen: Sequence[Situation], names: Sequence[str]) -> str:
    rows = np.array([[getattr(each.signs, name) for name in names] for each in chosen], dtype=np.float64)
    answered = np.array([each.state == PRESENT for each in chosen])
    counts = {state: sum(each.state == state for each in chosen) for state in (PRESENT, *STATES)}
    # As many answerable questions as others, and of the others as many of each state.
    importance = np.array([(len(STATES) if each.state == PRESENT else 1) / counts[each.state] for each in chosen])
    found: Logistic = fit(rows, answered.astype(np.float64), importance)
    # The same value of every model loses the same share: one threshold serves them all.
    lost = float(np.quantile(found.log_odds(rows)[answered], LOST_FITTED))
    intercept = found.intercept - lost + math.log(THRESHOLD_FITTED / (1 - THRESHOLD_FITTED))
    weights = ", ".join(f'"{name}": {weight:.2f}' for name, weight in zip(names, found.weights, strict=True))
    return f"{model} = Model({intercept:.2f}, {{{weights}}})  # of {counts}"


def signals_table(situations: Sequence[Situation]) -> str:
    """Return what each signal refuses on the half that reports, at the threshold that loses `LOST_MAX` on the other."""
    rows = [("signal", "threshold", "lost", *(f"{state} (AUROC)" for state in STATES))]
    for name, signal in SIGNALS.items():
        threshold = quantile_of(situations, signal)
        rows.append(_signal_row(f"{name}, set to lose {LOST_MAX:.0%}", signal, situations, threshold))
    rows.append(_signal_row(
        "**answerability, the default**", SIGNALS["answerability"], situations, default_threshold()
    ))
    return report.markdown_table(rows)


def _signal_row(name: str, signal: Signal, situations: Sequence[Situation], threshold: float) -> tuple[str, ...]:
    scores = reported_scores(situations, signal)
    return (
        name, f"{threshold:.3f}", f"{_below(scores[PRESENT], threshold):.1%}",
        *(f"{_below(scores[state], threshold):.1%} ({auroc(scores[PRESENT], scores[state]):.3f})" for state in STATES),
    )


def quantile_of(situations: Sequence[Situation], signal: Signal, *, lost: float = LOST_MAX) -> float:
    """Return the threshold below which a share of the answerable questions lies, on the half that sets it."""
    scores = [signal(each) for each in situations if each.state == PRESENT and not is_reported(each.article)]
    return float(np.quantile(scores, lost))


def reported_scores(situations: Sequence[Situation], signal: Signal) -> dict[str, list[float]]:
    """Return the scores by state, of the reporting half."""
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for each in situations:
        if is_reported(each.article):
            scores[each.state].append(signal(each))
    return scores


def costs(situations: Sequence[Situation]) -> str:
    """Return the table of thresholds: what is lost at each, and what is refused for it."""
    signal = SIGNALS["answerability"]
    scores = reported_scores(situations, signal)
    rows: list[tuple[str, ...]] = [("`answerability_threshold`", "lost", *STATES)]
    for threshold in sorted({*(round(step * 0.05, 2) for step in range(1, 13)), default_threshold()}):
        cells = (f"{_below(scores[state], threshold):.1%}" for state in (PRESENT, *STATES))
        shown = f"{threshold:.2f}"
        rows.append((f"**{shown}**" if threshold == default_threshold() else shown, *cells))
    return report.markdown_table(rows)


def off_topic_table(situations: Sequence[Situation]) -> str:
    """Return what is refused of each source of off-topic questions, at the default."""
    chosen = [each for each in situations if each.state == OFF_TOPIC and is_reported(each.article)]
    return _by_source(chosen, {OFF_TOPIC: "refused"})


def own_table(situations: Sequence[Situation]) -> str:
    """Return what the default does to sets of their own."""
    return _by_source(situations, {
        PRESENT: "lost", PASSAGE_REMOVED: f"{PASSAGE_REMOVED} (AUROC)", ARTICLE_REMOVED: f"{ARTICLE_REMOVED} (AUROC)",
        OFF_TOPIC: f"{OFF_TOPIC} (AUROC)",
    })


def _by_source(situations: Sequence[Situation], heads: Mapping[str, str]) -> str:
    grouped: defaultdict[str, defaultdict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for each in situations:
        grouped[each.source][each.state].append(answerability(each.signs))
    rows: list[tuple[str, ...]] = [("questions of", "count", *heads.values())]
    for source, scores in grouped.items():
        count = max(map(len, scores.values()))
        rows.append((source, str(count), *(_refused(scores, state) for state in heads)))
    return report.markdown_table(rows)


def _refused(scores: Mapping[str, list[float]], state: str) -> str:
    if state not in scores:
        return ""
    refused = f"{_below(scores[state], default_threshold()):.1%}"
    if state == PRESENT or PRESENT not in scores:
        return refused
    return f"{refused} ({auroc(scores[PRESENT], scores[state]):.3f})"


def figures(situations: Sequence[Situation], *, command: str) -> dict[str, Figure]:
    """Return what the gates hold: what is kept and refused at the default, and the hardest AUROC."""
    return _score_figures(reported_scores(situations, SIGNALS["answerability"]), command=command)


def _score_figures(scores: Mapping[str, list[float]], *, command: str) -> dict[str, Figure]:
    threshold = default_threshold()
    shares = {
        "refusals kept": [score >= threshold for score in scores[PRESENT]],
        "refusals off topic": [score < threshold for score in scores[OFF_TOPIC]],
        "refusals article removed": [score < threshold for score in scores[ARTICLE_REMOVED]],
        "refusals passage removed": [score < threshold for score in scores[PASSAGE_REMOVED]],
    }
    kept = {name: Figure.of(estimate(values), count=len(values), command=command) for name, values in shares.items()}
    return kept | {"refusals passage removed AUROC": _auroc_figure(scores, command=command)}


def write_sample(situations: Sequence[Situation], *, path: Path = SAMPLE) -> None:
    """Keep the signs of some situations of the reporting half, no text: `make test` judges them again."""
    with path.open("w", encoding="utf-8", newline="") as lines:
        rows = csv.writer(lines, lineterminator="\n")
        rows.writerow(("state", *Signs.__dataclass_fields__))
        for state in (PRESENT, *STATES):
            known = [each for each in situations if each.state == state and is_reported(each.article)]
            step = max(1.0, len(known) / SAMPLED_PER_STATE)
            for number in range(min(SAMPLED_PER_STATE, len(known))):
                signs = astuple(known[int(number * step)].signs)
                rows.writerow((state, *(round(sign, 4) for sign in signs)))


def sample_figures(*, path: Path = SAMPLE) -> dict[str, Figure]:
    """Return what the weights of now make of the signs that were kept."""
    with path.open(encoding="utf-8", newline="") as lines:
        situations = [
            Situation(state=state, source="", article="", question="", signs=Signs(*map(float, signs)))
            for state, *signs in list(csv.reader(lines))[1:]
        ]
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for each in situations:
        scores[each.state].append(answerability(each.signs))
    return {f"sample: {name}": figure for name, figure in _score_figures(scores, command="").items()}


def _auroc_figure(scores: Mapping[str, list[float]], *, command: str) -> Figure:
    present, absent = (np.asarray(scores[state]) for state in (PRESENT, PASSAGE_REMOVED))
    generator = np.random.default_rng(0)
    drawn = [
        auroc(generator.choice(present, len(present)).tolist(), generator.choice(absent, len(absent)).tolist())
        for _ in range(500)
    ]
    low, high = np.quantile(drawn, (0.025, 0.975))
    return Figure(
        value=auroc(scores[PRESENT], scores[PASSAGE_REMOVED]), low=float(low), high=float(high), count=len(present),
        command=command,
    )


def write_curve(path: Path, situations: Sequence[Situation]) -> None:
    """Write the curve of what is refused over what is lost."""
    scores = reported_scores(situations, SIGNALS["answerability"])
    late = reported_scores(situations, SIGNALS["late interaction alone"])
    lost = [step / 200 for step in range(41)]
    curves = {f"{state}": _curve(scores, state, lost) for state in STATES}
    curves |= {f"{state}, late interaction": _curve(late, state, lost) for state in STATES}
    plots.write_curves(
        path, title="Questions without an answer that are refused", curves=curves,
        horizontal=Axis("answerable questions lost", 0.0, 0.2, ticks=4, percent=True),
        vertical=Axis("refused", 0.0, 1.0, percent=True), line_at=LOST_MAX,
    )


def _curve(scores: Mapping[str, list[float]], state: str, lost: Sequence[float]) -> list[tuple[float, float]]:
    return [(share, _below(scores[state], float(np.quantile(scores[PRESENT], share)))) for share in lost]


def default_threshold() -> float:
    """Return the gateway's default."""
    return float(GatewaySettings.model_fields["answerability_threshold"].default)


def _situation(row: Mapping[str, Any]) -> Situation:
    return Situation(**(dict(row) | {"signs": Signs(**row["signs"])}))


def _is_own(situation: Situation, name: str) -> bool:
    """Return whether a question was asked of the set's own collection."""
    return situation.source == name or (situation.state == OFF_TOPIC and situation.source != DEMO_NAME)


def _below(scores: Sequence[float], threshold: float) -> float:
    return sum(score < threshold for score in scores) / len(scores) if scores else 0.0


def _is_apart(situation: Situation) -> bool:
    """Return whether a situation had no part in the weights: of translated pairs, one half had."""
    return " of " not in situation.source or is_reported(situation.article)
