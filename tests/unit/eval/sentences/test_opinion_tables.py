"""Second opinions compared: what several signals tell together, and thresholds that the other half has set."""

from __future__ import annotations

import numpy as np
import pytest

from eval.refusals.answerability import Look, answerability_table
from eval.refusals.logistic import fit
from eval.sentences.opinions import Asked, logit
from eval.sentences.sentences import Checked
from eval.sentences.tables import READINGS, compared, confirming_threshold, is_told, opinion_tables
from eval.sets import handwritten, sentence_sets
from eval.sets.calibration import is_reported

GATEWAY = "as the gateway does it"
ARTICLES = [f"article {number}" for number in range(60)]


def asked(
    kind: str, article: str, *, topic: float, judged: float | None, finding: str = "SUPPORTED", seconds: float = 0.1
) -> Asked:
    checked = Checked(kind, article, "x", "p", topic, False, finding)
    return Asked(checked, ("p",), 1, judged=judged, seconds=seconds, prompt_tokens=100, cached_tokens=64)


def run() -> list[Asked]:
    """Return a run in which the wording sees strangers, and the judge alone sees inventions, with some noise."""
    random = np.random.default_rng(3)
    rows = []
    for article in ARTICLES:
        for kind, topic, yes in (
            (sentence_sets.REWORDED, 0.7, 0.8), (handwritten.HAND_WRITTEN, 0.7, 0.8),
            (handwritten.INVENTED, 0.7, 0.2), (sentence_sets.OTHER_ARTICLE, 0.2, 0.75),
        ):
            rows.append(asked(kind, article, topic=topic + random.normal(0, 0.05),
                              finding="OFF_TOPIC" if kind == sentence_sets.OTHER_ARTICLE else "SUPPORTED",
                              judged=float(np.clip(yes + random.normal(0, 0.05), 0.01, 0.99))))
    return rows


def test_the_gateway_sees_what_each_sees_alone() -> None:
    methods = {method.name: method for method in compared(run())}
    assert list(methods) == ["wording", "judge", GATEWAY]

    def caught(name: str, kind: str) -> float:
        method = methods[name]
        own = [told for told, each in zip(method.caught, run(), strict=True)
               if each.checked.kind == kind and each.is_reported]
        return sum(own) / len(own)

    assert caught("wording", sentence_sets.OTHER_ARTICLE) == 1.0
    assert caught("wording", handwritten.INVENTED) == 0.0
    assert caught("judge", handwritten.INVENTED) == 1.0
    assert caught("judge", sentence_sets.OTHER_ARTICLE) < 0.5
    assert caught(GATEWAY, sentence_sets.OTHER_ARTICLE) == 1.0
    assert caught(GATEWAY, handwritten.INVENTED) > 0.3
    assert caught(GATEWAY, handwritten.HAND_WRITTEN) < 0.1


def test_thresholds_know_nothing_of_the_half_that_reports() -> None:
    rows = run()
    spoiled = [
        asked(each.checked.kind, each.checked.article, topic=0.0, judged=0.0001) if each.is_reported else each
        for each in rows
    ]
    for before, after in zip(compared(rows), compared(spoiled), strict=True):
        setting = [place for place, each in enumerate(rows) if not each.is_reported]
        assert [before.caught[place] for place in setting] == [after.caught[place] for place in setting]
    judged = READINGS["judge"]
    assert confirming_threshold(rows, judged) == confirming_threshold(spoiled, judged)


def test_the_confirming_threshold_keeps_95_of_100_of_what_the_wording_supports() -> None:
    article = next(each for each in ARTICLES if not is_reported(each))
    rows = [asked(sentence_sets.REWORDED, article, topic=0.7, judged=number / 100) for number in range(1, 101)]
    # What the wording withholds anyway is none of the judge's business.
    rows += [asked(sentence_sets.REWORDED, article, topic=0.1, judged=0.001, finding="OFF_TOPIC") for _ in range(50)]
    assert confirming_threshold(rows, READINGS["judge"]) == pytest.approx(0.06)


def test_the_table_names_costs_and_every_kind() -> None:
    text = opinion_tables(run())
    assert "| *supported:* reworded |" in text
    assert "| written by hand, invented |" in text
    assert "0.10 s at the median" in text
    assert "64 of its 100 tokens come from the prefix cache" in text
    wording_only = [asked(each.checked.kind, each.checked.article, topic=each.checked.topic, judged=None)
                    for each in run()]
    assert [method.name for method in compared(wording_only)] == ["wording"]


@pytest.mark.parametrize(("finding", "judged", "told"), [
    ("SUPPORTED", 0.999, False), ("SUPPORTED", None, False), ("NAME_ABSENT", 0.999, True), ("OFF_TOPIC", None, True),
    ("SUPPORTED", 0.0, True),
])
def test_what_the_gateway_would_tell(finding: str, judged: float | None, told: bool) -> None:
    assert is_told(asked("x", "y", topic=0.7, judged=judged, finding=finding)) is told


def test_log_odds_are_bounded() -> None:
    assert logit(0.5) == 0.0
    assert logit(1.0) == pytest.approx(-logit(0.0), abs=0.01)
    assert abs(logit(1.0)) < 31


def test_a_regression_finds_the_line_that_made_its_labels() -> None:
    random = np.random.default_rng(1)
    features = random.normal(size=(4000, 3))
    odds = 2.0 * features[:, 0] - 1.0 * features[:, 1] + 0.5
    labels = random.random(4000) < 1 / (1 + np.exp(-odds))
    model = fit(features.tolist(), labels.tolist(), [1.0] * 4000)
    slopes = model.coefficients[:3] / model.scale
    assert slopes == pytest.approx([2.0, -1.0, 0.0], abs=0.25)
    assert np.corrcoef(model.scores(features.tolist()), odds)[0, 1] > 0.99


def test_classes_that_do_not_overlap_have_finite_scores() -> None:
    model = fit([[0.0], [0.1], [0.9], [1.0]], [False, False, True, True], [1.0] * 4)
    scores = model.scores([[0.0], [1.0]])
    assert np.isfinite(scores).all()
    assert scores[0] < 0 < scores[1]


def test_two_weak_signals_of_an_answer_are_stronger_together() -> None:
    random = np.random.default_rng(5)
    looks = [
        Look(
            question=f"q{number}", article=article, present=present,
            late_interaction=float(0.5 + 0.1 * present + random.normal(0, 0.1)),
            likely=float(np.clip(0.4 + 0.2 * present + random.normal(0, 0.2), 0.01, 0.99)),
            judged=float(np.clip(0.4 + 0.2 * present + random.normal(0, 0.2), 0.01, 0.99)),
        )
        for number, article in enumerate(ARTICLES * 6) for present in (True, False)
    ]
    rows = [[cell.strip() for cell in row.split("|")] for row in answerability_table(looks).splitlines()[2:]]
    for column in (2, 3):
        areas = [float(row[column].split()[0]) for row in rows]
        assert min(areas[3:]) > max(areas[:3])
        assert all(0.6 < area < 0.95 for area in areas)
    # What a threshold costs is near to what it was set to cost, on articles that it has not seen.
    assert all(float(row[5].rstrip("%")) < 10 for row in rows)
    refused = [float(row[4].rstrip("%")) for row in rows]
    assert min(refused[3:]) > max(refused[:3])
