"""Sentences of a test set, cut around the answers they hold."""

from __future__ import annotations

from eval.sets.datasets import Dataset, Passage, Question
from eval.sets.sentence_sets import verbatim


def test_sentences_are_cut_around_the_answer_and_not_at_its_point() -> None:
    text = "Elle naît en 1900. Le prix est de 14.5 euros par jour ! Puis rien."
    question = Question("q", "Quel est le prix ?", {"p": 1}, ("14.5 euros",))
    dataset = Dataset("set", (Passage("p", "T", text),), (question,))
    assert verbatim(dataset) == {"q": "Le prix est de 14.5 euros par jour !"}
