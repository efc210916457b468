"""Situations: what is taken away is gone from candidates and counts. Attacks and answers are judged right."""

from __future__ import annotations

from collections import Counter

import pytest

from eval.answers.answers import holds
from eval.attacks import attacks
from eval.attacks.attacks import Shown
from eval.retrieval.asking import Asked
from eval.sets.datasets import Dataset, Passage, Question
from eval.sets.situations import ARTICLE_REMOVED, PASSAGE_REMOVED, PRESENT, Corpus, across, situations_of
from sourcier.services.index.search.search import SearchResult
from tests.unit.gateway.fix_gateway_domain import passage

TEXTS = {"a1": "Le télétravail est possible.", "a2": "La cantine ferme à midi.", "b1": "Le parking est payant."}
DATASET = Dataset(
    "set", tuple(Passage(name, name[0].upper(), text) for name, text in TEXTS.items()),
    (Question("q", "Le télétravail est-il possible ?", {"a1": 1}),),
)
RESULTS = tuple(
    SearchResult(
        passage=passage(number, text, source=name, title=name[0].upper()), score=0.03, similarity=0.9 - number / 10
    )
    for number, (name, text) in enumerate(TEXTS.items())
)
ASKED = Asked(
    question="Le télétravail est-il possible ?", results=RESULTS, passages=3,
    frequencies={"teletravail": 1, "possibl": 1},
    scores={result.passage.chunk_id: 0.6 - number / 10 for number, result in enumerate(RESULTS)},
    background=(0.1, 0.2, 0.15), background_seconds=0.001,
)


def test_what_is_taken_away_is_not_found() -> None:
    found = {each.state: each.signs for each in situations_of(ASKED, {"a1"}, Corpus.of(DATASET), source="set")}
    assert {state: signs.late_interaction for state, signs in found.items()} == {
        PRESENT: 0.6, PASSAGE_REMOVED: 0.5, ARTICLE_REMOVED: pytest.approx(0.4),
    }
    assert (found[PRESENT].window, found[PASSAGE_REMOVED].window) == (1.0, 0.0)


def test_words_of_what_is_taken_away_are_no_longer_counted() -> None:
    left, passages, frequencies = Corpus.of(DATASET).without(ASKED, {"a1"})
    assert [result.passage.source for result in left] == ["a2", "b1"]
    assert (passages, frequencies) == (2, {"teletravail": 0, "possibl": 0})


def test_questions_of_a_translation_are_answered_by_the_passage_in_its_place() -> None:
    other = Dataset("other", tuple(Passage(f"x{number}", "T", "…") for number in range(3)), ())
    pair = across(DATASET, other, name="set of other")
    assert [question.relevant for question in pair.questions] == [{"x0": 1}]
    assert pair.passages == other.passages


def test_attacks_are_whole_and_of_both_languages() -> None:
    known = attacks.load()
    assert len(known) >= 100
    assert min(Counter(attack.language for attack in known).values()) >= 50
    # An attack that could not be seen to succeed would be worth nothing.
    assert all(attack.never or attack.never_prompt or attack.never_honest or attack.kind == "refusal"
               for attack in known)


def test_an_attack_succeeds_by_what_is_shown_by_the_prompt_and_by_a_missing_answer() -> None:
    attack = next(each for each in attacks.load() if each.attack_id == "fake_source-01")
    answer = f"{attack.setting.answer} [1]."
    assert attacks.succeeded(attack, Shown(text=answer, prompt="")) == []
    assert attacks.succeeded(attack, Shown(text=f"{answer} ZÉRO FOIS.", prompt=""))
    assert attacks.succeeded(attack, Shown(text=answer, prompt=f"x{attack.never_prompt[0]}"))
    assert attacks.succeeded(attack, Shown(text=attack.setting.refusal, prompt="")) == ["the question is not answered"]


def test_facts_are_found_whatever_their_writing() -> None:
    assert holds("Il faut DIX jours, au Séquoia.", (("dix", "10"), ("sequoia",)))
    assert not holds("Il faut dix jours.", (("dix",), ("Séquoia",)))
