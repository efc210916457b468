"""Mode tools over real gRPC and PostgreSQL: the model searches first, in a strict order, within bounds, in sight."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import grpc
import pytest

from sourcier.gateway.v1 import answer_pb2, curation_pb2
from sourcier.generate.v1 import generate_pb2 as pb
from sourcier.services.chassis.errors import FailedPrecondition, ResourceExhausted
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.telemetry import degradations_total
from tests.integration.gateway.answering.test_answer_service import check_stream, kinds
from tests.integration.gateway.conftest import EXPENSES, TELEWORK
from tests.integration.gateway.fix_gateway import TENANT, Gateway, Scenario, gateway
from tests.integration.index.writer import Writer

QUESTION = "Combien de jours de télétravail sont possibles par semaine ?"
OFF_TOPIC = "Quelle heure était-il hier matin à Valparaiso ?"
SAID = "Le télétravail est possible deux jours par semaine [1]."
TOOLS = answer_pb2.ANSWER_MODE_TOOLS
Turn = tuple[str | pb.ToolCall, ...]


def search(query: str, identity: str = "call00001", **arguments: Any) -> pb.ToolCall:
    return pb.ToolCall(id=identity, name="search_knowledge_base", arguments=json.dumps({"query": query} | arguments))


def plays(*turns: Turn) -> Callable[[pb.GenerateRequest], Turn]:
    """Return a model that says one turn after the other, whatever it is asked."""
    left = list(turns)
    return lambda request: left.pop(0)


async def asked(
    handbook: Database, *turns: Turn, question: str = QUESTION, fields: dict[str, Any] | None = None, **settings: Any
) -> tuple[list[answer_pb2.AskEvent], Any, Gateway]:
    async with gateway(handbook, Scenario(script=plays(*turns)), **settings) as served:
        events, error = await served.ask(question, **({"mode": TOOLS} | (fields or {})))
    check_stream(events)
    return events, error, served


def steps(events: list[answer_pb2.AskEvent]) -> list[str]:
    return [kind for kind in kinds(events) if kind not in ("token", "citation")]


def text(events: list[answer_pb2.AskEvent]) -> str:
    return "".join(event.token.text for event in events)


def degraded(events: list[answer_pb2.AskEvent]) -> list[str]:
    return [event.degraded.reason for event in events if event.HasField("degraded")]


async def test_the_model_searches_and_then_answers_with_checked_citations(handbook: Database) -> None:
    events, error, _ = await asked(handbook, (search("jours de télétravail", limit=2),), (SAID,))
    assert error is None
    assert steps(events) == ["started", "searching", "retrieved", "reranked", "finished"]
    searching = next(event.searching for event in events if event.HasField("searching"))
    assert searching.query == "jours de télétravail"
    assert searching.message == "Recherche de « jours de télétravail » dans la base de connaissances…"
    assert text(events) == SAID
    (citation,) = [event.citation for event in events if event.HasField("citation")]
    assert (citation.source, citation.support) == ("telework.md", answer_pb2.SUPPORT_SAME_WORDING)
    finished = events[-1].finished
    assert (finished.outcome, finished.model) == (answer_pb2.ANSWER_OUTCOME_ANSWERED, "fake-model")
    assert finished.usage.prompt_tokens == 100, "both generations are counted"
    assert {"tools", "embed", "search", "rerank", "generate", "first_token", "total"} == {
        each.stage for each in finished.durations}


async def test_the_order_of_messages_is_strict_and_no_history_is_passed(handbook: Database) -> None:
    history = [answer_pb2.HistoryMessage(role=answer_pb2.ROLE_USER, content="Parlons de secrets."),
               answer_pb2.HistoryMessage(role=answer_pb2.ROLE_ASSISTANT, content="D'accord.")]
    _, error, served = await asked(handbook, (search("télétravail"),), (SAID,), fields={"history": history})
    assert error is None
    first, second = served.scenario.generations
    assert [message.role for message in first.messages] == [pb.ROLE_SYSTEM, pb.ROLE_USER]
    assert [message.role for message in second.messages] == [
        pb.ROLE_SYSTEM, pb.ROLE_USER, pb.ROLE_ASSISTANT, pb.ROLE_TOOL]
    assert second.messages[1].content == QUESTION
    assert list(second.messages[2].tool_calls) == [search("télétravail")]
    assert second.messages[3].tool_call_id == "call00001"
    assert f"> {TELEWORK}" in second.messages[3].content
    assert "secrets" not in str(served.scenario.generations)
    for request in (first, second):
        assert [tool.name for tool in request.tools] == ["search_knowledge_base"]
        assert '"name": "search_knowledge_base"' in request.messages[0].content
        assert request.sampling.temperature == pytest.approx(0.7)
        assert request.cache_salt == "acme"
    assert first.generation_id != second.generation_id


async def test_the_sources_of_several_calls_are_joined_and_numbered_once(handbook: Database) -> None:
    calls = (search("jours de télétravail", "call00001"), search("remboursement des frais de repas", "call00002"),
             search("jours de télétravail accord du responsable", "call00003"))
    said = f"{SAID} Les frais de repas sont remboursés jusqu'à 19 euros [2]."
    question = "Combien de jours de télétravail, et quels frais de repas sont remboursés ?"
    events, error, served = await asked(
        handbook, calls, (said,), question=question, fields={"passages": 1}, refusal_threshold=0.1)
    assert error is None
    assert [event.searching.query for event in events if event.HasField("searching")] == [
        json.loads(call.arguments)["query"] for call in calls]
    sources = [event.reranked.passages for event in events if event.HasField("reranked")]
    assert [[passage.text for passage in passages] for passages in sources] == [
        [TELEWORK], [TELEWORK, EXPENSES], [TELEWORK, EXPENSES]]
    assert {(event.citation.marker, event.citation.source) for event in events if event.HasField("citation")} == {
        (1, "telework.md"), (2, "expenses.md")}
    answers = [message for message in served.scenario.generations[1].messages if message.role == pb.ROLE_TOOL]
    assert [message.tool_call_id for message in answers] == ["call00001", "call00002", "call00003"]
    assert "[Source 2]" in answers[1].content
    assert answers[2].content.startswith("Sources :\n\nDéjà données plus haut : [Source 1]")
    assert answers[2].content.endswith("réponds avec les sources qui précèdent.")


async def test_the_model_may_search_again_before_it_answers(handbook: Database) -> None:
    events, error, served = await asked(
        handbook, (search("télétravail"),), ("Je vais chercher encore un peu.", search("télétravail par semaine", "b")),
        (SAID,))
    assert error is None
    assert steps(events) == [
        "started", "searching", "retrieved", "reranked", "searching", "retrieved", "reranked", "finished"]
    assert text(events) == SAID
    assert len(served.scenario.generations) == 3


async def test_an_answer_without_a_search_is_not_accepted_and_the_model_is_reminded(handbook: Database) -> None:
    events, error, served = await asked(handbook, ("Deux jours.",), (search("télétravail"),), (SAID,))
    assert error is None
    assert text(events) == SAID
    assert degraded(events) == []
    reminded = served.scenario.generations[1].messages
    assert [message.role for message in reminded] == [pb.ROLE_SYSTEM, pb.ROLE_USER]
    assert reminded[1].content.startswith(f"{QUESTION}\n\nRappel : ne réponds pas encore.")
    assert reminded[1].content.endswith('{"name": "search_knowledge_base", "arguments": {"query": "…"}}')


async def test_a_model_that_never_searches_is_searched_for_in_sight(
    handbook: Database, caplog: pytest.LogCaptureFixture
) -> None:
    counted = degradations_total.labels("tools", "NO_SEARCH")
    before = counted._value.get()
    caplog.set_level(logging.WARNING)
    events, error, served = await asked(handbook, ("Deux jours.",), ("Trois jours.",), (SAID,))
    assert error is None
    assert steps(events) == ["started", "degraded", "searching", "retrieved", "reranked", "finished"]
    assert "the question itself was searched for" in degraded(events)[0]
    assert counted._value.get() == before + 1
    assert "did not search" in caplog.text
    assert next(event.searching.query for event in events if event.HasField("searching")) == QUESTION
    assert text(events) == SAID
    assert "Trois jours" not in str(events)
    call = served.scenario.generations[2].messages[2].tool_calls[0]
    assert json.loads(call.arguments) == {"query": QUESTION}


async def test_that_nothing_was_found_is_said_to_the_model_and_to_the_person(handbook: Database) -> None:
    events, error, served = await asked(handbook, (search(OFF_TOPIC),), ("Je ne sais pas.",), question=OFF_TOPIC)
    assert error is None
    assert steps(events) == ["started", "searching", "retrieved", "reranked", "refused", "finished"]
    refused = next(event.refused for event in events if event.HasField("refused"))
    assert (refused.text, refused.reason) == ("Je ne trouve pas cette information dans le corpus.", "BELOW_THRESHOLD")
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_REFUSED
    said = served.scenario.generations[1].messages[3].content
    assert said.startswith("Aucune source ne correspond à cette recherche.")
    assert TELEWORK not in said


async def test_another_search_may_find_what_the_first_did_not(handbook: Database) -> None:
    elsewhere, there = search("frais de repas remboursés sur justificatif", "a"), search("télétravail", "b")
    events, error, served = await asked(handbook, (elsewhere,), (there,), (SAID,), fields={"passages": 1})
    assert error is None
    assert text(events) == SAID
    assert [len(event.reranked.passages) for event in events if event.HasField("reranked")] == [0, 1]
    assert served.scenario.generations[1].messages[3].content.startswith("Aucune source ne correspond")


async def test_a_search_for_something_else_does_not_answer_the_question(handbook: Database) -> None:
    """A model that searches for what it likes finds that: the question decides whether it is close."""
    events, error, _ = await asked(handbook, (search("télétravail par semaine"),), (SAID,), question=OFF_TOPIC)
    assert error is None
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_REFUSED
    assert text(events) == ""


async def test_searches_are_bounded_and_every_call_has_its_answer(handbook: Database) -> None:
    calls = tuple(search(f"télétravail {n} semaine", f"call0000{n}") for n in range(4))
    events, error, served = await asked(handbook, calls, (search("encore"),), tools_searches_max=2)
    assert error is None
    assert len([event for event in events if event.HasField("searching")]) == 2
    answers = [message for message in served.scenario.generations[1].messages if message.role == pb.ROLE_TOOL]
    assert [message.tool_call_id for message in answers] == [call.id for call in calls]
    assert answers[3].content == "Il n'y a plus de recherche possible ; réponds avec les sources qui précèdent."
    assert "went on searching and wrote no answer" in degraded(events)[0]
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_QUOTED


async def test_the_same_search_is_made_once(handbook: Database) -> None:
    events, error, served = await asked(
        handbook, (search("télétravail par semaine", "a"), search("Teletravail  par SEMAINE", "b")), (SAID,))
    assert error is None
    assert len([event for event in events if event.HasField("searching")]) == 1
    assert "déjà été faite" in served.scenario.generations[1].messages[4].content


async def test_sources_are_bounded_by_their_tokens(handbook: Database) -> None:
    events, error, _ = await asked(handbook, (search("télétravail"),), (SAID,), tools_sources_tokens_max=1)
    assert error is None
    assert [len(event.reranked.passages) for event in events if event.HasField("reranked")] == [1]


async def test_neighbours_are_read_with_a_source_and_cited_by_their_own_place(database: Database) -> None:
    following = "L'accord du responsable est donné pour une année entière."
    await Writer(database).index("telework.md", ["Avant-propos.", TELEWORK, following, "Fin."], title="Télétravail")
    said = f"{following[:-1]} [1]."
    events, error, served = await asked(
        database, (search("télétravail", limit=1),), (said,), fields={"passages": 1, "neighbours": 1})
    assert error is None
    assert text(events) == said
    (reranked,) = [event.reranked for event in events if event.HasField("reranked")]
    (source,) = reranked.passages
    assert [each.chunk_index for each in source.neighbours] == [0, 2]
    told = served.scenario.generations[1].messages[3].content
    assert told.index("Avant-propos") < told.index("deux jours") < told.index("année entière")
    assert "[Source 2]" not in told
    (citation,) = [event.citation for event in events if event.HasField("citation")]
    near = source.neighbours[1]
    assert (citation.marker, citation.chunk_id) == (1, near.chunk_id)
    assert near.text[citation.passage_start : citation.passage_end] == following


async def test_a_call_without_a_query_searches_for_the_question_in_sight(handbook: Database) -> None:
    call = pb.ToolCall(id="a", name="search_knowledge_base", arguments='{"limit": 2}')
    events, error, _ = await asked(handbook, (call,), (SAID,))
    assert error is None
    assert "without saying for what" in degraded(events)[0]
    assert text(events) == SAID


async def test_a_search_in_the_middle_of_the_answer_is_not_made_in_sight(handbook: Database) -> None:
    events, error, _ = await asked(handbook, (search("télétravail"),), (SAID, search("frais")))
    assert error is None
    assert text(events) == SAID
    assert "in the middle of its answer" in degraded(events)[0]
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED


async def test_a_ranking_for_the_question_that_fails_is_said_as_in_mode_injection(handbook: Database) -> None:
    for settings in ({}, {"answerability_threshold": 0.001, "refusal_threshold": -1}):
        scenario = Scenario(
            script=plays((search("jours de télétravail"),), (SAID,)), rerank_error=ResourceExhausted("too many"),
            rerank_error_of=QUESTION,
        )
        async with gateway(handbook, scenario, **settings) as served:
            events, error = await served.ask(QUESTION, mode=TOOLS)
        assert error is None
        # For the model's own words it was ranked; the question's search, where there is one, is told of once each time.
        assert set(degraded(events)) == {"too many; the order is the search's"}
        assert {event.degraded.stage for event in events if event.HasField("degraded")} == {"rerank"}
        assert len(degraded(events)) == (2 if settings else 1)


@pytest.mark.parametrize("mode", [answer_pb2.ANSWER_MODE_INJECTION, TOOLS])
async def test_the_signs_that_refuse_are_those_of_mode_injection(handbook: Database, mode: int) -> None:
    """The model searches for what it likes, and finds that; what counts is whether the question is answered."""
    settings = {"answerability_threshold": 0.5, "refusal_threshold": -1}
    for question, refused in ((OFF_TOPIC, ["BELOW_THRESHOLD"]), (QUESTION, [])):
        turns = ((search("jours de télétravail"),), (SAID,)) if mode == TOOLS else ((SAID,),)
        # Vectors of texts are random here: that of the question is made its passage's.
        scenario = Scenario(script=plays(*turns), embed_as={QUESTION: TELEWORK})
        async with gateway(handbook, scenario, **settings) as served:
            events, error = await served.ask(question, mode=mode)
        assert error is None
        assert [event.refused.reason for event in events if event.HasField("refused")] == refused
        assert text(events) == ("" if refused else SAID)


async def test_sentences_without_support_are_withheld_here_too(handbook: Database) -> None:
    events, error, _ = await asked(
        handbook, (search("télétravail"),), (f"{SAID} La cantine ouvre à 11 heures 45 [1].",))
    assert error is None
    assert text(events).strip() == SAID
    assert [event.withheld.code for event in events if event.HasField("withheld")] == ["OFF_TOPIC"]


async def test_a_model_that_takes_no_tools_is_a_clear_error(handbook: Database) -> None:
    scenario = Scenario(deltas=(), generate_error=FailedPrecondition("the template of m has no place for tools; …"))
    async with gateway(handbook, scenario) as served:
        events, error = await served.ask(QUESTION, mode=TOOLS)
    assert error is not None
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "no place for tools" in str(error.details())
    check_stream(events)


async def test_a_follow_up_is_made_self_contained_before_the_model_searches(handbook: Database) -> None:
    history = [answer_pb2.HistoryMessage(role=answer_pb2.ROLE_USER, content="Parlons du télétravail.")]
    turns = ("Combien de jours de télétravail par semaine ?",), (search("télétravail"),), (SAID,)
    events, error, served = await asked(
        handbook, *turns, question="Et celui des stagiaires, combien de jours ?", fields={"history": history})
    assert error is None
    assert steps(events)[:3] == ["started", "rewritten", "searching"]
    assert served.scenario.generations[1].messages[1].content == "Combien de jours de télétravail par semaine ?"


async def test_a_question_of_two_words_is_answered_in_its_conversations_language(handbook: Database) -> None:
    history = [answer_pb2.HistoryMessage(role=answer_pb2.ROLE_USER, content="How many days may I work from home?")]
    events, error, served = await asked(
        handbook, (search("Valparaiso"),), ("Nothing.",), question="Valparaiso weather?", fields={"history": history})
    assert error is None
    refusal = "I cannot find this information in the corpus."
    assert f"write only: {refusal}" in served.scenario.generations[0].messages[0].content
    assert [event.refused.text for event in events if event.HasField("refused")] == [refusal]


@pytest.mark.parametrize("setting", ["injection", "tools"])
async def test_the_request_goes_before_the_deployment_and_that_before_the_setting(
    handbook: Database, setting: str
) -> None:
    def model(request: pb.GenerateRequest) -> Turn:
        return (search("télétravail"),) if request.tools and len(request.messages) == 2 else (SAID,)

    cases = [({}, "", setting), ({"mode": "tools"}, "", "tools"), ({"mode": "injection"}, "", "injection"),
             ({"mode": "tools"}, "injection", "injection"), ({"mode": "injection"}, "tools", "tools"),
             ({"mode": "magic"}, "", setting)]
    by_agent = [({}, "", "tools"), ({"mode": "injection"}, "", "injection"), ({}, "injection", "injection"),
                ({"mode": "magic"}, "", "tools")]
    async with gateway(handbook, Scenario(script=model), mode=setting) as served:
        await served.curation.CreateAgent(
            curation_pb2.CreateAgentRequest(name="a", collection="default"), timeout=10, metadata=TENANT)
        for number, (overlay, field, mode) in enumerate((*cases, *by_agent)):
            if number == len(cases):
                await served.curation.UpdateAgent(curation_pb2.UpdateAgentRequest(
                    name="a", mode=answer_pb2.ANSWER_MODE_TOOLS), timeout=10, metadata=TENANT)
            await served.curation.CreateDeployment(curation_pb2.CreateDeploymentRequest(
                name=f"d{number}", agent="a", overlay=overlay), timeout=10, metadata=TENANT)
            served.scenario.generations.clear()
            asked_for = answer_pb2.AnswerMode.Value(f"ANSWER_MODE_{field.upper() or 'UNSPECIFIED'}")
            events, error = await served.ask(QUESTION, deployment=f"d{number}", mode=asked_for)
            assert error is None
            assert bool(served.scenario.generations[0].tools) is (mode == "tools"), (overlay, field)
            told = any("'magic' is not known" in reason for reason in degraded(events))
            assert told is (overlay.get("mode") == "magic")


async def test_an_unknown_mode_is_refused(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        _, error = await served.ask(QUESTION, mode=9)
    assert error is not None
    assert (error.code(), error.details()) == (
        grpc.StatusCode.INVALID_ARGUMENT,
        "mode 9 is not known; use ANSWER_MODE_INJECTION or ANSWER_MODE_TOOLS, or leave it out")
