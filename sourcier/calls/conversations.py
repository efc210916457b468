"""The calls on conversations: begin, list, read, change, rate, delete."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Literal

from sourcier.calls.base import Calls, pages
from sourcier.gateway.v1 import conversation_pb2
from sourcier.options import chosen, message

RerankName = Literal["service", "on", "off"]
RatingName = Literal["up", "down", "none"]


class ConversationCalls(Calls):
    """Conversations; `ask` and `answer` continue one with `conversation_id`."""

    async def create_conversation(
        self, *, title: str = "", rerank: RerankName = "service", timeout_seconds: float | None = None
    ) -> conversation_pb2.Conversation:
        """Begin a conversation; without a title it gets the beginning of its first question.

        >>> async with Client("localhost:8080") as client:
        ...     conversation = await client.create_conversation(title="Télétravail")
        ...     answer = await client.answer("Combien de jours ?", conversation_id=conversation.conversation_id)
        ...     rated = await client.rate_message(answer.message_id, "up")
        >>> answer.text, rated.rating == 1
        ('Deux jours par semaine [1].', True)
        """
        request = conversation_pb2.CreateConversationRequest(title=title, rerank=_preference(rerank))
        return (await self._unary(self._conversations.CreateConversation, request, timeout_seconds)).conversation

    async def get_conversation(
        self, conversation_id: str, *, timeout_seconds: float | None = None
    ) -> conversation_pb2.Conversation:
        """Return a conversation; raises NotFound."""
        request = conversation_pb2.GetConversationRequest(conversation_id=conversation_id)
        return (await self._unary(self._conversations.GetConversation, request, timeout_seconds)).conversation

    async def conversations(self, *, page_size: int = 200) -> AsyncGenerator[conversation_pb2.Conversation, None]:
        """Yield conversations, the last one used first."""
        async def page(token: str) -> conversation_pb2.ListConversationsResponse:
            return await self._unary(self._conversations.ListConversations, conversation_pb2.ListConversationsRequest(
                page_size=page_size, page_token=token), None)

        async for response in pages(page):
            for conversation in response.conversations:
                yield conversation

    async def messages(
        self, conversation_id: str, *, page_size: int = 200
    ) -> AsyncGenerator[conversation_pb2.ConversationMessage, None]:
        """Yield the questions and answers of a conversation, oldest first; raises NotFound."""
        async def page(token: str) -> conversation_pb2.ListMessagesResponse:
            return await self._unary(self._conversations.ListMessages, conversation_pb2.ListMessagesRequest(
                conversation_id=conversation_id, page_size=page_size, page_token=token), None)

        async for response in pages(page):
            for each in response.messages:
                yield each

    async def update_conversation(
        self, conversation_id: str, *, title: str | None = None, rerank: RerankName | None = None,
        timeout_seconds: float | None = None,
    ) -> conversation_pb2.Conversation:
        """Change a conversation; what is left out stays as it is. Raises NotFound."""
        request = conversation_pb2.UpdateConversationRequest(conversation_id=conversation_id, title=title)
        if rerank is not None:
            request.rerank = _preference(rerank)
        return (await self._unary(self._conversations.UpdateConversation, request, timeout_seconds)).conversation

    async def delete_conversation(self, conversation_id: str, *, timeout_seconds: float | None = None) -> bool:
        """Delete a conversation with its messages and ratings; return whether it existed."""
        request = conversation_pb2.DeleteConversationRequest(conversation_id=conversation_id)
        return (await self._unary(self._conversations.DeleteConversation, request, timeout_seconds)).existed

    async def rate_message(
        self, message_id: str, rating: RatingName, *, comment: str = "", timeout_seconds: float | None = None
    ) -> conversation_pb2.ConversationMessage:
        """Rate an answer; a second rating replaces the first, `none` takes it back. Raises NotFound."""
        request = message(
            conversation_pb2.RateMessageRequest, message_id=message_id, comment=comment,
            rating=chosen(conversation_pb2.Rating, rating, RatingName, field="rating"),
        )
        return (await self._unary(self._conversations.RateMessage, request, timeout_seconds)).message


def _preference(rerank: RerankName) -> conversation_pb2.RerankPreference.ValueType:
    return chosen(conversation_pb2.RerankPreference, rerank, RerankName, field="rerank")
