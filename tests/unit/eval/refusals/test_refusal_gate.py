"""The gate on refusals: the weights and the threshold of now over signs that were kept, beside the recorded figures."""

from __future__ import annotations

import pytest

from eval import gates
from eval.refusals import sample as refusal_sample
from sourcier.services.gateway.answering import answerability
from sourcier.services.gateway.answering.answerability import Judgement, Model


def test_refusals_do_not_fall_by_more_than_their_noise() -> None:
    compared = gates.compare(refusal_sample.sample_figures(), gates.read(gates.BASELINE))
    assert len(compared) == 6
    assert not [each.name for each in compared if each.fell], gates.table(compared)


def test_a_model_that_forgets_a_sign_fails_the_gate(monkeypatch: pytest.MonkeyPatch) -> None:
    known = answerability.COMPARABLE
    forgetful = Model(known.answer.intercept, {**known.answer.weights, "window": 0.0, "names": 0.0})
    monkeypatch.setattr(answerability, "COMPARABLE", Judgement(known.topic, forgetful))
    compared = gates.compare(refusal_sample.sample_figures(), gates.read(gates.BASELINE))
    assert any(each.fell for each in compared)
