"""Sentence sets: alterations do what they say, and every sentence belongs to one half."""

from __future__ import annotations

from random import Random

import pytest

from eval.sentences.sentences import Checked, best_threshold, marked, reported, table, withheld
from eval.sets import alterations, handwritten, sentence_sets
from eval.sets.calibration import is_reported
from eval.sets.datasets import Dataset, Passage, Question

PASSAGES = tuple(
    Passage(f"p{number}", f"Article {number // 2}", text) for number, text in enumerate((
        "En 1910, la ville de Roubaix était importante, mais elle comptait 12 usines près de Lille.",
        "Le musée de Tourcoing n'ouvre jamais le lundi, car il est fermé pour travaux depuis 2004.",
        "Depuis 1950, le fleuve Niger est souvent suivi par les savants de Bamako et de Niamey.",
        "Plusieurs enfants de Dakar utilisent aussi un grand livre, ainsi que des cartes de 1890.",
    ))
)
QUESTIONS = tuple(
    Question(f"q{number}", f"Quelle est la question {number} ?", {f"p{number}": 1}, (answer,))
    for number, answer in enumerate(("12 usines", "le lundi", "les savants", "Plusieurs enfants"))
)
DATASET = Dataset("small", PASSAGES, QUESTIONS)


def test_each_kind_is_made_and_is_the_same_in_every_run() -> None:
    made = list(sentence_sets.sentences(DATASET))
    assert made == list(sentence_sets.sentences(DATASET))
    kinds = {sentence.kind for sentence in made}
    assert {sentence_sets.VERBATIM, sentence_sets.REWORDED, sentence_sets.NUMBER_ABSENT, sentence_sets.SAME_ARTICLE,
            sentence_sets.NEGATION_ADDED, sentence_sets.NAME_ABSENT} <= kinds
    articles = {passage.passage_id: passage.title for passage in PASSAGES}
    for sentence in made:
        if sentence.kind == sentence_sets.OTHER_ARTICLE:
            assert articles[sentence.passage_id] != sentence.article
            assert is_reported(articles[sentence.passage_id]) is is_reported(sentence.article)
        else:
            assert articles[sentence.passage_id] == sentence.article


@pytest.mark.parametrize(("alter", "sentence", "expected"), [
    (alterations.negated, "La ville est grande.", "La ville n'est pas grande."),
    (alterations.negated, "La ville n'est pas grande.", ""),
    (alterations.affirmed, "La ville n'est pas grande.", "La ville est grande."),
    (alterations.affirmed, "La ville est grande.", ""),
    (alterations.antonymised, "Il habite au nord.", "Il habite au sud."),
    (alterations.antonymised, "Il habite là.", ""),
])
def test_an_alteration_turns_a_sentence_or_gives_none(alter: object, sentence: str, expected: str) -> None:
    assert alter(sentence) == expected  # type: ignore[operator]


def test_an_absent_number_or_name_does_not_stand_in_the_passage() -> None:
    for seed in range(20):
        changed = alterations.absent_number("Il y a 12 usines.", PASSAGES[0].text, Random(seed))
        assert not set(changed.split()) & {"12", "1910"}
        assert alterations.absent_name("Il va à Lille.", PASSAGES[0].text, ["Roubaix", "Dakar"], Random(seed)) == (
            "Il va à Dakar."
        )
    assert alterations.absent_number("Il y a des usines.", PASSAGES[0].text, Random(0)) == ""


def test_a_sentence_that_hardly_changes_is_not_called_reworded() -> None:
    assert alterations.reword("Il dort.", Random(0)) == ""


def test_the_hand_written_sentences_name_passages_that_exist_and_are_enough() -> None:
    made = list(handwritten.handwritten(handwritten.handbook_passages()))
    supported = [sentence for sentence in made if sentence.kind == handwritten.HAND_WRITTEN]
    assert len(supported) >= 100
    assert len({sentence.text for sentence in supported}) == len(supported)
    assert min(sum(is_reported(each.article) is half for each in supported) for half in (True, False)) >= 40


def checked(kind: str, finding: str, *, score: float = 0.5, article: str = "b") -> Checked:
    return Checked(kind, article, "x", "p", score, False, finding)


def test_figures_are_of_the_half_that_set_no_threshold() -> None:
    halves = {is_reported(article): article for article in "abcdefgh"}
    rows = [
        checked(kind, finding, score=score, article=halves[half])
        for kind in (sentence_sets.REWORDED, handwritten.HAND_WRITTEN) for half in (False, True)
        for finding, score in (("SUPPORTED", 0.7), ("NAME_ABSENT", 0.5), ("SUPPORTED", 0.6), ("OFF_TOPIC", 0.2))
    ]
    rows += [checked(sentence_sets.NUMBER_ABSENT, "FIGURE_ABSENT", article=halves[True])]
    mine = reported(rows)[sentence_sets.REWORDED]
    assert (len(mine), withheld(mine), marked(mine)) == (4, 0.25, 0.5)
    assert best_threshold(rows) == pytest.approx(0.2)
    row = "| number absent from the passage | 1 | 0.0% | 100.0% | 100.0% | 0.800 | 1.000 | withheld ≥ 95% |"
    assert row in table(rows)
    # A set so small that none of its sentences could be reworded.
    rows = [each for each in rows if each.kind != sentence_sets.REWORDED]
    assert best_threshold(rows) == pytest.approx(0.2)
    assert row in table(rows)
