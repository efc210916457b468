"""The figures of refusals that gates hold, and the signs that are kept so that `make test` can judge them again."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import astuple
from pathlib import Path

import numpy as np

from eval.gates import Figure
from eval.refusals.tables import SIGNALS, STATES, default_threshold, reported_scores
from eval.retrieval.measures import auroc, estimate
from eval.sets.calibration import is_reported
from eval.sets.situations import ARTICLE_REMOVED, OFF_TOPIC, PASSAGE_REMOVED, PRESENT, Situation
from sourcier.services.gateway.answering.answerability import Signs, answerability

SAMPLE = Path(__file__).parents[1] / "data" / "signs.csv"
NATURAL = "asked in other words"
"""Answered questions as people ask them who have not read the documents, as a state of their own."""
SAMPLED_PER_STATE = 300
"""What `make test` judges again with the weights of then, against the figures of the same sample."""


def figures(
    situations: Sequence[Situation], natural: Sequence[Situation], *, command: str
) -> dict[str, Figure]:
    """Return what the gates hold: what is kept and refused at the default, and the hardest AUROC."""
    scores = reported_scores(situations, SIGNALS["answerability"])
    scores[NATURAL] = [answerability(each.signs) for each in natural]
    return _score_figures(scores, command=command)


def _score_figures(scores: Mapping[str, list[float]], *, command: str) -> dict[str, Figure]:
    threshold = default_threshold()
    shares = {
        "refusals kept": [score >= threshold for score in scores[PRESENT]],
        "refusals kept in other words": [score >= threshold for score in scores[NATURAL]],
        "refusals off topic": [score < threshold for score in scores[OFF_TOPIC]],
        "refusals article removed": [score < threshold for score in scores[ARTICLE_REMOVED]],
        "refusals passage removed": [score < threshold for score in scores[PASSAGE_REMOVED]],
    }
    kept = {name: Figure.of(estimate(values), count=len(values), command=command) for name, values in shares.items()}
    return kept | {"refusals passage removed AUROC": _auroc_figure(scores, command=command)}


def write_sample(situations: Sequence[Situation], natural: Sequence[Situation], *, path: Path = SAMPLE) -> None:
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
        rows.writerows((NATURAL, *(round(sign, 4) for sign in astuple(each.signs))) for each in natural)


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
