"""`AnswerService` over real gRPC and PostgreSQL: what is refused, what falls back, and how streams end."""

from __future__ import annotations

import asyncio
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.errors import DeadlineExceeded, ResourceExhausted, Unavailable
from sourcier.services.chassis.postgres.database import Database
from tests.integration.gateway.conftest import EXPENSES, TELEWORK
from tests.integration.gateway.fix_gateway import Gateway, Scenario, gateway
from tests.integration.index.writer import Writer

QUESTION = "Combien de jours de télétravail sont possibles par semaine ?"
TERMINAL = {"finished", "failed"}


def kinds(events: list[answer_pb2.AskEvent]) -> list[str]:
    return [str(event.WhichOneof("event")) for event in events]


def check_stream(events: list[answer_pb2.AskEvent]) -> None:
    """Assert what holds for every stream: numbers without a gap, and exactly one terminal event, which is the last."""
    assert [event.sequence for event in events] == list(range(1, len(events) + 1))
    assert len({event.answer_id for event in events}) == 1
    assert [kind for kind in kinds(events) if kind in TERMINAL] == kinds(events)[-1:]


def field_of(error: grpc.aio.AioRpcError) -> str:
    request = error_details_pb2.BadRequest()
    for detail in rpc_status.from_call(error).details:
        if detail.Unpack(request):
            return request.field_violations[0].field
    return ""


async def test_a_question_is_answered_with_its_source(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    check_stream(events)
    assert [kind for kind in kinds(events) if kind not in ("token", "citation")] == [
        "started", "searching", "retrieved", "reranked", "extract", "finished",
    ]
    assert "".join(event.token.text for event in events) == "Le télétravail est possible deux jours par semaine [1]."
    (citation,) = [event.citation for event in events if event.HasField("citation")]
    assert (citation.title, citation.source) == ("Télétravail", "telework.md")
    assert (citation.page, citation.chunk_index) == (1, 0)
    assert (citation.start_character, citation.end_character) == (0, len(TELEWORK))
    assert citation.support == answer_pb2.SUPPORT_SAME_WORDING
    sentence = "Le télétravail est possible deux jours par semaine [1]."
    assert (citation.sentence_start, citation.sentence_end) == (0, len(sentence))
    assert (citation.passage_start, citation.passage_end) == (0, len(TELEWORK))
    reranked = next(event.reranked for event in events if event.HasField("reranked"))
    assert not reranked.degraded
    assert [entry.rank for entry in reranked.passages] == list(range(1, len(reranked.passages) + 1))
    assert reranked.passages[0].text == TELEWORK
    finished = events[-1].finished
    assert (finished.outcome, finished.model) == (answer_pb2.ANSWER_OUTCOME_ANSWERED, "fake-model")
    assert {entry.stage for entry in finished.durations} == {
        "embed", "search", "rerank", "in_force", "clauses", "extract", "first_token", "generate", "total",
    }
    request = served.scenario.generations[0]
    assert request.generation_id == events[0].answer_id
    assert request.cache_salt == "acme"


async def test_what_the_documents_do_not_hold_is_refused_without_the_model(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        events, error = await served.ask("Quelle heure était-il hier matin à Valparaiso ?")
    assert error is None
    check_stream(events)
    (refused,) = [event.refused for event in events if event.HasField("refused")]
    assert (refused.text, refused.reason) == ("Je ne trouve pas cette information dans le corpus.", "BELOW_THRESHOLD")
    assert events[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_REFUSED
    assert served.scenario.generations == []


@pytest.mark.parametrize("down", [True, False])
async def test_a_ranking_that_fails_is_said_and_the_answer_goes_on(handbook: Database, down: bool) -> None:
    scenario = Scenario(rerank_error=None if down else ResourceExhausted("64 re-rankings are in hand"))
    async with gateway(handbook, scenario, down=("rerank",) if down else (), refusal_similarity=-1) as served:
        events, error = await served.ask(QUESTION)
        found = await served.search(QUESTION)
    assert error is None
    check_stream(events)
    assert kinds(events)[3:5] == ["degraded", "reranked"]
    reranked = next(event.reranked for event in events if event.HasField("reranked"))
    assert reranked.degraded
    assert ("the rerank service cannot be reached" if down else "64 re-rankings are in hand") in reranked.reason
    assert not any(entry.HasField("rerank_score") for entry in reranked.passages)
    assert [entry.stage for entry in found.degradations] == ["rerank"]
    assert found.passages[0].text == TELEWORK


@pytest.mark.parametrize("peer", ["embed", "generate"])
async def test_a_peer_that_is_down_is_named_in_the_event_and_the_status(handbook: Database, peer: str) -> None:
    async with gateway(handbook, Scenario(), down=(peer,)) as served:
        events, error = await served.ask(QUESTION)
    assert error is not None
    assert error.code() is grpc.StatusCode.UNAVAILABLE
    assert f"the {peer} service cannot be reached" in str(error.details())
    check_stream(events)
    assert (events[-1].failed.reason, events[-1].failed.message) == ("UNAVAILABLE", error.details())


@pytest.mark.parametrize(("failure", "code"), [
    (Unavailable("the engine died"), grpc.StatusCode.UNAVAILABLE),
    (DeadlineExceeded("the engine is silent"), grpc.StatusCode.DEADLINE_EXCEEDED),
    (ResourceExhausted("the engine is full"), grpc.StatusCode.RESOURCE_EXHAUSTED),
])
async def test_a_model_that_fails_in_the_middle_ends_the_stream_once(
    handbook: Database, failure: Any, code: grpc.StatusCode
) -> None:
    async with gateway(handbook, Scenario(generate_error=failure)) as served:
        events, error = await served.ask(QUESTION)
    assert error is not None
    assert (error.code(), error.details()) == (code, failure.message)
    check_stream(events)
    assert events[-1].failed.reason == failure.reason
    assert len(served.scenario.generations) == 1, "a stream that has begun is not repeated"


async def test_a_bug_ends_the_stream_with_a_terminal_event_too(
    handbook: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*args: object, **kwargs: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr("sourcier.services.gateway.answering.writing.build_prompt", broken)
    async with gateway(handbook, Scenario()) as served:
        events, error = await served.ask(QUESTION)
    assert error is not None
    assert (error.code(), error.details()) == (grpc.StatusCode.INTERNAL, "An internal error occurred.")
    check_stream(events)
    assert (events[-1].failed.reason, events[-1].failed.message) == ("INTERNAL", "An internal error occurred.")


INVENTED = ("Le télétravail est possible quatre jours par semaine [1]. ", "Après accord du responsable [1].")


async def test_a_sentence_with_a_figure_of_no_passage_is_withheld_with_its_reason(handbook: Database) -> None:
    async with gateway(handbook, Scenario(deltas=INVENTED)) as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    check_stream(events)
    assert "".join(event.token.text for event in events) == "Après accord du responsable [1]."
    (withheld,) = [event.withheld for event in events if event.HasField("withheld")]
    assert withheld.sentence == "Le télétravail est possible quatre jours par semaine ."
    assert (withheld.code, withheld.reason) == ("FIGURE_ABSENT", "Les passages ne contiennent pas « 4 ».")
    assert (withheld.closest.title, list(withheld.closest.absent)) == ("Télétravail", ["4"])
    assert withheld.closest.support == answer_pb2.SUPPORT_FIGURE_ABSENT
    assert 0 < withheld.closest.score <= 1
    assert TELEWORK[withheld.closest.passage_start : withheld.closest.passage_end] == TELEWORK


@pytest.mark.parametrize(("fields", "settings"), [
    ({"strictness": answer_pb2.STRICTNESS_MARK}, {}), ({}, {"strictness": "mark"}),
])
async def test_a_request_or_the_setting_shows_and_marks_instead(
    handbook: Database, fields: dict[str, Any], settings: dict[str, Any]
) -> None:
    async with gateway(handbook, Scenario(deltas=INVENTED), **settings) as served:
        events, _ = await served.ask(QUESTION, **fields)
    assert "".join(event.token.text for event in events) == "".join(INVENTED)
    assert [event.citation.support for event in events if event.HasField("citation")] == [
        answer_pb2.SUPPORT_FIGURE_ABSENT, answer_pb2.SUPPORT_SAME_WORDING,
    ]
    assert "withheld" not in kinds(events)


async def test_a_request_may_be_stricter_than_the_setting(handbook: Database) -> None:
    async with gateway(handbook, Scenario(deltas=INVENTED), strictness="mark") as served:
        events, _ = await served.ask(QUESTION, strictness=answer_pb2.STRICTNESS_WITHHOLD)
    assert "withheld" in kinds(events)


async def test_with_a_ranker_that_compares_no_wording_sentences_are_checked_by_their_words_and_it_is_said(
    handbook: Database
) -> None:
    scenario = Scenario(deltas=INVENTED, ranker="bge-reranker-v2-m3")
    # Vectors of texts are random here, and the cosine decides in place of a score of another scale.
    async with gateway(handbook, scenario, refusal_similarity=-1) as served:
        events, error = await served.ask(QUESTION)
    assert error is None
    check_stream(events)
    (degraded,) = [event.degraded for event in events if event.HasField("degraded")]
    assert degraded.stage == "citation"
    assert "bge-reranker-v2-m3" in degraded.reason
    assert [event.withheld.code for event in events if event.HasField("withheld")] == ["FIGURE_ABSENT"]
    (citation,) = [event.citation for event in events if event.HasField("citation")]
    assert (citation.support, citation.HasField("score")) == (answer_pb2.SUPPORT_CITED, False)


async def test_the_prompt_marks_passages_as_data(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        await served.ask(QUESTION)
        await served.ask("Le télétravail est-il possible ?")
    first, second = (request.messages[1].content for request in served.scenario.generations)
    assert f"\n> {TELEWORK}\n" in first
    assert "[Source 1] - Télétravail > Heading > Sub-heading (page 1)\n<<<" in first
    marked = first[first.index("[Source 1]") : first.index("[Source 2]")]
    assert second.startswith(f"Sources :\n\n{marked.rstrip()}")


async def test_another_space_is_a_clear_error(handbook: Database) -> None:
    async with gateway(handbook, Scenario(space_id="other-space")) as served:
        events, error = await served.ask(QUESTION)
    assert error is not None
    assert error.code() is grpc.StatusCode.FAILED_PRECONDITION
    assert "other-space" in str(error.details())
    check_stream(events)
    assert events[-1].failed.reason == "SPACE_MISMATCH"


@pytest.mark.parametrize(("fields", "field"), [
    ({"question": ""}, "question"),
    ({"question": " \n\t"}, "question"),
    ({"question": "x" * 100_000}, "question"),
    ({"question": "a\x00b"}, "question"),
    ({"filter": answer_pb2.SearchFilter(categories=["a\x00b"])}, "categories"),
    ({"filter": answer_pb2.SearchFilter(metadata={"a": "a\x00b"})}, "metadata"),
    ({"filter": answer_pb2.SearchFilter(collection="a\x00b")}, "filter.collection"),
    ({"passages": 21}, "passages"),
    ({"candidates": 101}, "candidates"),
    ({"passages": 10, "candidates": 5}, "candidates"),
    ({"temperature": 2.5}, "temperature"),
    ({"temperature": float("nan")}, "temperature"),
    ({"tokens_max": 40_000}, "tokens_max"),
    ({"strictness": 9}, "strictness"),
])
async def test_a_question_out_of_bounds_is_refused_before_anything_is_done(
    handbook: Database, fields: dict[str, Any], field: str
) -> None:
    async with gateway(handbook, Scenario()) as served:
        events, error = await served.ask(**({"question": QUESTION} | fields))
    assert error is not None
    assert (error.code(), field_of(error)) == (grpc.StatusCode.INVALID_ARGUMENT, field)
    assert events == []


@pytest.mark.parametrize(("fields", "field"), [
    ({"question": ""}, "question"),
    ({"question": "x" * 100_000}, "question"),
    ({"limit": 101}, "limit"),
    ({"limit": 10, "candidates": 9}, "candidates"),
    ({"mode": 99}, "mode"),
])
async def test_a_search_out_of_bounds_is_refused(handbook: Database, fields: dict[str, Any], field: str) -> None:
    async with gateway(handbook, Scenario()) as served:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await served.search(**({"question": QUESTION} | fields))
    assert (refused.value.code(), field_of(refused.value)) == (grpc.StatusCode.INVALID_ARGUMENT, field)


async def test_a_collection_that_is_not_there_is_not_found(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await served.search(QUESTION, filter=answer_pb2.SearchFilter(collection="nowhere"))
        events, error = await served.ask(QUESTION, filter=answer_pb2.SearchFilter(collection="nowhere"))
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND
    assert "nowhere" in str(refused.value.details())
    assert error is not None
    assert (error.code(), events[-1].failed.reason) == (grpc.StatusCode.NOT_FOUND, "NOT_FOUND")


@pytest.mark.parametrize("filter_", [
    answer_pb2.SearchFilter(document_ids=["nonsense"]),
    answer_pb2.SearchFilter(categories=["a\x00b"]),
])
async def test_a_filter_that_means_nothing_finds_nothing_or_is_refused(
    handbook: Database, filter_: answer_pb2.SearchFilter
) -> None:
    async with gateway(handbook, Scenario()) as served:
        try:
            found = await served.search(QUESTION, filter=filter_)
        except grpc.aio.AioRpcError as error:
            assert error.code() is grpc.StatusCode.INVALID_ARGUMENT  # noqa: PT017 - either is right
        else:
            assert len(found.passages) == 0


@pytest.mark.parametrize("mode", [
    answer_pb2.SEARCH_MODE_LEXICAL, answer_pb2.SEARCH_MODE_FUSED, answer_pb2.SEARCH_MODE_RERANKED,
    answer_pb2.SEARCH_MODE_UNSPECIFIED,
])
async def test_every_mode_finds_the_passage_and_says_how(handbook: Database, mode: int) -> None:
    async with gateway(handbook, Scenario()) as served:
        found = await served.search("télétravail semaine", mode=mode, limit=1)
    (passage,) = found.passages
    assert (passage.text, passage.title, passage.rank) == (TELEWORK, "Télétravail", 1)
    assert list(passage.heading_path) == ["Heading", "Sub-heading"]
    reranked = mode in (answer_pb2.SEARCH_MODE_RERANKED, answer_pb2.SEARCH_MODE_UNSPECIFIED)
    assert passage.HasField("rerank_score") is reranked
    assert passage.HasField("lexical_score")
    stages = {entry.stage for entry in found.durations}
    assert ("embed" in stages) is (mode != answer_pb2.SEARCH_MODE_LEXICAL)
    assert ("rerank" in stages) is reranked
    assert {"search", "total"} <= stages


async def test_the_lexical_mode_needs_no_other_service(handbook: Database) -> None:
    async with gateway(handbook, Scenario(), down=("embed", "rerank")) as served:
        found = await served.search("télétravail", mode=answer_pb2.SEARCH_MODE_LEXICAL)
    assert found.passages[0].text == TELEWORK


async def test_a_search_is_narrowed_by_its_filter(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        found = await served.search(
            "télétravail repas", filter=answer_pb2.SearchFilter(categories=["finance"], metadata={"team": "paie"})
        )
    assert [(entry.text, entry.category, dict(entry.metadata)) for entry in found.passages] == [
        (EXPENSES, "finance", {"team": "paie"})
    ]


async def test_an_empty_collection_is_no_error(database: Database) -> None:
    await Writer(database).collection("default")
    async with gateway(database, Scenario()) as served:
        assert len((await served.search(QUESTION)).passages) == 0
        events, error = await served.ask(QUESTION)
    assert error is None
    check_stream(events)
    assert next(event.refused.reason for event in events if event.HasField("refused")) == "NOTHING_FOUND"


async def test_a_tenant_sees_nothing_of_another(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        request = answer_pb2.SearchRequest(question=QUESTION)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await served.answers.Search(request, timeout=10, metadata=(("sourcier-tenant", "other"),))
    assert refused.value.code() is grpc.StatusCode.NOT_FOUND


SPOKEN = ("Le télétravail est possible deux jours par semaine [1]. ", "Et ")
"""A sentence is shown once the next one begins."""


async def test_a_deadline_reaches_the_language_model(handbook: Database) -> None:
    async with gateway(handbook, Scenario(hang=True)) as served:
        _, error = await served.ask(QUESTION, timeout=2)
        async with asyncio.timeout(5):
            await served.scenario.generation_ended.wait()
    assert error is not None
    assert error.code() is grpc.StatusCode.DEADLINE_EXCEEDED


async def test_a_gateway_that_gives_up_first_says_so_in_the_stream(handbook: Database) -> None:
    async with gateway(handbook, Scenario(hang=True), ask_seconds_max=1.0) as served:
        events, error = await served.ask(QUESTION, timeout=None)
    check_stream(events)
    assert error is not None
    assert (error.code(), events[-1].failed.reason) == (grpc.StatusCode.DEADLINE_EXCEEDED, "DEADLINE_EXCEEDED")


async def test_many_at_once_get_their_own_answers(handbook: Database) -> None:
    async def one(served: Gateway, question: str, text: str) -> None:
        events, error = await served.ask(question)
        assert error is None
        check_stream(events)
        assert events[0].started.question == question
        assert next(event.reranked for event in events if event.HasField("reranked")).passages[0].text == text

    async with gateway(handbook, Scenario(deltas=("Une réponse accordée [1].",))) as served:
        await asyncio.gather(*(
            one(served, *asked) for _ in range(3)
            for asked in ((QUESTION, TELEWORK), ("Les frais de repas remboursés ?", EXPENSES))
        ))
