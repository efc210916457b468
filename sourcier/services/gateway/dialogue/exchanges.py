"""What is said in a conversation, in PostgreSQL: questions, their answers with sources, and how people rated them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any, Literal

from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, NotFound
from sourcier.services.chassis.ids import is_id, new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.storable import check_storable
from sourcier.services.gateway.dialogue import conversations, kept_evidence
from sourcier.services.gateway.dialogue.kept_evidence import KeptEvidence
from sourcier.services.gateway.events import Citation, DirectAnswer, Usage
from sourcier.services.gateway.history import HistoryMessage
from sourcier.services.index import pagination
from sourcier.services.index.pagination import Page

COMMENT_CHARACTERS_MAX = 2_000

State = Literal["unfinished", "finished", "cut_off", "failed"]
RatingName = Literal["", "up", "down"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What a marker of an answer pointed to."""

    marker: int
    """0 for what a direct answer came from."""
    document_id: str
    version_id: str
    title: str
    source: str
    page: int
    chunk_id: str
    """Empty for an FAQ entry."""
    chunk_index: int
    faq_entry_id: str = ""
    """Empty for a passage of a document."""
    documents: tuple[dict[str, str], ...] = ()
    """Of an FAQ entry: the documents that it rests on (`document_id`, `version_id`, `title`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """A question or an answer."""

    message_id: str
    conversation_id: str
    position: int
    role: Literal["user", "assistant"]
    content: str
    state: State
    outcome: str
    """Of a finished answer, the value of its `Outcome`; empty otherwise."""
    reason: str
    rewritten: str
    sources: tuple[Source, ...]
    model: str
    usage: Usage
    answer_id: str
    created_at: datetime
    rating: RatingName
    rating_comment: str
    evidence: KeptEvidence = field(default_factory=KeptEvidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The two messages of an exchange that has begun."""

    question_id: str
    message_id: str
    created_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How an answer ended."""

    state: State
    content: str
    outcome: str = ""
    reason: str = ""
    rewritten: str = ""
    sources: tuple[Source, ...] = ()
    model: str = ""
    usage: Usage = field(default_factory=Usage)
    evidence: KeptEvidence = field(default_factory=KeptEvidence)


def source_of(citation: Citation) -> Source:
    """Return what is kept of a citation."""
    passage = citation.passage
    return Source(
        marker=citation.marker, document_id=passage.document_id, version_id=passage.version_id, title=passage.title,
        source=passage.source, page=passage.page, chunk_id="" if passage.is_validated else passage.chunk_id,
        chunk_index=passage.chunk_index, faq_entry_id=passage.chunk_id if passage.is_validated else "",
        documents=tuple(map(asdict, passage.documents)),
    )


def source_of_direct(direct: DirectAnswer) -> Source:
    """Return what is kept of where a direct answer came from: an FAQ entry, or a chunk that it was made of."""
    return Source(
        marker=0, document_id=direct.document_id, version_id=direct.version_id, title=direct.source,
        source=f"faq:{direct.response_id}" if direct.response_id else "", page=0, chunk_id=direct.chunk_id,
        chunk_index=0, faq_entry_id=direct.response_id,
    )


async def list_messages(
    connection: Connection, *, tenant: str, conversation_id: str, page_size: int, page_token: str
) -> Page[Message]:
    """List the messages of a conversation, oldest first; raise `NotFound` where there is no such conversation."""
    page_size = pagination.check_page_size(page_size)
    after = pagination.read_page_token(page_token, start=pagination.FIRST_KEY)
    await conversations.get(connection, tenant=tenant, conversation_id=conversation_id)
    cursor = await connection.execute(LIST_MESSAGES, {
        "tenant": tenant, "conversation_id": conversation_id, "after": after, "limit": page_size + 1,
    })
    found = [_as_message(row) for row in await cursor.fetchall()]
    return pagination.make_page(found, page_size=page_size, key=lambda message: message.message_id)


async def history(
    connection: Connection, *, tenant: str, conversation_id: str, limit: int
) -> tuple[HistoryMessage, ...]:
    """Return the last messages that say something, oldest first; answers that failed say nothing."""
    cursor = await connection.execute(
        SELECT_HISTORY, {"tenant": tenant, "conversation_id": conversation_id, "limit": limit}
    )
    return tuple(HistoryMessage(role, content) for role, content in reversed(await cursor.fetchall()))


async def begin(
    connection: Connection, *, tenant: str, conversation_id: str, question: str, answer_id: str, messages_max: int
) -> Opened:
    """Append a question and its answer, unfinished; raises the errors of `conversations.take_places`."""
    position = await conversations.take_places(
        connection, tenant=tenant, conversation_id=conversation_id, question=question, messages_max=messages_max
    )
    ids = {"question_id": new_id(), "message_id": new_id()}
    cursor = await connection.execute(INSERT_EXCHANGE, ids | {
        "tenant": tenant, "conversation_id": conversation_id, "position": position, "question": question,
        "answer_id": answer_id,
    })
    row = await cursor.fetchone()
    assert row is not None
    return Opened(created_at=row[0], **ids)


async def end(connection: Connection, *, tenant: str, opened: Opened, ending: Ending) -> bool:
    """Write down how an answer ended; return False where its conversation was deleted meanwhile."""
    cursor = await connection.execute(END_ANSWER, {
        "tenant": tenant, "message_id": opened.message_id, "content": ending.content, "state": ending.state,
        "outcome": ending.outcome, "reason": ending.reason, "model": ending.model,
        "sources": json.dumps([_kept(source) for source in ending.sources]), **asdict(ending.usage),
        "evidence": kept_evidence.as_json(ending.evidence),
    })
    if cursor.rowcount == 1 and ending.rewritten:
        await connection.execute(REWRITE_QUESTION, {
            "tenant": tenant, "message_id": opened.question_id, "rewritten": ending.rewritten,
        })
    return cursor.rowcount == 1


async def get_exchange(connection: Connection, *, tenant: str, message_id: str) -> tuple[Message, Message]:
    """Return a question and its answer, by the answer's id; raise `NotFound`, or `FailedPrecondition` for a question's.
    """
    values = {"tenant": tenant, "message_id": message_id}
    answer = await _message(connection, values)
    if answer.role != "assistant":
        raise FailedPrecondition(f"{message_id} is a question; name the message of its answer", field="message_id")
    cursor = await connection.execute(SELECT_QUESTION, values | {
        "conversation_id": answer.conversation_id, "position": answer.position - 1,
    })
    row = await cursor.fetchone()
    assert row is not None
    return _as_message(row), answer


async def rate(
    connection: Connection, *, tenant: str, message_id: str, rating: RatingName, comment: str
) -> Message:
    """Rate an answer, or take its rating back where `rating` is empty; raise `NotFound`, or `FailedPrecondition` for
    a question."""
    if len(comment) > COMMENT_CHARACTERS_MAX:
        message = f"comment has {len(comment):,} characters; write at most {COMMENT_CHARACTERS_MAX:,}"
        raise InvalidArgument(message, field="comment")
    check_storable(comment, field="comment")
    values = {"tenant": tenant, "message_id": message_id, "rating": rating, "comment": comment}
    found = await _message(connection, values)
    if found.role != "assistant":
        raise FailedPrecondition(f"{message_id} is a question; rate its answer", field="message_id")
    await connection.execute(INSERT_RATING if rating else DELETE_RATING, values)
    return await _message(connection, values)


async def _message(connection: Connection, values: Mapping[str, Any]) -> Message:
    row = None
    if is_id(str(values["message_id"])):
        cursor = await connection.execute(SELECT_MESSAGE, values)
        row = await cursor.fetchone()
    if row is None:
        raise NotFound(f'the message "{str(values["message_id"])[:60]}" does not exist', field="message_id")
    return _as_message(row)


def _as_message(row: Sequence[Any]) -> Message:
    (message_id, conversation_id, position, role, content, state, outcome, reason, rewritten, sources, model,
     prompt_tokens, cached_tokens, completion_tokens, answer_id, created_at, rating, comment, evidence) = row
    return Message(
        message_id=str(message_id), conversation_id=str(conversation_id), position=position, role=role,
        content=content, state=state, outcome=outcome, reason=reason, rewritten=rewritten,
        sources=tuple(map(_as_source, sources)), model=model,
        usage=Usage(prompt_tokens, cached_tokens, completion_tokens), answer_id=str(answer_id),
        created_at=created_at, rating=rating, rating_comment=comment, evidence=kept_evidence.from_json(evidence),
    )


def _kept(source: Source) -> dict[str, Any]:
    """Return a source as it is written down; gateways of the version before do not know what only FAQ entries have."""
    written = asdict(source)
    return {name: value for name, value in written.items() if value or name not in ("faq_entry_id", "documents")}


def _as_source(kept: dict[str, Any]) -> Source:
    return Source(**kept | {"documents": tuple(kept.get("documents", ()))})


INSERT_EXCHANGE = """
insert into messages (message_id, tenant, conversation_id, position, role, content, state, answer_id, finished_at)
values (%(question_id)s, %(tenant)s, %(conversation_id)s, %(position)s, 'user', %(question)s, 'finished',
        %(answer_id)s, now()),
       (%(message_id)s, %(tenant)s, %(conversation_id)s, %(position)s + 1, 'assistant', '', 'unfinished',
        %(answer_id)s, null)
returning created_at
"""

END_ANSWER = """
update messages
set content = %(content)s, state = %(state)s, outcome = %(outcome)s, reason = %(reason)s, model = %(model)s,
    sources = %(sources)s::jsonb, prompt_tokens = %(prompt_tokens)s, cached_tokens = %(cached_tokens)s,
    completion_tokens = %(completion_tokens)s, evidence = %(evidence)s::jsonb, finished_at = now()
where tenant = %(tenant)s and message_id = %(message_id)s and state = 'unfinished'
"""

REWRITE_QUESTION = """
update messages set rewritten = %(rewritten)s where tenant = %(tenant)s and message_id = %(message_id)s
"""

# Statements are put together from constants of this module alone.
_MESSAGES = """
select message.message_id, message.conversation_id, message.position, message.role, message.content, message.state,
       message.outcome, message.reason, message.rewritten, message.sources, message.model, message.prompt_tokens,
       message.cached_tokens, message.completion_tokens, message.answer_id, message.created_at,
       coalesce(rating.rating, ''), coalesce(rating.comment, ''), message.evidence
from messages as message
left join ratings as rating on rating.message_id = message.message_id and rating.tenant = message.tenant
where message.tenant = %(tenant)s
"""

SELECT_MESSAGE = f"{_MESSAGES} and message.message_id = %(message_id)s"

SELECT_QUESTION = f"""
{_MESSAGES} and message.conversation_id = %(conversation_id)s and message.position = %(position)s
"""

LIST_MESSAGES = f"""
{_MESSAGES} and message.conversation_id = %(conversation_id)s and message.position > coalesce((
    select before.position from messages as before
    where before.tenant = %(tenant)s and before.conversation_id = %(conversation_id)s
      and before.message_id = %(after)s
), 0)
order by message.position
limit %(limit)s
"""  # noqa: S608

SELECT_HISTORY = """
select role, content from messages
where tenant = %(tenant)s and conversation_id = %(conversation_id)s and content <> '' and state <> 'failed'
order by position desc
limit %(limit)s
"""

INSERT_RATING = """
insert into ratings (message_id, tenant, rating, comment)
values (%(message_id)s, %(tenant)s, %(rating)s, %(comment)s)
on conflict (message_id, tenant) do update set rating = excluded.rating, comment = excluded.comment, rated_at = now()
"""

DELETE_RATING = "delete from ratings where tenant = %(tenant)s and message_id = %(message_id)s"
