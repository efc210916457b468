"""Which questions come close to those of an FAQ, and which are put to one."""

from __future__ import annotations

import numpy as np

from eval.answers import direct
from eval.answers.direct import Looked
from eval.answers.faq_closeness import closeness, sample, table
from eval.retrieval.encoding import joined_rows
from eval.sets.datasets import Question
from eval.sets.near_misses import near_misses


def vector(*angles: float) -> np.ndarray:  # type: ignore[type-arg]
    return np.array([[np.cos(angle), np.sin(angle)] for angle in angles], dtype=np.float32)


def test_each_question_is_compared_with_the_closest_of_each_kind() -> None:
    found = closeness(
        vector(0.0, 0.1, 0.3, 0.6), passages=["a", "a", "b", "c"], articles=["x", "x", "x", "y"],
        near_miss=np.array([0.97], dtype=np.float32),
    )
    np.testing.assert_allclose(found.another_article, np.cos([0.6, 0.5, 0.3, 0.3]), atol=1e-6)
    np.testing.assert_allclose(found.same_passage, np.cos([0.1, 0.1]), atol=1e-6)
    shown = table(found, questions=4)
    assert "| 0.95 | 50.0% | 100.0% | 100.0% |" in shown
    assert "of 3 others" in shown


def test_a_set_in_which_nothing_looks_alike_is_measured_all_the_same() -> None:
    """A real FAQ: no question has a number, one alone a name, and each passage answers one."""
    texts = ["Comment poser un congé ?", "Où se trouve le parking de Brest ?", "Quand la paie est-elle versée ?"]
    assert near_misses(texts) == []
    assert [kind for kind, _, _ in direct.cases([Question(text, text, {"a": 1}) for text in texts])] == [
        direct.AGAIN] * 12
    vectors, *rows = joined_rows([], dimension=16)
    assert vectors.shape == (0, 16)
    assert [(each.rows.shape, each.starts.shape) for each in rows] == [((0, 2), (1,)), ((0, 16), (1,)), ((0,), (1,))]
    found = closeness(
        vector(0.0, 0.5), passages=["a", "b"], articles=["x", "y"], near_miss=np.array([], dtype=np.float32)
    )
    assert "| 0.95 | 0.0% | none | none |" in table(found, questions=2)


def test_a_sample_is_the_same_each_time_and_asks_nothing_twice() -> None:
    questions = [Question(str(number), f"Question {number % 5} ?", {"a": 1}) for number in range(20)]
    chosen = sample(questions, 10)
    assert chosen == sample(questions, 10)
    assert len({question.text for question in chosen}) == len(chosen) == 5


def test_the_questions_put_to_an_faq_and_what_is_wanted_of_them() -> None:
    known = [Question("1", "Combien de jours en 2024 à Lyon ?", {"a": 1}, ("Deux.",)),
             Question("2", "Qui dirige le site de Brest ?", {"b": 1}, ("Ana.",))]
    wanted = direct.cases(known)
    kinds = [kind for kind, _, _ in wanted]
    assert (kinds.count(direct.AGAIN), direct.NEAR_MISS in kinds) == (8, True)
    assert all("2024" not in asked or "Lyon" not in asked for kind, _, asked in wanted if kind == direct.NEAR_MISS)

    def looked(kind: str, *, given: bool, right: bool) -> Looked:
        return Looked(kind=kind, known="a", asked="b", direct=given, right=right, milliseconds=12.0)

    assert looked(direct.AGAIN, given=True, right=True).as_wanted
    assert not looked(direct.AGAIN, given=True, right=False).as_wanted
    assert looked(direct.NEAR_MISS, given=False, right=False).as_wanted
    assert not looked(direct.NEAR_MISS, given=True, right=True).as_wanted
    shown = direct.table([
        looked(direct.AGAIN, given=True, right=True), looked(direct.NEAR_MISS, given=False, right=False),
    ])
    assert "| asked again | 1 | 1 | 1 | 12 | 12 |" in shown
    assert "| another number or name | 1 | 0 | 0 |  |  |" in shown
