"""What is refused and what it loses, as tables and a curve."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from eval.reporting import plots, report
from eval.reporting.plots import Axis
from eval.retrieval.measures import auroc
from eval.sets.calibration import is_reported
from eval.sets.situations import ARTICLE_REMOVED, OFF_TOPIC, PASSAGE_REMOVED, PRESENT, Situation
from sourcier.services.gateway.answering.answerability import COMPARABLE_MIN, answerability
from sourcier.services.gateway.settings import GatewaySettings

LOST_MAX = 0.05
"""Share of answerable questions that may be refused."""
STATES = (OFF_TOPIC, ARTICLE_REMOVED, PASSAGE_REMOVED)
Signal = Callable[[Situation], float]
SIGNALS: Mapping[str, Signal] = {
    "late interaction alone": lambda each: each.signs.late_interaction or 0.0,
    "cosine alone": lambda each: each.signs.similarity,
    "answerability": lambda each: answerability(each.signs),
}


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
        name, f"{threshold:.3f}", f"{below(scores[PRESENT], threshold):.1%}",
        *(f"{below(scores[state], threshold):.1%} ({auroc(scores[PRESENT], scores[state]):.3f})" for state in STATES),
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
        cells = (f"{below(scores[state], threshold):.1%}" for state in (PRESENT, *STATES))
        shown = f"{threshold:.2f}"
        rows.append((f"**{shown}**" if threshold == default_threshold() else shown, *cells))
    return report.markdown_table(rows)


def cost(situations: Sequence[Situation]) -> str:
    """Return what scoring a question over the background takes, in words."""
    seconds = [each.background_seconds for each in situations if each.state == PRESENT]
    median, slow = (float(np.quantile(seconds, share)) * 1000 for share in (0.5, 0.95))
    return (
        f"Scoring a question over the background took {median:.1f} ms (p95 {slow:.1f} ms), of {len(seconds)} questions."
    )


def off_topic_table(situations: Sequence[Situation]) -> str:
    """Return what is refused of each source of off-topic questions, at the default, by what they are judged by."""
    chosen = [each for each in situations if each.state == OFF_TOPIC and is_reported(each.article)]
    sources = dict.fromkeys(each.source for each in chosen)
    rows = [("questions of", "refused", "… judged in one language", "… judged between languages")]
    rows += [(source, *_by_kind([each for each in chosen if each.source == source])) for source in sources]
    return report.markdown_table([*rows, ("**all**", *_by_kind(chosen))])


def _by_kind(chosen: Sequence[Situation]) -> tuple[str, str, str]:
    alike = [each for each in chosen if each.signs.shared >= COMPARABLE_MIN]
    return _share(chosen), _share(alike), _share([each for each in chosen if each.signs.shared < COMPARABLE_MIN])


def _share(chosen: Sequence[Situation]) -> str:
    refused = below([answerability(each.signs) for each in chosen], default_threshold())
    return f"{refused:.1%} of {len(chosen)}" if chosen else ""


def elsewhere_table(situations: Sequence[Situation]) -> str:
    """Return what is refused of off-topic questions in each collection, at the default, by what they are judged by."""
    chosen = [each for each in situations if each.state == OFF_TOPIC and is_reported(each.article)]
    rows = [("asked of", "refused", "… judged in one language", "… judged between languages")]
    for collection in dict.fromkeys(each.collection for each in chosen):
        rows.append((collection, *_by_kind([each for each in chosen if each.collection == collection])))
    return report.markdown_table(rows)


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
    refused = f"{below(scores[state], default_threshold()):.1%}"
    if state == PRESENT or PRESENT not in scores:
        return refused
    return f"{refused} ({auroc(scores[PRESENT], scores[state]):.3f})"


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
    return [(share, below(scores[state], float(np.quantile(scores[PRESENT], share)))) for share in lost]


def default_threshold() -> float:
    """Return the gateway's default."""
    return float(GatewaySettings.model_fields["answerability_threshold"].default)


def below(scores: Sequence[float], threshold: float) -> float:
    """Return the share of scores below a threshold."""
    return sum(score < threshold for score in scores) / len(scores) if scores else 0.0
