"""Fitting refusals: what is printed is the code of judgements that lose what they should."""

from __future__ import annotations

import re
from dataclasses import fields

import numpy as np
import pytest

from eval.refusals.tables import default_threshold
from eval.refusals.weights import LOST, fitted
from eval.sets.calibration import is_reported
from eval.sets.situations import ARTICLE_REMOVED, OFF_TOPIC, PASSAGE_REMOVED, PRESENT, Situation
from sourcier.services.gateway.answering.answerability import Judgement, Model, Signs, answerability

LEVELS = {PRESENT: 0.6, PASSAGE_REMOVED: 0.54, ARTICLE_REMOVED: 0.48, OFF_TOPIC: 0.4}
COUNT = 400


@pytest.fixture(scope="module")
def situations() -> list[Situation]:
    """Return questions of one language and of two, whose signs are higher the better they are answered."""
    generator = np.random.default_rng(5)
    found = []
    for shared, source in ((0.8, "set"), (0.1, "set of another")):
        for state, level in LEVELS.items():
            for number in range(COUNT):
                values = np.clip(generator.normal(level, 0.12, len(fields(Signs))), 0, 1)
                signs = dict(zip(Signs.__dataclass_fields__, map(float, values), strict=True)) | {"shared": shared}
                found.append(Situation(
                    state=state, source="far" if state == OFF_TOPIC else source, article=f"{source} {number}",
                    question="?", signs=Signs(**signs),
                ))
    return found


@pytest.fixture(scope="module")
def judgements(situations: list[Situation]) -> dict[str, Judgement]:
    """Return what is printed, read as the gateway reads it."""
    code = re.sub(r"  # of .*", "", fitted(situations, name="set"))
    known: dict[str, Judgement] = {}
    exec(code, {"Judgement": Judgement, "Model": Model}, known)
    return known


def test_every_kind_of_question_gets_a_judgement_without_negative_weights(judgements: dict[str, Judgement]) -> None:
    assert set(judgements) == {"COMPARABLE", "FOREIGN", "UNRANKED", "FOREIGN_UNRANKED"}
    for judgement in judgements.values():
        assert judgement.topic.weights
        assert all(weight > 0 for model in (judgement.topic, judgement.answer) for weight in model.weights.values())


@pytest.mark.parametrize(("kind", "of"), [("COMPARABLE", "set"), ("FOREIGN", "set of another")])
def test_both_models_together_lose_what_one_threshold_may(
    situations: list[Situation], judgements: dict[str, Judgement], kind: str, of: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"sourcier.services.gateway.answering.answerability.{kind}", judgements[kind])

    def refused(state: str, *, reported: bool) -> float:
        chosen = [each for each in situations
                  if each.state == state and each.article.startswith(f"{of} ") and is_reported(each.article) is reported
                  and (of == "set") is (each.signs.shared > 0.5)]
        return float(np.mean([answerability(each.signs) < default_threshold() for each in chosen]))

    assert 0.6 * LOST <= refused(PRESENT, reported=False) <= LOST + 0.01
    assert refused(PRESENT, reported=True) < 0.12
    assert refused(OFF_TOPIC, reported=True) > refused(PASSAGE_REMOVED, reported=True) > 0.1
