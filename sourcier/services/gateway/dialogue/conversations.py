"""Conversations in PostgreSQL: their titles, their preference, and how many messages they have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from typing import Any

from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, NotFound
from sourcier.services.chassis.ids import is_id, new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.storable import check_storable
from sourcier.services.index import pagination
from sourcier.services.index.pagination import Page

TITLE_CHARACTERS_MAX = 200
FIRST_TITLE_CHARACTERS = 80


class Preference(Enum):
    """Whether the answers of a conversation re-rank, unless a request says otherwise (SPEC R2)."""

    SERVICE = None
    """As the service's setting says."""
    ON = True
    OFF = False


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation, without its messages; the fields in the order of `_CONVERSATION`."""

    conversation_id: str
    title: str
    rerank: bool | None
    """The value of its `Preference`."""
    message_count: int
    created_at: datetime
    updated_at: datetime
    recency: str
    """A UUIDv7 of the last use."""


async def create(connection: Connection, *, tenant: str, title: str, preference: Preference) -> Conversation:
    """Begin a conversation."""
    conversation_id = new_id()
    values = {
        "conversation_id": conversation_id, "tenant": tenant, "title": checked_title(title), "rerank": preference.value,
    }
    return await _conversation(connection, INSERT_CONVERSATION, values)


async def get(connection: Connection, *, tenant: str, conversation_id: str) -> Conversation:
    """Return a conversation; raise `NotFound`."""
    values = {"tenant": tenant, "conversation_id": _checked_id(conversation_id)}
    return await _conversation(connection, SELECT_CONVERSATION, values)


async def list_conversations(
    connection: Connection, *, tenant: str, page_size: int, page_token: str
) -> Page[Conversation]:
    """List conversations, the last one used first."""
    page_size = pagination.check_page_size(page_size)
    before = pagination.read_page_token(page_token, start=pagination.LAST_KEY)
    cursor = await connection.execute(
        LIST_CONVERSATIONS, {"tenant": tenant, "before": before, "limit": page_size + 1}
    )
    found = [_as_conversation(row) for row in await cursor.fetchall()]
    return pagination.make_page(found, page_size=page_size, key=lambda conversation: conversation.recency)


async def update(
    connection: Connection, *, tenant: str, conversation_id: str, title: str | None = None,
    preference: Preference | None = None,
) -> Conversation:
    """Change a conversation's title, unless None, and its preference, unless None; raise `NotFound`."""
    values = {
        "tenant": tenant, "conversation_id": _checked_id(conversation_id), "recency": new_id(),
        "title": None if title is None else checked_title(title),
        "keeps_rerank": preference is None, "rerank": None if preference is None else preference.value,
    }
    return await _conversation(connection, UPDATE_CONVERSATION, values)


async def delete(connection: Connection, *, tenant: str, conversation_id: str) -> bool:
    """Delete a conversation with its messages and ratings; return whether it existed."""
    if not is_id(conversation_id):
        return False
    cursor = await connection.execute(
        DELETE_CONVERSATION, {"tenant": tenant, "conversation_id": conversation_id}
    )
    return cursor.rowcount == 1


async def delete_unused(connection: Connection, *, days: int, limit: int) -> int:
    """Delete the conversations unused for longest, of any tenant, with their messages and ratings; return how many.

    In a transaction of `ALL_TENANTS`. One that is being asked in is left alone.
    """
    cursor = await connection.execute(DELETE_UNUSED, {"days": days, "limit": limit})
    return cursor.rowcount


async def delete_old_messages(connection: Connection, *, days: int, limit: int) -> int:
    """Delete the oldest questions and answers, of any tenant, whatever their conversation; return how many.

    In a transaction of `ALL_TENANTS`. A title that a deleted question gave goes with it. Places are not given anew.
    """
    cursor = await connection.execute(DELETE_OLD_MESSAGES, {"days": days, "limit": limit})
    row = await cursor.fetchone()
    return 0 if row is None else int(row[0])


async def take_places(
    connection: Connection, *, tenant: str, conversation_id: str, question: str, messages_max: int
) -> int:
    """Count an exchange in, and return the place of its question, from 1; a first question gives the title.

    The update locks the conversation's row, so that two questions at once do not take one place. Raises `NotFound`,
    and `FailedPrecondition` where the conversation is full.
    """
    cursor = await connection.execute(COUNT_EXCHANGE, {
        "tenant": tenant, "conversation_id": _checked_id(conversation_id), "recency": new_id(),
        "title": first_title(question),
    })
    row = await cursor.fetchone()
    if row is None:
        raise _not_found(conversation_id)
    count = int(row[0]) - 2
    check_room(count, messages_max=messages_max)
    return count + 1


def check_room(message_count: int, *, messages_max: int) -> None:
    """Raise `FailedPrecondition` where a conversation has no room for a question and its answer."""
    if message_count + 2 > messages_max:
        raise FailedPrecondition(
            f"the conversation has {message_count:,} messages, and {messages_max:,} is the most; begin a new one",
            field="conversation_id",
        )


def checked_title(title: str) -> str:
    """Return the title without surrounding white space; raise `InvalidArgument` for one that cannot be kept."""
    title = " ".join(title.split())
    if len(title) > TITLE_CHARACTERS_MAX:
        message = f"title has {len(title)} characters; use at most {TITLE_CHARACTERS_MAX}"
        raise InvalidArgument(message, field="title")
    check_storable(title, field="title")
    return title


def first_title(question: str) -> str:
    """Return the title that a question gives: its beginning, cut between words."""
    line = " ".join(question.split())
    if len(line) <= FIRST_TITLE_CHARACTERS:
        return line
    cut = line[:FIRST_TITLE_CHARACTERS]
    return (cut.rpartition(" ")[0] or cut).rstrip(" ,;:") + "…"


def _checked_id(conversation_id: str) -> str:
    if not is_id(conversation_id):
        raise _not_found(conversation_id)
    return conversation_id


def _not_found(conversation_id: str) -> NotFound:
    return NotFound(f'the conversation "{conversation_id[:60]}" does not exist', field="conversation_id")


async def _conversation(connection: Connection, statement: str, values: Mapping[str, Any]) -> Conversation:
    cursor = await connection.execute(statement, values)
    row = await cursor.fetchone()
    if row is None:
        raise _not_found(str(values["conversation_id"]))
    return _as_conversation(row)


def _as_conversation(row: Sequence[Any]) -> Conversation:
    conversation_id, title, rerank, message_count, created_at, updated_at, recency = row
    return Conversation(str(conversation_id), title, rerank, message_count, created_at, updated_at, str(recency))


_CONVERSATION = "conversation_id, title, rerank, message_count, created_at, updated_at, recency"

# Statements are put together from constants of this module alone.
INSERT_CONVERSATION = f"""
insert into conversations (conversation_id, tenant, title, rerank, recency)
values (%(conversation_id)s, %(tenant)s, %(title)s, %(rerank)s, %(conversation_id)s)
returning {_CONVERSATION}
"""  # noqa: S608

SELECT_CONVERSATION = f"""
select {_CONVERSATION} from conversations
where tenant = %(tenant)s and conversation_id = %(conversation_id)s
"""  # noqa: S608

LIST_CONVERSATIONS = f"""
select {_CONVERSATION} from conversations
where tenant = %(tenant)s and recency < %(before)s
order by recency desc
limit %(limit)s
"""  # noqa: S608

UPDATE_CONVERSATION = f"""
update conversations
set title = coalesce(%(title)s, title), rerank = case when %(keeps_rerank)s then rerank else %(rerank)s::boolean end,
    recency = %(recency)s, updated_at = now()
where tenant = %(tenant)s and conversation_id = %(conversation_id)s
returning {_CONVERSATION}
"""  # noqa: S608

DELETE_CONVERSATION = """
delete from conversations where tenant = %(tenant)s and conversation_id = %(conversation_id)s
"""

DELETE_UNUSED = """
delete from conversations
where conversation_id in (
    select conversation_id from conversations
    where updated_at < now() - make_interval(days => %(days)s)
    order by updated_at
    limit %(limit)s
    for update skip locked
)
"""

# By the id, which begins with the time in milliseconds: no further index is kept for it.
DELETE_OLD_MESSAGES = """
with old as materialized (
    select message_id, tenant from messages
    where message_id < (lpad(to_hex((extract(epoch from now() - make_interval(days => %(days)s)) * 1000)::bigint), 12,
                             '0') || '00000000000000000000')::uuid
    order by message_id
    limit %(limit)s
    for update skip locked
),
gone as (
    delete from messages
    using old
    where (messages.message_id, messages.tenant) = (old.message_id, old.tenant)
    returning messages.conversation_id, messages.tenant, messages.position, messages.content
),
untitled as (
    update conversations as conversation set title = ''
    from gone
    where gone.position = 1
      and (conversation.conversation_id, conversation.tenant) = (gone.conversation_id, gone.tenant)
      and starts_with(regexp_replace(gone.content, '\\s+', ' ', 'g'), rtrim(conversation.title, '…'))
)
select count(*) from gone
"""

COUNT_EXCHANGE = """
update conversations
set message_count = message_count + 2, recency = %(recency)s, updated_at = now(),
    title = case when title = '' then %(title)s else title end
where tenant = %(tenant)s and conversation_id = %(conversation_id)s
returning message_count
"""
