"""Answerability: what speaks for an answer raises it, and each sign says what it is called."""

from __future__ import annotations

from dataclasses import astuple, fields, replace

import pytest

from sourcier.services.gateway.answering.answerability import (
    COMPARABLE,
    COMPARABLE_MIN,
    FOREIGN,
    FOREIGN_UNRANKED,
    LEXICAL_LEAD_ALONE,
    UNRANKED,
    Judgement,
    Model,
    Signs,
    answerability,
    judgement_of,
    signs_of,
)
from sourcier.services.gateway.events import RankedPassage
from sourcier.services.index.search.question_terms import Term, question_words, weigh
from sourcier.services.index.search.search import SearchResult
from tests.unit.gateway.fix_gateway_domain import passage

TELEWORK = (
    "Deux jours de télétravail sont possibles par semaine à Nantes. La demande se fait par écrit avant le 15 mai."
)
MEALS = "Le repas avec un client est remboursé jusqu'à 19 euros par personne."
QUESTION = "Combien de jours de télétravail sont possibles à Nantes ?"
BACKGROUND = (0.2, 0.22, 0.18, 0.25, 0.21, 0.19, 0.15)
PASSAGES = 100
UNSCORED = dict.fromkeys(("late_interaction", "lead", "rise", "above_background", "standing"))
MIDDLING = Signs(**{field.name: 0.4 for field in fields(Signs)})


def terms_of(question: str) -> tuple[Term, ...]:
    """Return the question's words, each as rare as the others."""
    return weigh(question_words(question), passages=100, frequencies={})


def ranked(*texts: str, scores: tuple[float, ...] = (), similarity: float | None = 0.85) -> list[RankedPassage]:
    """Return passages as a search ranks them."""
    given = scores or tuple(0.6 - 0.1 * number for number in range(len(texts)))
    return [
        RankedPassage(SearchResult(passage=passage(number, text), score=0.03, similarity=similarity), score)
        for number, (text, score) in enumerate(zip(texts, given, strict=True), start=1)
    ]


def signs(question: str, *texts: str, given: int = 5) -> Signs:
    """Return the signs of a question over passages."""
    return signs_of(question, ranked(*texts), terms_of(question), BACKGROUND, given=given, passages=PASSAGES)


# What is shared tells the language, and so which signs count; by itself it speaks for nothing.
@pytest.mark.parametrize("name", [field.name for field in fields(Signs) if field.name != "shared"])
@pytest.mark.parametrize("ranker", [True, False])
def test_more_of_a_sign_never_makes_an_answer_less_likely(name: str, ranker: bool) -> None:
    start = MIDDLING if ranker else replace(MIDDLING, **UNSCORED)
    if getattr(start, name) is None:
        return
    likely = [answerability(replace(start, **{name: value})) for value in (0.25, 0.4, 0.7, 1.0)]
    assert likely == sorted(likely)
    assert all(0 < each < 1 for each in likely)


def test_an_answer_is_likely_where_everything_speaks_for_it_and_unlikely_where_nothing_does() -> None:
    assert answerability(signs(QUESTION, TELEWORK, MEALS)) > 0.5
    far = signs_of("Quelle est la recette de la tarte Tatin ?", ranked(MEALS, TELEWORK, scores=(0.2, 0.19),
                   similarity=0.76), terms_of("Quelle est la recette de la tarte Tatin ?"), BACKGROUND, given=5,
                   passages=PASSAGES)
    assert answerability(far) < 0.1


def test_signs_tell_what_they_are_called() -> None:
    found = signs(QUESTION, TELEWORK, MEALS)
    assert found.late_interaction == pytest.approx(0.6)
    assert found.lead == pytest.approx(0.1)
    assert found.similarity == pytest.approx(0.85)
    # « Combien » is a function word; « jours », « télétravail », « possibles » and « Nantes » are in one sentence.
    assert found.window == 1
    assert 0.5 < signs("Combien de jours de télétravail à Valparaiso ?", TELEWORK).window < 0.8
    assert (found.figures, found.names) == (1.0, 1.0)


def test_a_cross_encoders_scores_are_no_sign() -> None:
    found = [replace(entry, rerank_score=7.5, by_late_interaction=False) for entry in ranked(TELEWORK, MEALS)]
    told = signs_of(QUESTION, found, terms_of(QUESTION), BACKGROUND, given=5, passages=PASSAGES)
    assert told == replace(signs(QUESTION, TELEWORK, MEALS), **UNSCORED)


def test_only_the_best_passage_is_read_for_the_questions_words_and_only_given_ones_for_numbers_and_names() -> None:
    assert signs(QUESTION, MEALS, TELEWORK).window == 0
    assert signs(QUESTION, MEALS, TELEWORK, given=1).names == 0
    assert signs(QUESTION, MEALS, TELEWORK, given=2).names == 1


def test_the_lead_in_full_text_is_a_share_of_the_best_score() -> None:
    found = [replace(entry, found=replace(entry.found, lexical_score=score))
             for entry, score in zip(ranked(TELEWORK, MEALS, MEALS), (8.0, 4.0, None), strict=True)]
    assert signs_of(QUESTION, found, (), BACKGROUND, given=5, passages=PASSAGES).lexical_lead == pytest.approx(0.75)


def test_rare_words_weigh_more() -> None:
    words = question_words("télétravail Valparaiso")
    weighed = weigh(words, passages=1000, frequencies=dict.fromkeys(words[0], 400))
    assert weighed[1].weight > 5 * weighed[0].weight > 0
    found = signs_of(
        "télétravail Valparaiso", ranked(TELEWORK), weighed, BACKGROUND, given=5, passages=PASSAGES
    )
    assert found.window < 0.2


@pytest.mark.parametrize(("question", "figures", "names"), [
    ("La demande se fait-elle avant le 15 mai ?", 1.0, 1.0),
    ("La demande se fait-elle avant le 16 mai ?", 0.0, 1.0),
    ("Le télétravail est-il possible à Nantes ?", 1.0, 1.0),
    ("Le télétravail est-il possible à Brest ?", 1.0, 0.0),
])
def test_numbers_and_names_of_the_question_are_looked_for(question: str, figures: float, names: float) -> None:
    found = signs(question, TELEWORK, MEALS)
    assert (found.figures, found.names) == (figures, names)


def test_function_words_tell_whether_question_and_passages_are_of_one_language() -> None:
    same = signs("Que dit la charte de la cantine et des repas ?", TELEWORK, MEALS)
    other = signs("Wie viele Tage darf man von zu Hause aus arbeiten?", TELEWORK, MEALS)
    assert same.shared > 2 * other.shared


def test_a_neighbouring_language_is_told_by_its_function_words_though_it_shares_many() -> None:
    spanish = "¿Cuánto es el reembolso de una comida con un cliente en la cantina, de la que se paga en 15 días?"
    assert signs(spanish, TELEWORK, MEALS).shared == 0
    assert judgement_of(signs(spanish, TELEWORK, MEALS)) is FOREIGN
    # Where the language is not told, words decide.
    assert signs("Télétravail Nantes ?", TELEWORK).shared == 1


def test_a_score_says_more_where_few_passages_were_searched() -> None:
    def among(passages: int) -> Signs:
        return signs_of(QUESTION, ranked(MEALS), terms_of(QUESTION), BACKGROUND, given=5, passages=passages)

    assert [among(passages).smallness for passages in (0, 1, 10, 100, 1000, 1_000_000)] == [2, 2, 2, 1, 0, 0]
    likely = [COMPARABLE.topic.log_odds(among(passages)) for passages in (10, 30, 100, 300, 1000)]
    assert likely == sorted(set(likely), reverse=True)
    assert answerability(among(10)) >= answerability(among(1000))


def test_a_score_is_measured_over_the_next_ones_and_over_texts_about_anything() -> None:
    found = signs_of(
        QUESTION, ranked(TELEWORK, MEALS, MEALS, scores=(0.6, 0.5, 0.3)), terms_of(QUESTION), BACKGROUND, given=5,
        passages=PASSAGES,
    )
    assert found.rise == pytest.approx(0.2)
    assert found.above_background == pytest.approx(0.6 - 0.214)
    assert found.standing == pytest.approx(13.66, abs=0.01)
    like_anything = signs_of(QUESTION, ranked(TELEWORK), (), (0.5, 0.6, 0.62, 0.58), given=5, passages=PASSAGES)
    assert like_anything.above_background is not None
    assert like_anything.above_background < found.above_background / 5


def test_a_cosine_is_measured_over_the_far_candidates() -> None:
    texts = [MEALS] * 20
    near = ranked(*texts, scores=tuple(0.5 - 0.01 * place for place in range(20)))
    cosines = [0.9, *(0.85 for _ in range(9)), *(0.8 for _ in range(10))]
    found = [replace(entry, found=replace(entry.found, similarity=cosine))
             for entry, cosine in zip(near, cosines, strict=True)]
    assert signs_of(QUESTION, found, (), (), given=5, passages=PASSAGES).similarity_lead == pytest.approx(0.1)
    # As few as a small collection has: nothing far to measure over, which speaks neither for nor against.
    assert signs_of(QUESTION, found[:5], (), (), given=5, passages=PASSAGES).similarity_lead == pytest.approx(0.05)


def test_the_less_likely_of_topic_and_answer_decides() -> None:
    judgement = Judgement(topic=Model(0.0, {"similarity": 1.0}), answer=Model(-1.0, {"window": 2.0}))
    assert judgement.log_odds(replace(MIDDLING, similarity=0.8, window=0.5)) == pytest.approx(0.0)
    assert judgement.log_odds(replace(MIDDLING, similarity=0.1, window=1.0)) == pytest.approx(0.1)


def test_each_judgement_is_for_what_it_can_tell() -> None:
    assert judgement_of(MIDDLING) is COMPARABLE
    assert judgement_of(replace(MIDDLING, shared=COMPARABLE_MIN - 0.01)) is FOREIGN
    assert judgement_of(replace(MIDDLING, **UNSCORED)) is UNRANKED
    assert judgement_of(replace(MIDDLING, **UNSCORED, shared=0.1)) is FOREIGN_UNRANKED
    for judgement in (FOREIGN, FOREIGN_UNRANKED):
        assert not {*judgement.topic.weights, *judgement.answer.weights} & {"lexical_lead", "window", "names"}
    for judgement in (UNRANKED, FOREIGN_UNRANKED):
        assert not {*judgement.topic.weights, *judgement.answer.weights} & UNSCORED.keys()
    judgements = (COMPARABLE, FOREIGN, UNRANKED, FOREIGN_UNRANKED)
    models = [model for judgement in judgements for model in (judgement.topic, judgement.answer)]
    assert all(weight >= 0 for model in models for weight in model.weights.values())


def test_nothing_found_or_a_question_without_words_gives_signs_all_the_same() -> None:
    found = signs("?", TELEWORK)
    assert all(sign is None or 0 <= sign <= 1 for sign in astuple(replace(found, standing=None)))
    empty = signs_of("Et ?", [], (), (), given=5, passages=PASSAGES)
    assert 0 < answerability(empty) < 1


def test_the_one_passage_of_a_collection_is_judged_by_the_words_that_it_holds() -> None:
    """Each word that it holds is in all passages: that tells as much as anywhere else."""
    words = question_words("Combien de jours de télétravail ?")
    held = dict.fromkeys(frozenset().union(*words), 1)
    [telework, *_] = weigh(words, passages=1, frequencies=held)
    [absent, *_] = weigh(words, passages=1, frequencies={})
    assert telework.weight > absent.weight / 2


def test_a_passage_without_others_leads_them_no_less_than_a_middling_one_in_full_text() -> None:
    alone = [replace(entry, found=replace(entry.found, lexical_score=3.0)) for entry in ranked(TELEWORK)]
    found = signs_of(QUESTION, alone, terms_of(QUESTION), BACKGROUND, given=5, passages=1)
    assert found.lexical_lead == LEXICAL_LEAD_ALONE
    unfound = [replace(entry, found=replace(entry.found, lexical_score=0.0)) for entry in alone]
    assert signs_of(QUESTION, unfound, terms_of(QUESTION), BACKGROUND, given=5, passages=1).lexical_lead == 0.0
