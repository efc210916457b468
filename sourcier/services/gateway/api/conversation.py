"""`ConversationService`: what is kept of conversations, listed, changed, rated and deleted."""

from __future__ import annotations

from typing import Any

import grpc.aio

from sourcier.gateway.v1 import conversation_pb2, conversation_pb2_grpc
from sourcier.services.chassis.grpc.serving import tenant_of
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.gateway.contract.conversations import (
    conversation_message,
    exchange_message,
    preference_of,
    rating_of,
)
from sourcier.services.gateway.dialogue import conversations, exchanges
from sourcier.services.gateway.dialogue.conversations import Preference

Context = grpc.aio.ServicerContext[Any, Any]


class ConversationServer(conversation_pb2_grpc.ConversationServiceServicer):
    """Proto on one side, the tables on the other."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def CreateConversation(
        self, request: conversation_pb2.CreateConversationRequest, context: Context
    ) -> conversation_pb2.CreateConversationResponse:
        """Begin a conversation."""
        tenant = tenant_of(context)
        preference = preference_of(request.rerank) or Preference.SERVICE
        async with self._database.transaction(tenant=tenant) as connection:
            created = await conversations.create(
                connection, tenant=tenant, title=request.title, preference=preference
            )
        return conversation_pb2.CreateConversationResponse(conversation=conversation_message(created))

    async def GetConversation(
        self, request: conversation_pb2.GetConversationRequest, context: Context
    ) -> conversation_pb2.GetConversationResponse:
        """Return a conversation."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            found = await conversations.get(connection, tenant=tenant, conversation_id=request.conversation_id)
        return conversation_pb2.GetConversationResponse(conversation=conversation_message(found))

    async def ListConversations(
        self, request: conversation_pb2.ListConversationsRequest, context: Context
    ) -> conversation_pb2.ListConversationsResponse:
        """List conversations."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            page = await conversations.list_conversations(
                connection, tenant=tenant, page_size=request.page_size, page_token=request.page_token
            )
        return conversation_pb2.ListConversationsResponse(
            conversations=map(conversation_message, page.items), next_page_token=page.next_page_token
        )

    async def ListMessages(
        self, request: conversation_pb2.ListMessagesRequest, context: Context
    ) -> conversation_pb2.ListMessagesResponse:
        """List the messages of a conversation."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            page = await exchanges.list_messages(
                connection, tenant=tenant, conversation_id=request.conversation_id, page_size=request.page_size,
                page_token=request.page_token,
            )
        return conversation_pb2.ListMessagesResponse(
            messages=map(exchange_message, page.items), next_page_token=page.next_page_token
        )

    async def UpdateConversation(
        self, request: conversation_pb2.UpdateConversationRequest, context: Context
    ) -> conversation_pb2.UpdateConversationResponse:
        """Change a conversation."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            updated = await conversations.update(
                connection, tenant=tenant, conversation_id=request.conversation_id,
                title=request.title if request.HasField("title") else None,
                preference=preference_of(request.rerank),
            )
        return conversation_pb2.UpdateConversationResponse(conversation=conversation_message(updated))

    async def DeleteConversation(
        self, request: conversation_pb2.DeleteConversationRequest, context: Context
    ) -> conversation_pb2.DeleteConversationResponse:
        """Delete a conversation."""
        tenant = tenant_of(context)
        async with self._database.transaction(tenant=tenant) as connection:
            existed = await conversations.delete(
                connection, tenant=tenant, conversation_id=request.conversation_id
            )
        return conversation_pb2.DeleteConversationResponse(existed=existed)

    async def RateMessage(
        self, request: conversation_pb2.RateMessageRequest, context: Context
    ) -> conversation_pb2.RateMessageResponse:
        """Rate an answer."""
        tenant = tenant_of(context)
        rating = rating_of(request.rating)
        async with self._database.transaction(tenant=tenant) as connection:
            rated = await exchanges.rate(
                connection, tenant=tenant, message_id=request.message_id, rating=rating, comment=request.comment
            )
        return conversation_pb2.RateMessageResponse(message=exchange_message(rated))
