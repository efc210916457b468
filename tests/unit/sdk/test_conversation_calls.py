"""The client's calls on conversations."""

from __future__ import annotations

import pytest

from sourcier.client import Client
from sourcier.errors import NotFound
from sourcier.gateway.v1 import answer_pb2, conversation_pb2
from tests.unit.sdk.fake_gateway import FakeGateway

pytestmark = pytest.mark.unit


async def test_a_conversation_from_its_beginning_to_its_end(client: Client, gateway: FakeGateway) -> None:
    conversation = await client.create_conversation(title="Essai", rerank="off")
    identifier = conversation.conversation_id
    assert (conversation.title, conversation.rerank) == ("Essai", conversation_pb2.RERANK_PREFERENCE_OFF)
    answer = await client.answer("Et celui de Lyon ?", conversation_id=identifier)
    assert (answer.rewritten, answer.message_id) == ("Combien pour Lyon ?", "message-2")
    assert gateway.requests[-1].conversation_id == identifier
    assert not gateway.requests[-1].HasField("keep")
    rated = await client.rate_message(answer.message_id, "down", comment="hors sujet")
    assert (rated.rating, rated.rating_comment) == (conversation_pb2.RATING_DOWN, "hors sujet")
    assert [message.role async for message in client.messages(identifier, page_size=1)] == [
        answer_pb2.ROLE_USER, answer_pb2.ROLE_ASSISTANT,
    ]
    assert (await client.get_conversation(identifier)).message_count == 2
    renamed = await client.update_conversation(identifier, title="Autre")
    assert (renamed.title, renamed.rerank) == ("Autre", conversation_pb2.RERANK_PREFERENCE_OFF)
    preferring = await client.update_conversation(identifier, rerank="on")
    assert (preferring.title, preferring.rerank) == ("Autre", conversation_pb2.RERANK_PREFERENCE_ON)
    assert await client.delete_conversation(identifier)
    assert not await client.delete_conversation(identifier)
    with pytest.raises(NotFound):
        await client.get_conversation(identifier)


async def test_conversations_are_read_page_by_page(client: Client) -> None:
    for number in range(5):
        await client.create_conversation(title=str(number))
    assert [each.title async for each in client.conversations(page_size=2)] == ["0", "1", "2", "3", "4"]


async def test_a_history_of_ones_own_is_sent(client: Client, gateway: FakeGateway) -> None:
    await client.answer("Combien ?", history=[("user", "Un ?"), ("assistant", "Deux.")], keep=False)
    request = gateway.requests[-1]
    assert [(message.role, message.content) for message in request.history] == [
        (answer_pb2.ROLE_USER, "Un ?"), (answer_pb2.ROLE_ASSISTANT, "Deux."),
    ]
    assert request.HasField("keep")
    assert not request.keep


async def test_small_talk_is_an_outcome_of_its_own(client: Client) -> None:
    answer = await client.answer("Merci")
    assert (answer.outcome, answer.text, answer.sources) == ("small_talk", "Je vous en prie.", ())
