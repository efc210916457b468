"""Wording, judge, entailment model and all of them together, side by side: what each catches at the same price."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter

import numpy as np

from eval.reporting import report
from eval.retrieval.measures import auroc
from eval.sentences.opinions import Asked, by_kind, logit
from eval.sentences.sentences import KEPT_MIN, SETTERS
from eval.sets import handwritten, sentence_sets
from sourcier.services.gateway.findings import Finding
from sourcier.services.gateway.settings import GatewaySettings

Reading = Callable[[Asked], float | None]
"""What a model said of a sentence; None where it was not asked."""
READINGS: Mapping[str, Reading] = {"judge": attrgetter("judged"), "entailment": attrgetter("entailed")}
SUPPORTED = (*sentence_sets.SUPPORTED, handwritten.HAND_WRITTEN, handwritten.IN_ENGLISH)
RULED = (sentence_sets.VERBATIM, sentence_sets.REWORDED)
BESIDE: Mapping[str, Sequence[str]] = {
    handwritten.INVENTED: (handwritten.HAND_WRITTEN,), handwritten.ENGLISH_OTHER: (handwritten.IN_ENGLISH,),
}
"""The supported kinds that a kind's AUROC is against; those made by rule are against those of the same passages."""
BELOW = 1000.0


@dataclass(frozen=True)
class Method:
    """A way to score sentences, higher for supported ones, and what it catches."""

    name: str
    scores: Sequence[float]
    caught: Sequence[bool]


def opinion_tables(asked: Sequence[Asked]) -> str:
    """Return the figures as Markdown."""
    methods = compared(asked)
    places = {id(each): place for place, each in enumerate(asked)}
    everything = by_kind(asked)
    rows = [["sentence", "count", *(method.name for method in methods)]]
    kinds = by_kind([each for each in asked if _is_counted(each)])
    for kind, found in kinds.items():
        cells = []
        for method in methods:
            caught = sum(method.caught[places[id(each)]] for each in found) / len(found)
            if kind in SUPPORTED:
                cells.append(f"{1 - caught:.0%} kept")
                continue
            kept = [each for beside in BESIDE.get(kind, RULED) for each in everything.get(beside, ())]
            area = _auroc(method, [places[id(each)] for each in kept], [places[id(each)] for each in everything[kind]])
            cells.append(f"{caught:.0%}{area}")
        rows.append([f"*supported:* {kind}" if kind in SUPPORTED else kind, str(len(found)), *cells])
    return "\n\n".join([report.markdown_table(rows), _explained(asked, methods, kinds), *_costs(asked)])


def compared(asked: Sequence[Asked]) -> list[Method]:
    """Return the methods that this run can compare; a model has its threshold from the half that sets them."""
    marked = [is_marked(each) for each in asked]
    methods = [Method("wording", [each.checked.score for each in asked], marked)]
    sure = [0.0] * len(asked)
    for name, reading in READINGS.items():
        if any(reading(each) is not None for each in asked):
            odds = [_odds(each, reading) for each in asked]
            methods.append(_method(name, odds, asked))
            sure = [one + other for one, other in zip(sure, odds, strict=True)]
    if len(methods) > 1:
        # What the wording marks is below all else: no model is asked about it.
        scores = [odds - (BELOW if told else 0.0) for odds, told in zip(sure, marked, strict=True)]
        methods.append(Method("as the gateway does it", scores, [is_told(each) for each in asked]))
    return methods


def _auroc(method: Method, kept: Sequence[int], stopped: Sequence[int]) -> str:
    if not kept or not stopped:
        return ""
    return f" ({auroc([method.scores[place] for place in kept], [method.scores[place] for place in stopped]):.2f})"


def confirming_threshold(asked: Sequence[Asked], reading: Reading) -> float:
    """Return the probability that keeps 95 % of each supported kind, of what the wording supports already."""
    floors = []
    for kind in SETTERS:
        values = sorted(
            value for each in asked
            if each.checked.kind == kind and not each.is_reported and each.checked.finding == "SUPPORTED"
            and (value := reading(each)) is not None
        )
        if values:
            floors.append(values[int((1 - KEPT_MIN) * len(values))])
    return min(floors) if floors else math.nan


def is_marked(each: Asked) -> bool:
    """Return whether a sentence is marked or withheld by its wording, at the gateway's default thresholds."""
    return Finding[each.checked.finding] > Finding.UNCHECKED


def is_told(each: Asked) -> bool:
    """Return whether the gateway, by its default thresholds, marks or withholds a sentence by wording or models."""
    return (
        is_marked(each)
        or (each.judged is not None and each.judged < default("judge_threshold"))
        or (each.entailed is not None and each.entailed < default("entailment_threshold"))
    )


def default(setting: str) -> float:
    """Return a threshold's default."""
    return float(GatewaySettings.model_fields[setting].default)


def _is_counted(each: Asked) -> bool:
    return each.is_reported or each.checked.kind in (handwritten.IN_ENGLISH, handwritten.ENGLISH_OTHER)


def _method(name: str, scores: Sequence[float], asked: Sequence[Asked]) -> Method:
    floors = []
    for kind in SETTERS:
        own = sorted(score for score, each in zip(scores, asked, strict=True)
                     if each.checked.kind == kind and not each.is_reported)
        if own:
            floors.append(own[int((1 - KEPT_MIN) * len(own))])
    threshold = min(floors) if floors else -math.inf
    return Method(name, scores, [score < threshold for score in scores])


def _odds(each: Asked, reading: Reading) -> float:
    value = reading(each)
    return 0.0 if value is None else logit(value)


def _explained(asked: Sequence[Asked], methods: Sequence[Method], kinds: Mapping[str, Sequence[Asked]]) -> str:
    counts = [len(found) for kind, found in kinds.items() if kind not in SUPPORTED]
    typical = int(np.median(counts)) if counts else 0
    error = math.sqrt(0.25 / typical) if typical else math.nan
    text = (
        "The shares are those caught, of the half of the articles that set no threshold. What the wording catches is "
        "what the gateway marks or withholds; judge and entailment model alone are at the threshold that keeps 95 % of "
        "each supported kind of the other half; the gateway marks what either marks, at its default thresholds. With "
        f"about {typical} sentences a kind, a share of 50 % has a standard error of {error * 100:.0f} points. In "
        "brackets the AUROC over all sentences of the kind, against the supported ones of the same origin. "
    )
    for name, reading in READINGS.items():
        if any(method.name == name for method in methods):
            text += (
                f"Of what the wording supports, the {name}'s probability of {confirming_threshold(asked, reading):.3f} "
                f"keeps 95 % of each supported kind; the default is {default(f'{name}_threshold'):.2f}. "
            )
    return text.strip()


def _costs(asked: Sequence[Asked]) -> list[str]:
    lines = []
    judged = [each for each in asked if each.judged is not None]
    if judged:
        repeated = [each for before, each in pairwise(judged) if before.sources == each.sources]
        median, p95 = np.quantile([each.seconds for each in repeated or judged], [0.5, 0.95])
        tokens = np.mean([each.prompt_tokens for each in repeated or judged])
        cached = np.mean([each.cached_tokens for each in repeated or judged])
        lines.append(
            f"A verdict on a sentence whose passages the engine has read takes {median:.2f} s at the median and "
            f"{p95:.2f} s at p95, one at a time; {cached:.0f} of its {tokens:.0f} tokens come from the prefix cache."
        )
    entailed = [each.entailment_seconds for each in asked if each.entailed is not None]
    if entailed:
        median, p95 = np.quantile(entailed, [0.5, 0.95])
        lines.append(f"The entailment model takes {median:.3f} s at the median and {p95:.3f} s at p95.")
    return lines
