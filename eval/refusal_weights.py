"""Fits the weights of `services.gateway.answerability`, on the halves of articles and questions that set them.

For each kind of question one regression tells what is off topic from what is answered, and another one what is answered
from what has lost its passage or its article. Both are shifted so that together they lose as many answerable questions
below the default threshold, in every kind: one threshold serves them all.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from eval.calibration import is_reported
from eval.fitting import FloatArray, fit
from eval.refusal_tables import default_threshold
from eval.situations import ARTICLE_REMOVED, OFF_TOPIC, PASSAGE_REMOVED, PRESENT, Situation
from services.gateway.answerability import COMPARABLE_MIN

LOST = 0.05
"""Share of answerable questions of the setting half that both models lose together."""
STEPS = 200
"""Shifts of the second model that are tried, from losing none to losing all of that share."""
Names = tuple[str, ...]
WORDS: Names = ("lexical_lead", "window", "figures", "names")
TOPIC_STATES: Mapping[str, float] = {OFF_TOPIC: 1.0}
ANSWER_STATES: Mapping[str, float] = {ARTICLE_REMOVED: 0.3, PASSAGE_REMOVED: 0.7}
"""What each state counts beside the answered questions: a missing passage is the harder of the two to tell."""


def fitted(situations: Sequence[Situation], *, name: str) -> str:
    """Return each judgement as it stands in the gateway.

    Where words compare: the set itself, and what is off topic there. Between languages: translated pairs, and what is
    off topic in another language.
    """
    setting = [each for each in situations if not is_reported(each.article)]
    known = [each for each in setting if each.source == name or each.state == OFF_TOPIC]
    alike = [each for each in known if each.signs.shared >= COMPARABLE_MIN]
    between = [
        each for each in setting
        if each.signs.shared < COMPARABLE_MIN and (" of " in each.source or each.state == OFF_TOPIC)
    ]
    return "\n".join((
        _judgement("COMPARABLE", alike, topic=("above_background", "standing", "similarity", "window"),
                   answer=("late_interaction", "lead", "similarity", *WORDS), topic_lost=0.035),
        _judgement("FOREIGN", between, topic=("late_interaction", "rise", "similarity_lead", "figures"),
                   answer=("late_interaction", "lead", "rise", "similarity", "figures"), topic_lost=0.02),
        _judgement("UNRANKED", alike, topic=("similarity", "similarity_lead", "window"), answer=("similarity", *WORDS),
                   topic_lost=0.03),
        _judgement("FOREIGN_UNRANKED", between, topic=("similarity", "similarity_lead"),
                   answer=("similarity", "similarity_lead", "figures"), topic_lost=0.02),
    ))


def _judgement(kind: str, chosen: Sequence[Situation], *, topic: Names, answer: Names, topic_lost: float) -> str:
    present = [each for each in chosen if each.state == PRESENT]
    if not present:
        return f"# {kind}: nothing answered to fit it on"
    models = [_Fitted(chosen, names, states) for names, states in ((topic, TOPIC_STATES), (answer, ANSWER_STATES))]
    about, held = (model.log_odds(present) for model in models)
    floor = float(np.quantile(about, topic_lost))
    off = about < floor
    least = max(
        (value for value in np.quantile(held, np.linspace(0, LOST, STEPS)) if np.mean(off | (held < value)) <= LOST),
        default=float(held.min()),
    )
    said = ",\n".join(
        f"    {name}={model.code(shift)}" for name, model, shift in zip(("topic", "answer"), models, (floor, least),
                                                                       strict=True)
    )
    counts = {state: sum(each.state == state for each in chosen) for state in (PRESENT, OFF_TOPIC, *ANSWER_STATES)}
    return f"{kind} = Judgement(\n{said},\n)  # of {counts}"


class _Fitted:
    """A regression of answered questions against some states."""

    def __init__(self, chosen: Sequence[Situation], names: Names, states: Mapping[str, float]) -> None:
        self._names = names
        rows = [each for each in chosen if each.state == PRESENT or each.state in states]
        counts = {state: sum(each.state == state for each in rows) for state in (PRESENT, *states)}
        importance = np.array([{PRESENT: 1.0, **states}[each.state] / counts[each.state] for each in rows])
        answered = np.array([each.state == PRESENT for each in rows], dtype=np.float64)
        self._model = fit(self._rows(rows), answered, importance)

    def log_odds(self, situations: Sequence[Situation]) -> FloatArray:
        """Return the log-odds of situations."""
        return self._model.log_odds(self._rows(situations))

    def code(self, shift: float) -> str:
        """Return the model as code, shifted so that this value of its log-odds is the default threshold."""
        threshold = default_threshold()
        intercept = self._model.intercept - shift + math.log(threshold / (1 - threshold))
        weights = ", ".join(
            f'"{name}": {weight:.2f}' for name, weight in zip(self._names, self._model.weights, strict=True) if weight
        )
        return f"Model({intercept:.2f}, {{{weights}}})"

    def _rows(self, situations: Sequence[Situation]) -> FloatArray:
        return np.array([[getattr(each.signs, name) for name in self._names] for each in situations], dtype=np.float64)
