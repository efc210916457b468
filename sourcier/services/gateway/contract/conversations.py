"""Conversations as the contract tells them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sourcier.gateway.v1 import answer_pb2, conversation_pb2
from sourcier.services.chassis.grpc.serving import require
from sourcier.services.gateway.contract.answers import citation_message, withheld_message
from sourcier.services.gateway.contract.knowledge import timestamp
from sourcier.services.gateway.contract.places import passage_places
from sourcier.services.gateway.dialogue.conversations import Conversation, Preference
from sourcier.services.gateway.dialogue.exchanges import Message, RatingName, Source
from sourcier.services.gateway.history import HistoryMessage
from sourcier.services.index.search.passages import Passage

HISTORY_MESSAGES_MAX = 50
HISTORY_CHARACTERS_MAX = 20_000

_ROLES: dict[int, Literal["user", "assistant"]] = {
    answer_pb2.ROLE_USER: "user", answer_pb2.ROLE_ASSISTANT: "assistant",
}
_ROLE_MESSAGES = {"user": answer_pb2.ROLE_USER, "assistant": answer_pb2.ROLE_ASSISTANT}
_RATINGS: dict[int, RatingName] = {
    conversation_pb2.RATING_UP: "up", conversation_pb2.RATING_DOWN: "down", conversation_pb2.RATING_NONE: "",
}
_RATING_MESSAGES = {
    "": conversation_pb2.RATING_UNSPECIFIED, "up": conversation_pb2.RATING_UP, "down": conversation_pb2.RATING_DOWN,
}
_PREFERENCES: dict[int, Preference] = {
    conversation_pb2.RERANK_PREFERENCE_SERVICE: Preference.SERVICE,
    conversation_pb2.RERANK_PREFERENCE_ON: Preference.ON,
    conversation_pb2.RERANK_PREFERENCE_OFF: Preference.OFF,
}
_PREFERENCE_MESSAGES = {
    Preference.SERVICE: conversation_pb2.RERANK_PREFERENCE_SERVICE,
    Preference.ON: conversation_pb2.RERANK_PREFERENCE_ON,
    Preference.OFF: conversation_pb2.RERANK_PREFERENCE_OFF,
}


def kept_history(messages: Sequence[answer_pb2.HistoryMessage]) -> tuple[HistoryMessage, ...]:
    """Return the history that a caller keeps itself; raise InvalidArgument for one that is out of bounds."""
    require(len(messages) <= HISTORY_MESSAGES_MAX,
            f"history has {len(messages)} messages; send the last {HISTORY_MESSAGES_MAX} at most", field="history")
    history = []
    for place, message in enumerate(messages):
        field = f"history[{place}]"
        require(message.role in _ROLES, f"{field}.role is {message.role}; send ROLE_USER or ROLE_ASSISTANT",
                field=f"{field}.role")
        require(bool(message.content.strip()), f"{field}.content is empty; leave the message out",
                field=f"{field}.content")
        require(len(message.content) <= HISTORY_CHARACTERS_MAX,
                f"{field}.content has {len(message.content):,} characters; send at most {HISTORY_CHARACTERS_MAX:,}",
                field=f"{field}.content")
        history.append(HistoryMessage(_ROLES[message.role], message.content))
    return tuple(history)


def preference_of(preference: int) -> Preference | None:
    """Return a preference, None where it is not specified."""
    if preference == conversation_pb2.RERANK_PREFERENCE_UNSPECIFIED:
        return None
    require(preference in _PREFERENCES,
            f"rerank is {preference}; send RERANK_PREFERENCE_SERVICE, _ON or _OFF", field="rerank")
    return _PREFERENCES[preference]


def rating_of(rating: int) -> RatingName:
    """Return a rating's name, empty for one that is taken back."""
    require(rating in _RATINGS, f"rating is {rating}; send RATING_UP, RATING_DOWN or RATING_NONE", field="rating")
    return _RATINGS[rating]


def conversation_message(conversation: Conversation) -> conversation_pb2.Conversation:
    """Return a conversation."""
    return conversation_pb2.Conversation(
        conversation_id=conversation.conversation_id, title=conversation.title,
        rerank=_PREFERENCE_MESSAGES[Preference(conversation.rerank)], message_count=conversation.message_count,
        created_at=timestamp(conversation.created_at), updated_at=timestamp(conversation.updated_at),
    )


def exchange_message(message: Message) -> conversation_pb2.ConversationMessage:
    """Return a question or an answer."""
    passages = message.evidence.passages
    return conversation_pb2.ConversationMessage(
        message_id=message.message_id, conversation_id=message.conversation_id, position=message.position,
        role=_ROLE_MESSAGES[message.role], content=message.content,
        state=conversation_pb2.MessageState.Value(f"MESSAGE_STATE_{message.state.upper()}"),
        outcome=_outcome(message.outcome), reason=message.reason, rewritten=message.rewritten,
        sources=[_source(source, passages.get(source.chunk_id or source.faq_entry_id)) for source in message.sources],
        citations=map(citation_message, message.evidence.citations),
        withheld=map(withheld_message, message.evidence.withheld),
        model=message.model,
        usage=answer_pb2.Usage(
            prompt_tokens=message.usage.prompt_tokens, cached_tokens=message.usage.cached_tokens,
            completion_tokens=message.usage.completion_tokens,
        ),
        answer_id=message.answer_id, rating=_RATING_MESSAGES[message.rating], rating_comment=message.rating_comment,
        created_at=timestamp(message.created_at),
    )


def _source(source: Source, passage: Passage | None) -> conversation_pb2.MessageSource:
    """Return what a marker pointed to, with the passage as it was, where that was kept."""
    told = conversation_pb2.MessageSource(
        marker=source.marker, document_id=source.document_id, version_id=source.version_id, title=source.title,
        source=source.source, page=source.page, chunk_id=source.chunk_id, chunk_index=source.chunk_index,
        faq_entry_id=source.faq_entry_id,
        documents=[answer_pb2.SourceDocument(**document) for document in source.documents],
    )
    if passage is not None:
        told.MergeFrom(conversation_pb2.MessageSource(
            text=passage.text, heading_path=passage.heading_path, start_character=passage.start_character,
            end_character=passage.end_character, places=passage_places(passage),
        ))
    return told


def _outcome(outcome: str) -> answer_pb2.AnswerOutcome.ValueType:
    """Return an outcome by its name; a newer gateway may have written one that this one does not know."""
    name = f"ANSWER_OUTCOME_{outcome.upper()}"
    known = name in answer_pb2.AnswerOutcome.keys()  # noqa: SIM118 - the wrapper of an enum is no mapping
    return answer_pb2.AnswerOutcome.Value(name) if known else answer_pb2.ANSWER_OUTCOME_UNSPECIFIED
