"""Fits the weights of `sourcier.services.gateway.answering.answerability`.

Fitted on the halves of articles and questions that set them.

For each kind of question one regression tells what is off topic from what is answered, and another one what is answered
from what has lost its passage or its article. Collections count as such, however many questions they were asked, for a
handbook of thirty passages is an example too. Both regressions are shifted so that together they lose as many
answerable questions below the default threshold, in every kind: one threshold serves them all.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from eval.refusals.fitting import FloatArray, fit
from eval.refusals.tables import default_threshold
from eval.sets.calibration import is_reported
from eval.sets.situations import ARTICLE_REMOVED, OFF_TOPIC, PASSAGE_REMOVED, PRESENT, Situation
from sourcier.services.gateway.answering.answerability import COMPARABLE_MIN

LOST = 0.05
"""Share of answerable questions of the setting half that both models lose together."""
HOME_COUNTS = 3.0
"""What the first set's collection, of many subjects, counts beside each other one."""
EXAMPLES_MIN = 10
"""Of a state in a collection: fewer would count as much as many."""
STEPS = 200
"""Shifts of the second model that are tried, from losing none to losing all of that share."""
BoolArray = npt.NDArray[np.bool_]
Names = tuple[str, ...]
WORDS: Names = ("lexical_lead", "window", "figures", "names")
TOPIC_STATES: Mapping[str, float] = {OFF_TOPIC: 1.0}
ANSWER_STATES: Mapping[str, float] = {ARTICLE_REMOVED: 0.3, PASSAGE_REMOVED: 0.7}
"""What each state counts beside the answered questions: a missing passage is the harder of the two to tell."""


def sets_weights(situation: Situation, *, name: str) -> bool:
    """Return whether situations like this one set weights, with one half of theirs, where the set is of this name."""
    source = situation.source
    # Pairs are called `one of other`, and what is asked in other words or languages `the demo, in German`.
    return situation.state == OFF_TOPIC or source == name or " of " in source or ", in " in source


def fitted(situations: Sequence[Situation], *, name: str) -> str:
    """Return each judgement as it stands in the gateway.

    Where words compare: the set itself, what people ask in other words, and what is off topic in these collections.
    Between languages: translated pairs, what people ask in other languages, and what is off topic in another language.
    """
    setting = [each for each in situations if not is_reported(each.article) and sets_weights(each, name=name)]
    home = next(each.collection for each in situations if each.source == name)
    alike = _told(each for each in setting if each.signs.shared >= COMPARABLE_MIN)
    between = _told(
        each for each in setting
        if each.signs.shared < COMPARABLE_MIN and (each.state == OFF_TOPIC or each.source != name)
    )
    return "\n".join((
        _judgement(
            "COMPARABLE", alike, home=home, topic_lost=0.02,
            topic=("above_background", "standing", "similarity", "window", "smallness"),
            answer=("late_interaction", "lead", "similarity", *WORDS),
        ),
        _judgement(
            "FOREIGN", between, home=home, topic_lost=0.03,
            topic=("late_interaction", "above_background", "rise", "similarity", "figures", "smallness"),
            answer=("late_interaction", "lead", "rise", "similarity", "figures"),
        ),
        _judgement(
            "UNRANKED", alike, home=home, topic_lost=0.03,
            topic=("similarity", "similarity_lead", "window", "smallness"), answer=("similarity", *WORDS),
        ),
        _judgement(
            "FOREIGN_UNRANKED", between, home=home, topic_lost=0.03,
            topic=("similarity", "similarity_lead", "smallness"), answer=("similarity", "similarity_lead", "figures"),
        ),
    ))


def _told(chosen: Iterable[Situation]) -> list[Situation]:
    """Return the situations of which a collection has enough."""
    known = list(chosen)
    counts = Counter((each.collection, each.state) for each in known)
    return [each for each in known if counts[each.collection, each.state] >= EXAMPLES_MIN]


def _judgement(
    kind: str, chosen: Sequence[Situation], *, home: str, topic: Names, answer: Names, topic_lost: float
) -> str:
    present = [each for each in chosen if each.state == PRESENT]
    if not present:
        return f"# {kind}: nothing answered to fit it on"
    # Only where passages were taken away can it be told what that changes.
    taken = {each.collection for each in chosen if each.state in ANSWER_STATES}
    models = [
        _Fitted(chosen, topic, TOPIC_STATES, home=home),
        _Fitted([each for each in chosen if each.collection in taken], answer, ANSWER_STATES, home=home),
    ]
    counted = _counted(present, home=home)
    about, held = (model.log_odds(present) for model in models)
    floor = _quantile(about, topic_lost, counted)
    off = about < floor
    own = np.array([each.collection == home for each in present])
    least = max(
        (value for value in (_quantile(held, share, counted) for share in np.linspace(0, LOST, STEPS))
         if _lost(off | (held < value), counted, own) <= LOST),
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

    def __init__(
        self, chosen: Sequence[Situation], names: Names, states: Mapping[str, float], *, home: str
    ) -> None:
        self._names = names
        kinds = {PRESENT: 1.0, **states}
        rows = [each for each in chosen if each.state in kinds]
        importance = np.array([kinds[each.state] for each in rows])
        for state in kinds:
            places = [place for place, each in enumerate(rows) if each.state == state]
            importance[places] *= _counted([rows[place] for place in places], home=home)
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
            f'"{name}": {weight:.2f}' for name, weight in zip(self._names, self._model.weights, strict=True)
            if weight >= 0.005
        )
        return f"Model({intercept:.2f}, {{{weights}}})"

    def _rows(self, situations: Sequence[Situation]) -> FloatArray:
        return np.array([[getattr(each.signs, name) for name in self._names] for each in situations], dtype=np.float64)


def _counted(situations: Sequence[Situation], *, home: str) -> FloatArray:
    """Return what each situation counts, by its collection; together 1."""
    held = Counter(each.collection for each in situations)
    counts = np.array([
        (HOME_COUNTS if each.collection == home else 1.0) / held[each.collection] for each in situations
    ])
    shares: FloatArray = counts / counts.sum()
    return shares


def _lost(refused: BoolArray, counted: FloatArray, own: BoolArray) -> float:
    """Return the share of answerable questions that is refused: of all as they count, or of the first set's if more."""
    return max(float(counted @ refused), float(refused[own].mean()) if own.any() else 0.0)


def _quantile(values: FloatArray, share: float, counted: FloatArray) -> float:
    """Return the least value below and at which this share of what values count lies."""
    order = np.argsort(values)
    place = int(np.searchsorted(np.cumsum(counted[order]), share))
    return float(values[order[min(place, len(order) - 1)]])
