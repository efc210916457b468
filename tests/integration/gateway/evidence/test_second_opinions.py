"""Judge and entailment model through the gateway, over real gRPC: what citations say, and what becomes of failures."""

from __future__ import annotations

from typing import Any

import pytest

from sourcier.gateway.v1 import answer_pb2
from sourcier.generate.v1 import generate_pb2
from sourcier.services.chassis.errors import FailedPrecondition, Unavailable
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.fix_gateway import Scenario, gateway

QUESTION = "Combien de jours de télétravail sont possibles par semaine ?"
ALTERED = "Par semaine, deux jours de télétravail sont possibles [1]."
"""Not as the passage has it, so that it is no quotation."""
TEXT = "Le télétravail est possible deux jours par semaine [1]."


def text_of(events: list[answer_pb2.AskEvent]) -> str:
    return "".join(event.token.text for event in events)


def citation_of(events: list[answer_pb2.AskEvent]) -> answer_pb2.Citation:
    (citation,) = [event.citation for event in events if event.HasField("citation")]
    return citation


def degraded(events: list[answer_pb2.AskEvent]) -> list[tuple[str, str]]:
    return [(event.degraded.stage, event.degraded.reason) for event in events if event.HasField("degraded")]


async def test_a_confirmed_sentence_reads_judged_and_its_verdict_was_asked_under_the_tenants_cache(
    handbook: Database,
) -> None:
    async with gateway(handbook, Scenario(yes=lambda asked: 0.75), judge="on") as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    assert text_of(events) == TEXT
    citation = citation_of(events)
    assert citation.support == answer_pb2.SUPPORT_JUDGED
    assert citation.score == pytest.approx(0.75)
    assert (citation.reason, degraded(events)) == ("", [])
    (scoring,), (generation,) = served.scenario.scorings, served.scenario.generations
    assert (list(scoring.choices), scoring.cache_salt) == (["Oui", "Non"], "acme")
    # What the engine has read for the answer is how the verdict's prompt begins.
    assert scoring.messages[0] == generation.messages[0]
    shared = common(scoring.messages[1].content, generation.messages[1].content)
    assert shared.endswith(">>>\n\n")
    assert "« Le télétravail est possible deux jours par semaine. »" in scoring.messages[1].content[len(shared) :]


def common(one: str, other: str) -> str:
    length = next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), len(one))
    return one[:length]


async def test_a_sentence_that_is_not_confirmed_is_shown_and_marked(handbook: Database) -> None:
    async with gateway(handbook, Scenario(yes=lambda asked: 0.01), judge="on") as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    assert text_of(events) == TEXT
    citation = citation_of(events)
    assert citation.support == answer_pb2.SUPPORT_NOT_CONFIRMED
    assert citation.score == pytest.approx(0.01, abs=1e-6)
    assert citation.reason == "Le modèle qui vérifie les phrases ne confirme pas que le passage cité dit cela."


@pytest.mark.parametrize(("setting", "asked", "support"), [
    ("off", True, answer_pb2.SUPPORT_JUDGED), ("on", False, answer_pb2.SUPPORT_SAME_WORDING),
    ("off", None, answer_pb2.SUPPORT_SAME_WORDING), ("auto", None, answer_pb2.SUPPORT_JUDGED),
])
async def test_the_requests_switch_goes_before_the_setting(
    handbook: Database, setting: str, asked: bool | None, support: answer_pb2.Support.ValueType
) -> None:
    async with gateway(handbook, Scenario(), judge=setting) as served:
        events, _ = await served.ask(QUESTION, judge=asked)
    assert citation_of(events).support == support


@pytest.mark.parametrize(("scenario", "said"), [
    (Scenario(score_error=Unavailable("the engine is gone")), "the engine is gone"),
    (Scenario(score_error=FailedPrecondition("the engine does not tell")), "the engine does not tell"),
    (Scenario(score_hangs=True), "the generate service did not answer in time"),
], ids=["fails", "cannot", "is late"])
async def test_a_judge_that_does_not_answer_never_stops_the_answer_and_is_told(
    handbook: Database, scenario: Scenario, said: str
) -> None:
    scenario.deltas = (
        "Le télétravail est possible deux jours par semaine, après accord du responsable [1]. ",
        "Il est possible deux jours par semaine [1].",
    )
    async with gateway(handbook, scenario, judge="on", judge_seconds_max=0.3) as served:
        events, error = await served.ask(QUESTION, passages=2)
    assert error is None
    assert text_of(events) == "".join(scenario.deltas)
    assert {event.citation.support for event in events if event.HasField("citation")} == {
        answer_pb2.SUPPORT_SAME_WORDING
    }
    ((stage, reason),) = degraded(events)
    assert stage == "judge"
    assert said in reason
    # Once: a judge that is gone would otherwise hold up every sentence for as long as it may take.
    assert len(scenario.scorings) == 1
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED


async def test_an_engine_without_probabilities_is_no_news_where_the_judge_is_a_matter_of_cost(
    handbook: Database,
) -> None:
    scenario = Scenario(score_error=FailedPrecondition("the engine does not tell"))
    async with gateway(handbook, scenario, judge="auto") as served:
        for _ in range(2):
            events, error = await served.ask(QUESTION)
            assert error is None
            assert degraded(events) == []
            assert citation_of(events).support == answer_pb2.SUPPORT_SAME_WORDING
    assert len(scenario.scorings) == 1


@pytest.mark.parametrize(("probability", "support"), [
    (0.8, answer_pb2.SUPPORT_ENTAILED), (0.2, answer_pb2.SUPPORT_NOT_CONFIRMED),
])
async def test_an_entailment_model_of_the_rerank_service_is_asked_by_itself(
    handbook: Database, probability: float, support: answer_pb2.Support.ValueType
) -> None:
    seen: list[tuple[str, str]] = []

    def entailed(premise: str, hypothesis: str) -> float:
        seen.append((premise, hypothesis))
        return probability

    async with gateway(handbook, Scenario(entailment_model="nli", entailed=entailed)) as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    citation = citation_of(events)
    assert (citation.support, citation.score) == (support, pytest.approx(probability))
    ((premise, hypothesis),) = seen
    assert premise.startswith("Télétravail\nLe télétravail est possible")
    assert hypothesis == "Le télétravail est possible deux jours par semaine."


def reader(says: float, denies: float, seen: list[tuple[str, str, str]] | None = None) -> Scenario:
    """Return a scenario with a reader that says the same of every window, and keeps what it was shown."""
    def relations(window: str, sentence: str, question: str) -> tuple[float, float]:
        if seen is not None:
            seen.append((window, sentence, question))
        return says, denies

    return Scenario(entailment_model="reader", relations=relations)


@pytest.mark.parametrize(("says", "denies", "support", "reason"), [
    (0.9, 0.05, answer_pb2.SUPPORT_READ, ""),
    (0.1, 0.1, answer_pb2.SUPPORT_NOT_TOLD,
     "Le modèle de lecture ne trouve pas cela dans les phrases les plus proches du passage cité."),
])
async def test_a_reader_is_shown_windows_and_the_question_and_its_word_is_in_the_citation(
    handbook: Database, says: float, denies: float, support: answer_pb2.Support.ValueType, reason: str
) -> None:
    seen: list[tuple[str, str, str]] = []
    scenario = reader(says, denies, seen)
    scenario.deltas = (ALTERED,)
    async with gateway(handbook, scenario) as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    citation = citation_of(events)
    assert (citation.support, citation.reason, citation.score) == (support, reason, pytest.approx(says))
    assert text_of(events) == ALTERED
    window, sentence, question = seen[0]
    assert "deux jours par semaine" in window
    assert not window.startswith("Télétravail\n")
    assert (sentence, question) == ("Par semaine, deux jours de télétravail sont possibles.", QUESTION)


async def test_what_a_reader_finds_contradicted_is_withheld_and_the_passage_quoted(handbook: Database) -> None:
    scenario = reader(0.02, 0.95)
    scenario.deltas = (ALTERED,)
    async with gateway(handbook, scenario) as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    (withheld,) = [event.withheld for event in events if event.HasField("withheld")]
    assert withheld.closest.support == answer_pb2.SUPPORT_CONTRADICTED
    assert withheld.reason.startswith("Selon le modèle de lecture")
    assert withheld.reason.endswith("dit autre chose.")
    assert "Par semaine, deux jours" not in text_of(events)
    assert text_of(events).startswith("« ")
    assert "deux jours par semaine" in text_of(events)
    assert text_of(events).endswith("» [1]")


@pytest.mark.parametrize(("scenario", "shown"), [
    (reader(0.99, 0.0), False), (Scenario(entailment_model="nli", entailed=lambda premise, hypothesis: 0.99), True),
])
async def test_a_reader_does_not_make_up_for_a_clause_that_decides_nothing(
    handbook: Database, scenario: Scenario, shown: bool
) -> None:
    scenario.deltas = ("Oui, le télétravail est possible à l'étranger [1].",)
    async with gateway(handbook, scenario) as served:
        events, error = await served.ask("Le télétravail est-il possible à l'étranger ?")
    assert error is None
    supports = [event.withheld.closest.support for event in events if event.HasField("withheld")]
    assert supports == ([] if shown else [answer_pb2.SUPPORT_UNDECIDED])


async def test_what_a_reader_finds_contradicted_is_shown_and_marked_where_that_was_asked_for(
    handbook: Database,
) -> None:
    scenario = reader(0.02, 0.95)
    scenario.deltas = (ALTERED,)
    async with gateway(handbook, scenario, strictness="mark") as served:
        events, _ = await served.ask(QUESTION)
    assert text_of(events) == ALTERED
    citation = citation_of(events)
    assert citation.support == answer_pb2.SUPPORT_CONTRADICTED
    assert citation.reason.startswith("Selon le modèle de lecture")


@pytest.mark.parametrize(("settings", "scenario"), [
    ({"entailment": "on"}, Scenario()),
    ({"entailment": "auto"}, Scenario(entailment_model="nli", entail_error=Unavailable("the model is gone"))),
])
async def test_an_entailment_model_that_is_missed_is_told(
    handbook: Database, settings: dict[str, Any], scenario: Scenario
) -> None:
    async with gateway(handbook, scenario, **settings) as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    assert text_of(events) == TEXT
    assert citation_of(events).support == answer_pb2.SUPPORT_SAME_WORDING
    assert [stage for stage, _ in degraded(events)] == ["entailment"]


@pytest.mark.parametrize(("settings", "asked"), [({"judge_questions": True}, None), ({}, True)])
async def test_a_question_that_the_passages_do_not_answer_is_refused_before_it_is_answered(
    handbook: Database, settings: dict[str, Any], asked: bool | None
) -> None:
    async with gateway(handbook, Scenario(yes=lambda asked: 0.001), **settings) as served:
        events, error = await served.ask(QUESTION, judge_question=asked)
    assert error is None
    (refused,) = [event.refused for event in events if event.HasField("refused")]
    assert refused.reason == "JUDGED_UNANSWERABLE"
    assert refused.text == "Je ne trouve pas cette information dans le corpus."
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_REFUSED
    assert "judge" in {entry.stage for entry in events[-1].finished.durations}
    assert served.scenario.generations == []
    (scoring,) = served.scenario.scorings
    assert scoring.messages[-1].role == generate_pb2.ROLE_USER
    assert "Ces sources contiennent-elles la réponse" in scoring.messages[-1].content


@pytest.mark.parametrize("scenario", [Scenario(), Scenario(score_error=Unavailable("the engine is gone"))])
async def test_a_question_that_may_be_answered_or_was_not_judged_is_answered(
    handbook: Database, scenario: Scenario
) -> None:
    async with gateway(handbook, scenario, judge_questions=True) as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    assert text_of(events) == TEXT
    assert [stage for stage, _ in degraded(events)] == (["judge"] if scenario.score_error else [])


@pytest.mark.parametrize(("likely", "yes", "reasons"), [
    (0.2, None, ["BELOW_THRESHOLD"]), (0.2, 0.99, []), (0.2, 0.4, ["JUDGED_UNANSWERABLE"]),
    (0.04, 0.99, ["BELOW_THRESHOLD"]), (0.9, 0.3, []), (0.3, 0.3, ["JUDGED_UNANSWERABLE"]),
])
async def test_the_judge_has_a_word_in_what_the_search_alone_would_refuse(
    handbook: Database, monkeypatch: pytest.MonkeyPatch, likely: float, yes: float | None, reasons: list[str]
) -> None:
    monkeypatch.setattr("sourcier.services.gateway.answering.assessing.answerability", lambda signs: likely)
    scenario = Scenario(yes=lambda asked: yes or 0.0)
    async with gateway(handbook, scenario, answerability_threshold=0.25, judge_questions_threshold=0.5) as served:
        events, error = await served.ask(QUESTION, judge_question=yes is not None)
    assert error is None
    assert [event.refused.reason for event in events if event.HasField("refused")] == reasons
    assert text_of(events) == ("" if reasons else TEXT)


async def test_where_the_judge_fails_the_search_refuses_and_both_are_told(
    handbook: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sourcier.services.gateway.answering.assessing.answerability", lambda signs: 0.2)
    scenario = Scenario(score_error=Unavailable("the engine is gone"))
    async with gateway(handbook, scenario, answerability_threshold=0.25) as served:
        events, error = await served.ask(QUESTION, judge_question=True)
    assert error is None
    assert [event.refused.reason for event in events if event.HasField("refused")] == ["BELOW_THRESHOLD"]
    assert [stage for stage, _ in degraded(events)] == ["judge"]
    assert served.scenario.generations == []
