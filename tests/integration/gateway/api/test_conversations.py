"""Conversations over real gRPC and PostgreSQL: what is kept, what follow-ups rest on, and that none meets another."""

from __future__ import annotations

import asyncio
import random
import re
from typing import Any

import grpc
import grpc.aio
import pytest

from sourcier.gateway.v1 import answer_pb2, conversation_pb2
from sourcier.generate.v1 import generate_pb2
from sourcier.services.chassis.errors import Unavailable
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.dialogue import exchanges
from tests.integration.gateway.answering.test_answer_service import SPOKEN, check_stream, field_of, kinds
from tests.integration.gateway.fix_gateway import TENANT, Gateway, Scenario, gateway, read
from tests.integration.index.writer import Writer

QUESTION = "Combien de jours de télétravail sont possibles par semaine ?"
FOLLOW_UP = "Et celui de repas ?"
REWRITTEN = "Quel est le remboursement des frais de repas ?"
OTHER = (("sourcier-tenant", "globex"),)


async def begin(served: Gateway, **fields: Any) -> str:
    """Make a conversation and return its id."""
    request = conversation_pb2.CreateConversationRequest(**fields)
    made = await served.conversations.CreateConversation(request, timeout=10, metadata=TENANT)
    return str(made.conversation.conversation_id)


async def conversation_of(served: Gateway, conversation_id: str) -> conversation_pb2.Conversation:
    request = conversation_pb2.GetConversationRequest(conversation_id=conversation_id)
    response: conversation_pb2.GetConversationResponse = await served.conversations.GetConversation(
        request, timeout=10, metadata=TENANT)
    return response.conversation


async def messages_of(served: Gateway, conversation_id: str) -> list[conversation_pb2.ConversationMessage]:
    request = conversation_pb2.ListMessagesRequest(conversation_id=conversation_id)
    response = await served.conversations.ListMessages(request, timeout=10, metadata=TENANT)
    return list(response.messages)


async def ended(served: Gateway, conversation_id: str) -> conversation_pb2.ConversationMessage:
    """Wait until the last answer of a conversation has an end, and return it."""
    async with asyncio.timeout(10):
        while True:
            last = (await messages_of(served, conversation_id))[-1]
            if last.state != conversation_pb2.MESSAGE_STATE_UNFINISHED:
                return last
            await asyncio.sleep(0.02)


def scripted(request: generate_pb2.GenerateRequest) -> tuple[str, ...]:
    """Rewrite what is to be rewritten, and answer with the first passage's number."""
    if request.generation_id.endswith("-rewrite"):
        return (REWRITTEN,)
    return ("Les frais de repas sont remboursés ", "jusqu'à 19 euros [1].")


async def test_questions_and_answers_are_kept_with_sources_model_and_tokens(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        conversation_id = await begin(served)
        events, error = await served.ask(QUESTION, conversation_id=conversation_id)
        question, answer = await messages_of(served, conversation_id)
        kept = await conversation_of(served, conversation_id)
    assert error is None
    check_stream(events)
    finished = events[-1].finished
    assert finished.message_id == answer.message_id
    assert finished.created_at == answer.created_at
    assert (question.position, question.role, question.content) == (1, answer_pb2.ROLE_USER, QUESTION)
    assert (answer.position, answer.role) == (2, answer_pb2.ROLE_ASSISTANT)
    assert answer.content == "Le télétravail est possible deux jours par semaine [1]."
    assert answer.state == conversation_pb2.MESSAGE_STATE_FINISHED
    assert answer.outcome == answer_pb2.ANSWER_OUTCOME_ANSWERED
    assert (answer.model, answer.usage.prompt_tokens, answer.usage.completion_tokens) == ("fake-model", 50, 5)
    assert question.answer_id == answer.answer_id == events[0].answer_id
    (citation,) = [event.citation for event in events if event.HasField("citation")]
    (source,) = answer.sources
    # What a reader hovers over after a reload: the passage as it was, and each citation as it was streamed.
    streamed = [event.citation for event in events if event.WhichOneof("event") == "citation"]
    assert list(answer.citations) == streamed
    passages = {each.chunk_id: each for event in events for each in event.reranked.passages}
    passage = passages[source.chunk_id]
    assert (source.text, source.end_character) == (passage.text, passage.end_character)
    assert list(source.places) == list(passage.places)
    for name in ("marker", "document_id", "version_id", "title", "source", "page", "chunk_id", "chunk_index"):
        assert getattr(source, name) == getattr(citation, name), name
    assert (kept.title, kept.message_count) == (QUESTION, 2)


async def test_a_follow_up_is_rewritten_before_the_search_and_kept_as_it_was_asked(handbook: Database) -> None:
    async with gateway(handbook, Scenario(script=scripted)) as served:
        conversation_id = await begin(served)
        await served.ask(QUESTION, conversation_id=conversation_id)
        events, error = await served.ask(FOLLOW_UP, conversation_id=conversation_id)
        messages = await messages_of(served, conversation_id)
        generations = served.scenario.generations
    assert error is None
    check_stream(events)
    assert kinds(events)[:3] == ["started", "rewritten", "searching"]
    assert events[0].started.question == FOLLOW_UP
    assert (events[1].rewritten.original, events[1].rewritten.question) == (FOLLOW_UP, REWRITTEN)
    assert events[2].searching.query == REWRITTEN
    reranked = next(event.reranked for event in events if event.HasField("reranked"))
    assert reranked.passages[0].title == "Frais"
    finished = events[-1].finished
    assert finished.durations[0].stage == "rewrite"
    assert finished.usage.prompt_tokens == 100, "those of the rewriting and of the answer"
    assert [(message.content, message.rewritten) for message in messages if message.role == answer_pb2.ROLE_USER] == [
        (QUESTION, ""), (FOLLOW_UP, REWRITTEN),
    ]
    first, rewriting, second = generations
    assert rewriting.sampling.temperature == pytest.approx(0.3)
    assert rewriting.messages[-1].content.endswith(FOLLOW_UP)
    assert QUESTION in rewriting.messages[-1].content
    assert "Échanges précédents" not in first.messages[-1].content
    assert f"Utilisateur : {QUESTION}" in second.messages[-1].content
    assert second.messages[-1].content.endswith(f"Question : {REWRITTEN}")


async def test_no_rule_is_no_call_and_history_reaches_the_prompt_all_the_same(handbook: Database) -> None:
    async with gateway(handbook, Scenario(script=scripted)) as served:
        conversation_id = await begin(served)
        await served.ask(QUESTION, conversation_id=conversation_id)
        events, _ = await served.ask(REWRITTEN, conversation_id=conversation_id)
        generations = served.scenario.generations
    assert "rewritten" not in kinds(events)
    assert len(generations) == 2
    assert f"Utilisateur : {QUESTION}" in generations[-1].messages[-1].content


async def test_a_slow_rewriting_is_left_and_said(handbook: Database) -> None:
    scenario = Scenario(rewriting_seconds=20)
    async with gateway(handbook, scenario, rewrite_seconds_max=0.2, refusal_threshold=-1) as served:
        conversation_id = await begin(served)
        await served.ask(QUESTION, conversation_id=conversation_id)
        async with asyncio.timeout(8):
            events, error = await served.ask(FOLLOW_UP, conversation_id=conversation_id)
    assert error is None
    check_stream(events)
    assert kinds(events)[:3] == ["started", "degraded", "searching"]
    assert events[1].degraded.stage == "rewrite"
    assert events[2].searching.query == FOLLOW_UP


async def test_callers_that_keep_their_conversation_send_it_and_nothing_is_kept(handbook: Database) -> None:
    history = [
        answer_pb2.HistoryMessage(role=answer_pb2.ROLE_USER, content=QUESTION),
        answer_pb2.HistoryMessage(role=answer_pb2.ROLE_ASSISTANT, content="Deux jours [1]."),
    ]
    async with gateway(handbook, Scenario(script=scripted)) as served:
        events, error = await served.ask(FOLLOW_UP, history=history)
        listed = await served.conversations.ListConversations(
            conversation_pb2.ListConversationsRequest(), timeout=10, metadata=TENANT)
        prompts = [request.messages[-1].content for request in served.scenario.generations]
    assert error is None
    assert "rewritten" in kinds(events)
    assert all("Assistant : Deux jours." in prompt for prompt in prompts)
    assert len(listed.conversations) == 0
    finished = events[-1].finished
    assert finished.message_id == ""
    assert finished.created_at.seconds > 0


async def test_an_exchange_can_be_left_out_of_its_conversation(handbook: Database) -> None:
    async with gateway(handbook, Scenario(script=scripted)) as served:
        conversation_id = await begin(served)
        await served.ask(QUESTION, conversation_id=conversation_id)
        events, _ = await served.ask(FOLLOW_UP, conversation_id=conversation_id, keep=False)
        messages = await messages_of(served, conversation_id)
    assert "rewritten" in kinds(events), "what was said before is read"
    assert events[-1].finished.message_id == ""
    assert len(messages) == 2


async def test_a_refusal_is_kept_as_one(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        conversation_id = await begin(served)
        await served.ask("Quelle heure était-il hier matin à Valparaiso ?", conversation_id=conversation_id)
        _, answer = await messages_of(served, conversation_id)
    assert answer.content == "Je ne trouve pas cette information dans le corpus."
    assert (answer.outcome, answer.reason) == (answer_pb2.ANSWER_OUTCOME_REFUSED, "BELOW_THRESHOLD")
    assert len(answer.sources) == 0


async def test_an_answer_that_its_reader_stops_is_kept_as_cut_off(handbook: Database) -> None:
    async with gateway(handbook, Scenario(hang=True, deltas=SPOKEN)) as served:
        conversation_id = await begin(served)
        call = served.answers.Ask(answer_pb2.AskRequest(question=QUESTION, conversation_id=conversation_id),
                                  timeout=20, metadata=TENANT)
        async for response in call:
            if response.event.HasField("token"):
                break
        await asyncio.wait_for(served.scenario.generating.wait(), 10)
        (_, unfinished) = await messages_of(served, conversation_id)
        cancel = answer_pb2.CancelRequest(answer_id=response.event.answer_id)
        assert (await served.answers.Cancel(cancel, timeout=10, metadata=TENANT)).stopped
        answer = await ended(served, conversation_id)
    assert unfinished.state == conversation_pb2.MESSAGE_STATE_UNFINISHED
    assert answer.state == conversation_pb2.MESSAGE_STATE_CUT_OFF
    assert answer.content.startswith("Le télétravail est possible")
    assert answer.outcome == answer_pb2.ANSWER_OUTCOME_UNSPECIFIED


async def test_an_answer_that_is_stopped_while_it_is_written_down_is_kept_as_cut_off(
    handbook: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    end, writing = exchanges.end, asyncio.Event()

    async def slow(*args: Any, **fields: Any) -> bool:
        if not writing.is_set():
            writing.set()
            await asyncio.Event().wait()
        return await end(*args, **fields)

    monkeypatch.setattr(exchanges, "end", slow)
    async with gateway(handbook, Scenario()) as served:
        conversation_id = await begin(served)
        call = served.answers.Ask(answer_pb2.AskRequest(question=QUESTION, conversation_id=conversation_id),
                                  timeout=20, metadata=TENANT)
        answer_id = (await call.read()).event.answer_id
        await asyncio.wait_for(writing.wait(), 10)
        cancel = answer_pb2.CancelRequest(answer_id=answer_id)
        assert (await served.answers.Cancel(cancel, timeout=10, metadata=TENANT)).stopped
        rest, error = await read(call)
        _, answer = await messages_of(served, conversation_id)
    assert error is None
    assert rest[-1].finished.outcome == answer_pb2.ANSWER_OUTCOME_CANCELLED
    assert answer.state == conversation_pb2.MESSAGE_STATE_CUT_OFF
    assert answer.content == "Le télétravail est possible deux jours par semaine [1]."


async def test_an_answer_that_fails_is_kept_with_its_reason_and_not_told_to_the_model(handbook: Database) -> None:
    scenario = Scenario(generate_error=Unavailable("the engine died"))
    async with gateway(handbook, scenario) as served:
        conversation_id = await begin(served)
        events, error = await served.ask(QUESTION, conversation_id=conversation_id)
        answer = await ended(served, conversation_id)
        scenario.generate_error = None
        await served.ask("Le télétravail est possible combien de jours ?", conversation_id=conversation_id)
        prompt = scenario.generations[-1].messages[-1].content
    assert error is not None
    check_stream(events)
    assert (answer.state, answer.reason) == (conversation_pb2.MESSAGE_STATE_FAILED, "UNAVAILABLE")
    assert f"Utilisateur : {QUESTION}" in prompt
    assert "Assistant :" not in prompt


async def test_an_answer_is_not_lost_when_it_cannot_be_written_down(
    handbook: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*args: object, **fields: object) -> None:
        raise Unavailable("The database cannot be reached.")

    monkeypatch.setattr(exchanges, "end", broken)
    async with gateway(handbook, Scenario()) as served:
        conversation_id = await begin(served)
        events, error = await served.ask(QUESTION, conversation_id=conversation_id)
    assert error is None
    check_stream(events)
    assert kinds(events)[-2:] == ["degraded", "finished"]
    assert events[-2].degraded.stage == "conversation"
    assert events[-1].finished.message_id == ""


async def test_a_conversation_deleted_meanwhile_does_not_fail_the_answer(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        conversation_id = await begin(served)
        call = served.answers.Ask(answer_pb2.AskRequest(question=QUESTION, conversation_id=conversation_id),
                                  timeout=20, metadata=TENANT)
        events = []
        async for response in call:
            events.append(response.event)
            if len(events) == 1:
                await served.conversations.DeleteConversation(
                    conversation_pb2.DeleteConversationRequest(conversation_id=conversation_id), timeout=10,
                    metadata=TENANT)
    check_stream(events)
    assert kinds(events)[-1] == "finished"


@pytest.mark.parametrize(("global_setting", "preference", "requested", "reranked"), [
    (True, "SERVICE", None, True), (False, "SERVICE", None, False),
    (True, "OFF", None, False), (False, "ON", None, True),
    (False, "OFF", True, True), (True, "ON", False, False),
    (False, "SERVICE", True, True), (True, "SERVICE", False, False),
])
async def test_the_request_goes_before_the_conversation_and_that_before_the_service(
    handbook: Database, global_setting: bool, preference: str, requested: bool | None, reranked: bool
) -> None:
    async with gateway(handbook, Scenario(), rerank=global_setting, refusal_similarity=-1) as served:
        value = conversation_pb2.RerankPreference.Value(f"RERANK_PREFERENCE_{preference}")
        conversation_id = await begin(served, rerank=value)
        events, error = await served.ask(QUESTION, conversation_id=conversation_id, rerank=requested)
    assert error is None
    found = next(event.reranked for event in events if event.HasField("reranked"))
    assert found.passages[0].HasField("rerank_score") is reranked


@pytest.mark.parametrize(("message", "language", "reply"), [
    ("Bonjour !", "fr", "Bonjour ! Posez-moi une question sur vos documents."),
    ("Thank you!", "en", "You are welcome. Do you have another question about your documents?"),
])
async def test_small_talk_is_answered_without_search_or_model(
    handbook: Database, message: str, language: str, reply: str
) -> None:
    async with gateway(handbook, Scenario(), down=("embed", "rerank", "generate")) as served:
        conversation_id = await begin(served)
        events, error = await served.ask(message, conversation_id=conversation_id)
        _, answer = await messages_of(served, conversation_id)
    assert error is None
    check_stream(events)
    assert kinds(events) == ["started", "token", "finished"]
    assert (events[0].started.language, events[1].token.text) == (language, reply)
    finished = events[-1].finished
    assert finished.outcome == answer_pb2.ANSWER_OUTCOME_SMALL_TALK
    assert (finished.model, finished.usage.prompt_tokens) == ("", 0)
    assert (answer.content, answer.outcome) == (reply, answer_pb2.ANSWER_OUTCOME_SMALL_TALK)


async def test_small_talk_can_be_switched_off(handbook: Database) -> None:
    async with gateway(handbook, Scenario(), small_talk=False) as served:
        events, _ = await served.ask("Bonjour !")
    assert "searching" in kinds(events)


@pytest.mark.parametrize(("fields", "code", "field"), [
    ({"conversation_id": "nonsense"}, grpc.StatusCode.NOT_FOUND, "conversation_id"),
    ({"conversation_id": "0193a1b2-0000-7000-8000-000000000000"}, grpc.StatusCode.NOT_FOUND, "conversation_id"),
    ({"keep": True}, grpc.StatusCode.INVALID_ARGUMENT, "keep"),
    ({"conversation_id": "x", "history": [answer_pb2.HistoryMessage(role=1, content="a")]},
     grpc.StatusCode.INVALID_ARGUMENT, "history"),
    ({"history": [answer_pb2.HistoryMessage(role=1, content="a")] * 51}, grpc.StatusCode.INVALID_ARGUMENT, "history"),
    ({"history": [answer_pb2.HistoryMessage(content="a")]}, grpc.StatusCode.INVALID_ARGUMENT, "history[0].role"),
    ({"history": [answer_pb2.HistoryMessage(role=1, content=" ")]}, grpc.StatusCode.INVALID_ARGUMENT,
     "history[0].content"),
    ({"history": [answer_pb2.HistoryMessage(role=1, content="a" * 20_001)]}, grpc.StatusCode.INVALID_ARGUMENT,
     "history[0].content"),
])
async def test_a_conversation_that_makes_no_sense_is_refused(
    handbook: Database, fields: dict[str, Any], code: grpc.StatusCode, field: str
) -> None:
    async with gateway(handbook, Scenario()) as served:
        events, error = await served.ask(QUESTION, **fields)
    assert error is not None
    assert (error.code(), field_of(error), events) == (code, field, [])


async def test_a_full_conversation_takes_no_more_questions(handbook: Database) -> None:
    async with gateway(handbook, Scenario(), conversation_messages_max=3) as served:
        conversation_id = await begin(served)
        await served.ask(QUESTION, conversation_id=conversation_id)
        events, error = await served.ask(QUESTION, conversation_id=conversation_id)
        kept = await conversation_of(served, conversation_id)
    assert error is not None
    assert (error.code(), events) == (grpc.StatusCode.FAILED_PRECONDITION, [])
    assert "begin a new one" in str(error.details())
    assert kept.message_count == 2


async def test_conversations_are_listed_by_their_last_use_page_by_page(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        made = [await begin(served, title=f"Sujet {number}") for number in range(5)]
        await served.ask("Bonjour", conversation_id=made[1])
        seen: list[str] = []
        token = ""
        while True:
            page = await served.conversations.ListConversations(
                conversation_pb2.ListConversationsRequest(page_size=2, page_token=token), timeout=10, metadata=TENANT)
            seen += [conversation.conversation_id for conversation in page.conversations]
            token = page.next_page_token
            if not token:
                break
    assert seen[0] == made[1]
    assert sorted(seen) == sorted(made)


async def test_messages_come_page_by_page_in_their_order(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        conversation_id = await begin(served)
        for _ in range(3):
            await served.ask("Merci", conversation_id=conversation_id)
        positions: list[int] = []
        token = ""
        while True:
            page = await served.conversations.ListMessages(
                conversation_pb2.ListMessagesRequest(conversation_id=conversation_id, page_size=4, page_token=token),
                timeout=10, metadata=TENANT)
            positions += [message.position for message in page.messages]
            token = page.next_page_token
            if not token:
                break
    assert positions == [1, 2, 3, 4, 5, 6]


async def test_a_conversation_can_be_changed(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        conversation_id = await begin(served, title="Un")
        update = conversation_pb2.UpdateConversationRequest

        async def change(**fields: Any) -> conversation_pb2.Conversation:
            response = await served.conversations.UpdateConversation(
                update(conversation_id=conversation_id, **fields), timeout=10, metadata=TENANT)
            return response.conversation  # type: ignore[no-any-return]

        titled = await change(title="  Deux  ")
        preferred = await change(rerank=conversation_pb2.RERANK_PREFERENCE_OFF)
        back = await change(rerank=conversation_pb2.RERANK_PREFERENCE_SERVICE, title="")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await change(title="x" * 201)
    assert (titled.title, titled.rerank) == ("Deux", conversation_pb2.RERANK_PREFERENCE_SERVICE)
    assert (preferred.title, preferred.rerank) == ("Deux", conversation_pb2.RERANK_PREFERENCE_OFF)
    assert (back.title, back.rerank) == ("", conversation_pb2.RERANK_PREFERENCE_SERVICE)
    assert field_of(refused.value) == "title"


async def test_answers_are_rated_and_questions_are_not(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        conversation_id = await begin(served)
        events, _ = await served.ask(QUESTION, conversation_id=conversation_id)
        message_id = events[-1].finished.message_id
        question, _ = await messages_of(served, conversation_id)

        async def rate(identifier: str, rating: int, comment: str = "") -> Any:
            request = conversation_pb2.RateMessageRequest(message_id=identifier, rating=rating, comment=comment)  # type: ignore[arg-type]
            return (await served.conversations.RateMessage(request, timeout=10, metadata=TENANT)).message

        up = await rate(message_id, conversation_pb2.RATING_UP)
        down = await rate(message_id, conversation_pb2.RATING_DOWN, "hors sujet")
        (_, listed) = await messages_of(served, conversation_id)
        none = await rate(message_id, conversation_pb2.RATING_NONE)
        codes = []
        for identifier, rating, comment in (
            (question.message_id, 1, ""), (new_id(), 1, ""), ("x", 1, ""), (message_id, 0, ""),
            (message_id, 1, "x" * 2_001), (message_id, 1, "a\x00b"),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await rate(identifier, rating, comment)
            codes.append((refused.value.code().name, field_of(refused.value)))
    assert up.rating == conversation_pb2.RATING_UP
    assert (down.rating, down.rating_comment) == (conversation_pb2.RATING_DOWN, "hors sujet")
    assert (listed.rating, listed.rating_comment) == (down.rating, down.rating_comment)
    assert (none.rating, none.rating_comment) == (conversation_pb2.RATING_UNSPECIFIED, "")
    assert codes == [
        ("FAILED_PRECONDITION", "message_id"), ("NOT_FOUND", "message_id"), ("NOT_FOUND", "message_id"),
        ("INVALID_ARGUMENT", "rating"), ("INVALID_ARGUMENT", "comment"), ("INVALID_ARGUMENT", "comment"),
    ]


async def test_deleting_removes_all(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        conversation_id = await begin(served)
        events, _ = await served.ask(QUESTION, conversation_id=conversation_id)
        await served.conversations.RateMessage(conversation_pb2.RateMessageRequest(
            message_id=events[-1].finished.message_id, rating=conversation_pb2.RATING_UP), timeout=10, metadata=TENANT)
        request = conversation_pb2.DeleteConversationRequest(conversation_id=conversation_id)
        existed = [
            (await served.conversations.DeleteConversation(request, timeout=10, metadata=TENANT)).existed
            for _ in range(2)
        ]
        with pytest.raises(grpc.aio.AioRpcError) as missing:
            await messages_of(served, conversation_id)
    assert existed == [True, False]
    assert missing.value.code() is grpc.StatusCode.NOT_FOUND
    async with handbook.transaction(tenant="acme") as connection:
        for table in ("conversations", "messages", "ratings"):
            cursor = await connection.execute(f"select count(*) from {table}")  # type: ignore[arg-type]
            assert await cursor.fetchone() == (0,), table


async def test_tenants_never_meet(handbook: Database) -> None:
    async with gateway(handbook, Scenario()) as served:
        conversation_id = await begin(served)
        events, _ = await served.ask(QUESTION, conversation_id=conversation_id)
        calls = served.conversations
        pb = conversation_pb2
        codes = []
        for method, request in (
            (calls.GetConversation, pb.GetConversationRequest(conversation_id=conversation_id)),
            (calls.ListMessages, pb.ListMessagesRequest(conversation_id=conversation_id)),
            (calls.UpdateConversation, pb.UpdateConversationRequest(conversation_id=conversation_id, title="x")),
            (calls.RateMessage, pb.RateMessageRequest(message_id=events[-1].finished.message_id, rating=1)),
        ):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await method(request, timeout=10, metadata=OTHER)
            codes.append(refused.value.code())
        deleted = await calls.DeleteConversation(
            pb.DeleteConversationRequest(conversation_id=conversation_id), timeout=10, metadata=OTHER)
        listed = await calls.ListConversations(pb.ListConversationsRequest(), timeout=10, metadata=OTHER)
        _, error = await served.ask(QUESTION, conversation_id=conversation_id, tenant=OTHER)
        kept = await conversation_of(served, conversation_id)
    assert codes == [grpc.StatusCode.NOT_FOUND] * 4
    assert not deleted.existed
    assert len(listed.conversations) == 0
    assert error is not None
    assert error.code() is grpc.StatusCode.NOT_FOUND
    assert kept.message_count == 2


async def test_forty_interleaved_conversations_never_meet(database: Database) -> None:
    """Each asks after a file of its own, then follows up: words of another's file would show a leak (SPEC A5)."""
    writer = Writer(database)
    names = [f"dossier{number:03}" for number in range(40)]
    for name in names:
        await writer.index(
            f"{name}.md", [f"Le {name} est suivi par monsieur {name}."], title=name.capitalize())
    chance = random.Random(5)

    def about(request: generate_pb2.GenerateRequest) -> tuple[str, ...]:
        """Answer with what the prompt itself names: a rewriting the last name said, an answer the question's."""
        prompt = request.messages[-1].content
        if request.generation_id.endswith("-rewrite"):
            name = re.findall(r"dossier\d{3}", prompt)[-1]
            return ("Qui est le responsable ", f"du {name}, et où le joindre ?")
        question = prompt.rsplit("Question :", 1)[1]
        (name,) = set(re.findall(r"dossier\d{3}", question))
        return (f"Le {name} est ", "suivi par ", f"monsieur {name}.")

    async with gateway(database, Scenario(script=about, generation_pause=chance.random), refusal_threshold=-1,
                       candidates=20) as served:
        free = asyncio.Semaphore(16)

        async def talk(name: str) -> list[conversation_pb2.ConversationMessage]:
            async with free:
                conversation_id = await begin(served)
            for question in (f"Qui est le responsable du {name} ?", "Où joindre celui-ci ?", "Merci !"):
                async with free:
                    events, error = await served.ask(question, conversation_id=conversation_id, timeout=60)
                assert error is None
                check_stream(events)
                rewritten = [event.rewritten.question for event in events if event.HasField("rewritten")]
                found = next((event.reranked for event in events if event.HasField("reranked")), None)
                assert found is None or found.passages[0].title == name.capitalize()
                assert all(name in each for each in rewritten)
                assert bool(rewritten) is (question == "Où joindre celui-ci ?")
                cited = {event.citation.title for event in events if event.HasField("citation")}
                assert cited <= {name.capitalize()}
            return await messages_of(served, conversation_id)

        said = await asyncio.gather(*map(talk, names))
        prompts = [request.messages[-1].content for request in served.scenario.generations]
    for name, messages in zip(names, said, strict=True):
        assert [message.position for message in messages] == [1, 2, 3, 4, 5, 6]
        mentioned = {
            found for message in messages
            for text in (message.content, message.rewritten, *(source.title.lower() for source in message.sources))
            for found in re.findall(r"dossier\d{3}", text)
        }
        assert mentioned == {name}
        assert all(message.state == conversation_pb2.MESSAGE_STATE_FINISHED for message in messages)
    assert len(prompts) == 3 * len(names), "an answer, a rewriting and an answer each; none for the thanks"
    histories = [prompt.split("Échanges précédents")[1] for prompt in prompts if "Échanges précédents" in prompt]
    assert len(histories) == len(names)
    assert all(len(set(re.findall(r"dossier\d{3}", each))) == 1 for each in histories)
