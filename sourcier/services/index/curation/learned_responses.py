"""Learned responses: questions of an agent whose answers a person wrote or approved, bound to their documents.

A response answers while it is active. The commit of a document's new content, or its deletion, flags or retires what
rests on it in the same transaction (`OVERTAKE` and `OVERTAKE_DELETED`), so no answer outlives its document by a moment.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import dict_row
from psycopg.types.json import Jsonb

from sourcier.services.chassis.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    ResourceExhausted,
)
from sourcier.services.chassis.ids import is_id, new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.types import half_vector
from sourcier.services.chassis.storable import check_storable
from sourcier.services.index import pagination
from sourcier.services.index.curation.agents import Agent
from sourcier.services.index.curation.response_vectors import DELETE_OF_RESPONSE, INSERT_VECTORS
from sourcier.services.index.language.stop_words import fold
from sourcier.services.index.language.words import split_words
from sourcier.services.index.pagination import Page

FAQ_CATEGORY, FAQ_SOURCE = "FAQ", "FAQ validée"
STATES = ("active", "flagged", "retired")
QUESTION_CHARACTERS_MAX, ANSWER_CHARACTERS_MAX, LABEL_CHARACTERS_MAX = 2_000, 20_000, 500
DOCUMENTS_MAX, HEADINGS_MAX = 50, 20
KEY_BYTES_MAX = 2_500
"""What an entry of a B-tree takes, 2,704 bytes, less the agent's id: longer keys stand there as their hash."""


@dataclass(frozen=True, slots=True)
class BoundDocument:
    """A document that a response rests on, as it was when a person validated the answer."""

    document_id: str
    version_id: str
    title: str
    changed: bool
    """Whether it has other content by now, or is gone."""


@dataclass(frozen=True, slots=True)
class LearnedResponse:
    """A question and its validated answer."""

    response_id: str
    tenant: str
    agent: str
    """The agent's name."""
    question: str
    answer: str
    category: str
    source: str
    heading_path: tuple[str, ...]
    origin: str
    """`added` or `approved`."""
    answer_id: str
    state: str
    """`active`, `flagged` or `retired`."""
    state_reason: str
    """`DOCUMENT_CHANGED`, `DOCUMENT_DELETED` or `BY_HAND`; empty while it is active."""
    validated_by: str
    validated_at: datetime
    created_at: datetime
    updated_at: datetime
    documents: tuple[BoundDocument, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewResponse:
    """What a person validated."""

    question: str
    answer: str
    validated_by: str
    source: str = FAQ_SOURCE
    heading_path: tuple[str, ...] = ()
    origin: str = "added"
    answer_id: str = ""
    documents: tuple[tuple[str, str], ...] = ()
    """Ids of the documents it rests on, each with the version that was read; empty for the current one."""

    def __post_init__(self) -> None:
        """Raise `InvalidArgument` for a text that is empty, too long or cannot be stored."""
        check_text(self.question, field="question", characters_max=QUESTION_CHARACTERS_MAX)
        check_text(self.answer, field="answer", characters_max=ANSWER_CHARACTERS_MAX)
        check_text(self.validated_by, field="validated_by", characters_max=LABEL_CHARACTERS_MAX)
        check_text(self.source, field="source", characters_max=LABEL_CHARACTERS_MAX)
        for heading in self.heading_path[:HEADINGS_MAX]:
            check_text(heading, field="heading_path", characters_max=LABEL_CHARACTERS_MAX)
        _check_count(self.heading_path, field="heading_path", limit=HEADINGS_MAX)
        _check_count(self.documents, field="documents", limit=DOCUMENTS_MAX)


def check_text(text: str, *, field: str, characters_max: int) -> None:
    """Raise `InvalidArgument` for a text that is empty, too long or cannot be stored."""
    if not text.strip():
        raise InvalidArgument(f"{field} is empty; give it a text.", field=field)
    if len(text) > characters_max:
        raise InvalidArgument(f"{field} has {len(text):,} characters; use at most {characters_max:,}.", field=field)
    check_storable(text, field=field)


async def add_response(
    connection: Connection, *, agent: Agent, new: NewResponse, vector: bytes, space_id: str, responses_max: int
) -> LearnedResponse:
    """Add a response with the question's vector (float16, little-endian, L2 norm 1) in the agent's space.

    Raises `AlreadyExists` where the agent has the question, `NotFound` or `FailedPrecondition` where a document is gone
    or has other content than the version that was read, `ResourceExhausted` at the agent's limit.
    """
    if agent.response_count + agent.flagged_count >= responses_max:
        raise ResourceExhausted(
            f"The agent {agent.name!r} has {responses_max:,} FAQ entries, which is the limit; retire some "
            "(`sourcier faq retire`).", field="agent",
        )
    response_id = new_id()
    values = {
        "response_id": response_id, "tenant": agent.tenant, "agent_id": agent.agent_id,
        "question": new.question.strip(), "question_key": question_key(new.question), "answer": new.answer.strip(),
        "category": FAQ_CATEGORY, "source": new.source.strip(), "heading_path": Jsonb(list(new.heading_path)),
        "origin": new.origin, "answer_id": new.answer_id, "validated_by": new.validated_by.strip(),
    }
    cursor = await connection.execute(INSERT, values)
    if cursor.rowcount == 0:
        raise AlreadyExists(
            f"The agent {agent.name!r} has an answer to {new.question[:80]!r} already; correct it "
            "(`sourcier faq approve ID --answer …`) or retire it (`sourcier faq retire ID`).", field="question",
        )
    await _bind(connection, tenant=agent.tenant, response_id=response_id, documents=new.documents)
    await _write_vector(connection, agent.tenant, response_id, vector=vector, space_id=space_id)
    return await get_response(connection, tenant=agent.tenant, response_id=response_id)


async def confirm_response(
    connection: Connection, *, tenant: str, response_id: str, answer: str, validated_by: str, vector: bytes,
    space_id: str,
) -> LearnedResponse:
    """Let a response answer again, its answer corrected where one is given, bound to its documents as they are now.

    Documents that are gone are left behind. Raises `NotFound`, or `FailedPrecondition` where it was retired.
    """
    check_text(validated_by, field="validated_by", characters_max=LABEL_CHARACTERS_MAX)
    if answer:
        check_text(answer, field="answer", characters_max=ANSWER_CHARACTERS_MAX)
    values = {
        "tenant": tenant, "response_id": response_id, "answer": answer.strip(), "validated_by": validated_by.strip(),
    }
    # Documents before the response, as a commit does.
    await connection.execute(LOCK_BOUND, values)
    cursor = await connection.execute(CONFIRM, values)
    if cursor.rowcount == 0:
        raise FailedPrecondition("The FAQ entry was retired; add it anew.", field="entry_id")
    await connection.execute(UNBIND_GONE, values)
    await connection.execute(BIND_AGAIN, values)
    await _write_vector(connection, tenant, response_id, vector=vector, space_id=space_id)
    return await get_response(connection, tenant=tenant, response_id=response_id)


async def retire_response(connection: Connection, *, tenant: str, response_id: str) -> LearnedResponse:
    """Let a response answer no more; one that was retired stays as it is. Raises `NotFound`."""
    values = {"tenant": tenant, "response_id": response_id if is_id(response_id) else None}
    await connection.execute(RETIRE, values)
    await connection.execute(DELETE_OF_RESPONSE, values)
    return await get_response(connection, tenant=tenant, response_id=response_id)


async def get_response(connection: Connection, *, tenant: str, response_id: str) -> LearnedResponse:
    """Return a response; raise `NotFound`."""
    found = await _select(connection, tenant=tenant, response_id=response_id) if is_id(response_id) else []
    if not found:
        raise NotFound(f"There is no FAQ entry {response_id[:80]!r}.", field="entry_id")
    return found[0]


async def list_responses(
    connection: Connection, *, tenant: str, agent_id: str | None, states: Sequence[str], page_size: int = 0,
    page_token: str = "",
) -> Page[LearnedResponse]:
    """List responses in these states in the order they were added, those of one agent or all."""
    page_size = pagination.check_page_size(page_size)
    after = pagination.read_page_token(page_token, start=pagination.FIRST_KEY)
    found = await _select(
        connection, tenant=tenant, agent_id=agent_id, states=states, after=after, limit=page_size + 1
    )
    return pagination.make_page(found, page_size=page_size, key=lambda response: response.response_id)


def question_key(question: str) -> str:
    """Return what two writings of one question have in common: its words, in lower case without accents.

    Of a question so long that no index holds its words, their SHA-256 in hexadecimal.
    """
    key = " ".join(fold(word) for word in split_words(question)) or question.strip()
    written = key.encode("utf-8", "surrogatepass")
    return key if len(written) <= KEY_BYTES_MAX else hashlib.sha256(written).hexdigest()


async def _bind(
    connection: Connection, *, tenant: str, response_id: str, documents: Sequence[tuple[str, str]]
) -> None:
    """Bind a response to documents that are there, and locked until it is: a commit under way waits, or is seen."""
    for document_id, version_id in dict.fromkeys(documents):
        cursor = await connection.execute(
            LOCK_DOCUMENT, {"tenant": tenant, "document_id": document_id if is_id(document_id) else None}
        )
        row = await cursor.fetchone()
        if row is None:
            raise NotFound(
                f"There is no document {document_id[:80]!r} that can be found; name those that the answer rests on, or "
                "none.", field="documents",
            )
        current = str(row[0])
        values = {"tenant": tenant, "response_id": response_id, "document_id": document_id, "version_id": current}
        if version_id not in ("", current) and not await _same_content(connection, values | {"read": version_id}):
            raise FailedPrecondition(
                f"The document {row[1]!r} has other content than the answer rests on: it changed since. Ask again, and "
                "approve the new answer.", field="documents",
            )
        await connection.execute(BIND, values)


async def _same_content(connection: Connection, values: Mapping[str, Any]) -> bool:
    cursor = await connection.execute(
        SAME_CONTENT, dict(values) | {"read": values["read"] if is_id(values["read"]) else None}
    )
    return await cursor.fetchone() is not None


async def _write_vector(
    connection: Connection, tenant: str, response_id: str, *, vector: bytes, space_id: str
) -> None:
    await connection.execute(INSERT_VECTORS, {
        "tenant": tenant, "response_ids": [response_id], "vectors": [half_vector(vector)], "space_id": space_id,
    })


async def _select(
    connection: Connection, *, tenant: str, response_id: str | None = None, agent_id: str | None = None,
    states: Sequence[str] = STATES, after: str = pagination.FIRST_KEY, limit: int = 1,
) -> list[LearnedResponse]:
    async with connection.cursor(row_factory=dict_row) as cursor:
        await cursor.execute(SELECT, {
            "tenant": tenant, "response_id": response_id, "agent_id": agent_id, "states": list(states), "after": after,
            "limit": limit,
        })
        return [_response(row) for row in await cursor.fetchall()]


def _response(row: dict[str, Any]) -> LearnedResponse:
    documents = tuple(BoundDocument(**entry) for entry in row.pop("documents"))
    return LearnedResponse(**row | {"heading_path": tuple(row["heading_path"]), "documents": documents})


def _check_count(entries: Sequence[object], *, field: str, limit: int) -> None:
    if len(entries) > limit:
        raise InvalidArgument(f"{field} has {len(entries)} entries; use at most {limit}.", field=field)


INSERT = """
insert into learned_responses (response_id, tenant, agent_id, question, question_key, answer, category, source,
                               heading_path, origin, answer_id, validated_by)
values (%(response_id)s, %(tenant)s, %(agent_id)s, %(question)s, %(question_key)s, %(answer)s, %(category)s, %(source)s,
        %(heading_path)s, %(origin)s, %(answer_id)s, %(validated_by)s)
on conflict (agent_id, question_key, tenant) where state <> 'retired' do nothing
"""

LOCK_DOCUMENT = """
select current_version, title
from documents
where tenant = %(tenant)s and document_id = %(document_id)s and current_version is not null
for share
"""

SAME_CONTENT = """
select from document_versions as read
join document_versions as current using (content_sha256)
where read.tenant = %(tenant)s and read.version_id = %(read)s and read.document_id = %(document_id)s
  and current.version_id = %(version_id)s
"""

BIND = """
insert into learned_response_sources (response_id, tenant, document_id, version_id, content_sha256, title)
select %(response_id)s, tenant, document_id, current_version, content_sha256, title
from documents
where tenant = %(tenant)s and document_id = %(document_id)s
on conflict do nothing
"""

CONFIRM = """
update learned_responses
set state = 'active', state_reason = '', answer = coalesce(nullif(%(answer)s, ''), answer),
    validated_by = %(validated_by)s, validated_at = now(), updated_at = now()
where tenant = %(tenant)s and response_id = %(response_id)s and state <> 'retired'
"""

LOCK_BOUND = """
select from documents
where tenant = %(tenant)s and document_id in (
    select document_id from learned_response_sources where response_id = %(response_id)s
)
order by document_id
for share
"""

UNBIND_GONE = """
delete from learned_response_sources as source
where response_id = %(response_id)s and not exists (
    select from documents as document
    where document.tenant = %(tenant)s and document.document_id = source.document_id
      and document.current_version is not null
)
"""

BIND_AGAIN = """
update learned_response_sources as source
set version_id = document.current_version, content_sha256 = document.content_sha256, title = document.title
from documents as document
where source.response_id = %(response_id)s and document.tenant = %(tenant)s
  and document.document_id = source.document_id
"""

RETIRE = """
update learned_responses
set state = 'retired', state_reason = 'BY_HAND', updated_at = now()
where tenant = %(tenant)s and response_id = %(response_id)s and state <> 'retired'
"""

SELECT = """
select response_id, response.tenant, agent.name as agent, question, answer, category, source, heading_path, origin,
       answer_id, state, state_reason, validated_by, validated_at, response.created_at, response.updated_at,
       coalesce(bound.documents, '[]') as documents
from learned_responses as response
join agents as agent using (agent_id)
cross join lateral (
    select jsonb_agg(jsonb_build_object(
        'document_id', source.document_id, 'version_id', source.version_id, 'title', source.title,
        'changed', document.content_sha256 is distinct from source.content_sha256
    ) order by source.title, source.document_id) as documents
    from learned_response_sources as source
    left join documents as document on document.tenant = source.tenant and document.document_id = source.document_id
    where source.response_id = response.response_id
) as bound
where response.tenant = %(tenant)s
  and (%(response_id)s::uuid is null or response_id = %(response_id)s)
  and (%(agent_id)s::uuid is null or response.agent_id = %(agent_id)s)
  and state = any(%(states)s)
  and response_id > %(after)s
order by response_id
limit %(limit)s
"""

_OVERTAKE = """
update learned_responses as response
set state = case agent.on_document_change when 'retire' then 'retired' else 'flagged' end, state_reason = {reason},
    updated_at = now()
from learned_response_sources as source
join agents as agent on agent.tenant = source.tenant
where source.tenant = %(tenant)s and source.document_id = %(document_id)s
  and response.response_id = source.response_id and response.agent_id = agent.agent_id
  and response.state <> 'retired' {condition}
"""

OVERTAKE = _OVERTAKE.format(reason="'DOCUMENT_CHANGED'", condition="""and source.content_sha256 <> (
      select content_sha256 from document_versions where version_id = %(version_id)s
  )""")
"""What rests on another content than that of the version being committed answers no more."""

OVERTAKE_DELETED = _OVERTAKE.format(reason="'DOCUMENT_DELETED'", condition="")
"""What rests on a document that is being deleted answers no more."""

FORGET_OVERTAKEN = """
delete from learned_response_vectors
where response_id in (
    select response_id
    from learned_response_sources
    join learned_responses using (response_id)
    where learned_response_sources.tenant = %(tenant)s and document_id = %(document_id)s and state <> 'active'
)
"""
"""A statement of its own after those: it sees the vectors that were written until they had their locks."""
