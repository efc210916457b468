"""The conversations of the scripted gateway, in memory."""

from __future__ import annotations

from dataclasses import dataclass, field

from sourcier.gateway.v1 import answer_pb2, conversation_pb2
from sourcier.services.chassis import errors


@dataclass
class Conversations:
    """Conversations by id, and what was said in them."""

    kept: dict[str, conversation_pb2.Conversation] = field(default_factory=dict)
    messages: dict[str, list[conversation_pb2.ConversationMessage]] = field(default_factory=dict)

    def create(
        self, request: conversation_pb2.CreateConversationRequest
    ) -> conversation_pb2.CreateConversationResponse:
        """Begin one."""
        created = conversation_pb2.Conversation(
            conversation_id=f"conversation-{len(self.kept) + 1}", title=request.title, rerank=request.rerank or 1)
        self.kept[created.conversation_id] = created
        self.messages[created.conversation_id] = []
        return conversation_pb2.CreateConversationResponse(conversation=created)

    def get(self, request: conversation_pb2.GetConversationRequest) -> conversation_pb2.GetConversationResponse:
        """Return one."""
        return conversation_pb2.GetConversationResponse(conversation=self._found(request.conversation_id))

    def messages_of(self, conversation_id: str) -> list[conversation_pb2.ConversationMessage]:
        """Return what was said."""
        self._found(conversation_id)
        return self.messages[conversation_id]

    def keep(self, request: answer_pb2.AskRequest, answer: str) -> str:
        """Append a question and its answer; return the answer's id."""
        said = self.messages_of(request.conversation_id)
        first = len(said) + 1
        for position, role, content in (
            (first, answer_pb2.ROLE_USER, request.question), (first + 1, answer_pb2.ROLE_ASSISTANT, answer),
        ):
            said.append(conversation_pb2.ConversationMessage(
                message_id=f"message-{position}", conversation_id=request.conversation_id, position=position,
                role=role, content=content, state=conversation_pb2.MESSAGE_STATE_FINISHED,
                sources=[conversation_pb2.MessageSource(
                    marker=1, title="Charte du télétravail", source="charte.pdf", page=1)] if "[1]" in content else [],
            ))
        self.kept[request.conversation_id].message_count = len(said)
        return f"message-{first + 1}"

    def update(
        self, request: conversation_pb2.UpdateConversationRequest
    ) -> conversation_pb2.UpdateConversationResponse:
        """Change one."""
        found = self._found(request.conversation_id)
        if request.HasField("title"):
            found.title = request.title
        found.rerank = request.rerank or found.rerank
        return conversation_pb2.UpdateConversationResponse(conversation=found)

    def delete(
        self, request: conversation_pb2.DeleteConversationRequest
    ) -> conversation_pb2.DeleteConversationResponse:
        """Delete one."""
        existed = self.kept.pop(request.conversation_id, None) is not None
        self.messages.pop(request.conversation_id, None)
        return conversation_pb2.DeleteConversationResponse(existed=existed)

    def rate(self, request: conversation_pb2.RateMessageRequest) -> conversation_pb2.RateMessageResponse:
        """Rate an answer."""
        for said in self.messages.values():
            for message in said:
                if message.message_id == request.message_id:
                    message.rating, message.rating_comment = request.rating, request.comment
                    return conversation_pb2.RateMessageResponse(message=message)
        raise errors.NotFound(f'the message "{request.message_id}" does not exist', field="message_id")

    def _found(self, conversation_id: str) -> conversation_pb2.Conversation:
        if conversation_id not in self.kept:
            raise errors.NotFound(f'the conversation "{conversation_id}" does not exist', field="conversation_id")
        return self.kept[conversation_id]
