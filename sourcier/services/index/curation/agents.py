"""Agents: a collection to answer from, how its chunks are to be indexed, and the answers that people validated for it.

An agent names a collection and does not own it: several may answer from the same documents, each with its own
validated answers. While an agent names it, a collection cannot be deleted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from sourcier.services.chassis.errors import AlreadyExists, InvalidArgument, NotFound
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.storable import check_storable
from sourcier.services.index import pagination
from sourcier.services.index.collections.collections import get_collection
from sourcier.services.index.pagination import Page

MADE_METHODS = ("qa_atomic", "classic")
"""Indexing methods for which the language model reads chunks."""
INDEXING_METHODS = (*MADE_METHODS, "none")
MODES = ("injection", "tools")
DOCUMENT_CHANGE_POLICIES = ("flag", "retire")
NAME_CHARACTERS_MAX = 200
DESCRIPTION_CHARACTERS_MAX = 2_000
CATEGORIES_MAX, CATEGORY_CHARACTERS_MAX = 100, 200


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent and how many validated answers it has."""

    agent_id: str
    tenant: str
    name: str
    description: str
    collection: str
    """The collection's name."""
    space_id: str
    """The space that the collection answers from now."""
    indexing_method: str
    """`qa_atomic`, `classic` or `none`."""
    on_document_change: str
    """`flag` or `retire`: what becomes of a validated answer whose document changed."""
    response_count: int
    """Validated answers that answer now."""
    flagged_count: int
    """Those that wait for a person, because their document changed."""
    created_at: datetime
    updated_at: datetime
    categories: Sequence[str] = ()
    """Those that the collection's chunks may have; empty leaves them to the language model."""
    mode: str | None = None
    """`injection` or `tools`: who searches; None leaves it to the service's setting."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentChange:
    """What is to be changed; None leaves it as it is."""

    description: str | None = None
    collection: str | None = None
    indexing_method: str | None = None
    on_document_change: str | None = None
    categories: tuple[str, ...] | None = None
    mode: str | None = None
    """Empty leaves it to the service's setting from then on."""


async def create_agent(
    connection: Connection, *, tenant: str, name: str, collection: str, description: str = "",
    indexing_method: str = "qa_atomic", on_document_change: str = "flag", categories: tuple[str, ...] = (),
    mode: str | None = None,
) -> Agent:
    """Create an agent; raise `AlreadyExists`, `InvalidArgument`, or `NotFound` where there is no such collection."""
    check_name(name, what="an agent")
    change = AgentChange(
        description=description, indexing_method=indexing_method, on_document_change=on_document_change,
        categories=categories, mode=mode,
    )
    _check(change)
    owner = await get_collection(connection, tenant=tenant, name=collection)
    cursor = await connection.execute(INSERT, {
        "agent_id": new_id(), "tenant": tenant, "name": name, "description": description,
        "collection_id": owner.collection_id, "indexing_method": indexing_method,
        "on_document_change": on_document_change, "categories": Jsonb(list(categories)), "mode": mode,
    })
    if cursor.rowcount == 0:
        raise AlreadyExists(f"There is already an agent {name!r}.", field="name")
    return await get_agent(connection, tenant=tenant, name=name)


async def get_agent(connection: Connection, *, tenant: str, name: str, counted: bool = True) -> Agent:
    """Return an agent by its name; raise `NotFound`.

    Counting is most of the time where an agent has many validated answers; uncounted, both counts are 0.
    """
    check_storable(name, field="agent")
    found = await _select(connection, tenant=tenant, name=name, counted=counted)
    if not found:
        raise NotFound(f"There is no agent {name!r}.", field="agent")
    return found[0]


async def list_agents(
    connection: Connection, *, tenant: str, page_size: int = 0, page_token: str = ""
) -> Page[Agent]:
    """List the tenant's agents in the order they were created."""
    page_size = pagination.check_page_size(page_size)
    after = pagination.read_page_token(page_token, start=pagination.FIRST_KEY)
    found = await _select(connection, tenant=tenant, after=after, limit=page_size + 1)
    return pagination.make_page(found, page_size=page_size, key=lambda agent: agent.agent_id)


async def update_agent(connection: Connection, *, tenant: str, name: str, change: AgentChange) -> Agent:
    """Change an agent; raise `NotFound`, `InvalidArgument`."""
    check_storable(name, field="name")
    _check(change)
    values: dict[str, Any] = {
        "tenant": tenant, "name": name, "description": change.description, "collection_id": None,
        "indexing_method": change.indexing_method, "on_document_change": change.on_document_change,
        "categories": None if change.categories is None else Jsonb(list(change.categories)), "mode": change.mode,
    }
    if change.collection is not None:
        owner = await get_collection(connection, tenant=tenant, name=change.collection)
        values["collection_id"] = owner.collection_id
    await connection.execute(UPDATE, values)
    return await get_agent(connection, tenant=tenant, name=name)


async def delete_agent(connection: Connection, *, tenant: str, name: str) -> bool:
    """Delete an agent with its deployments and validated answers; return whether there was one."""
    check_storable(name, field="name")
    cursor = await connection.execute(DELETE, {"tenant": tenant, "name": name})
    return cursor.rowcount == 1


def check_name(name: str, *, what: str) -> None:
    """Raise `InvalidArgument` for a name that people could not tell from another."""
    if not name.strip() or len(name) > NAME_CHARACTERS_MAX or not name.isprintable():
        raise InvalidArgument(
            f"The name of {what} is 1 to {NAME_CHARACTERS_MAX} printable characters, not {name[:80]!r}.", field="name"
        )


def _check(change: AgentChange) -> None:
    if change.indexing_method is not None and change.indexing_method not in INDEXING_METHODS:
        raise InvalidArgument(
            f"indexing_method cannot be {change.indexing_method!r}: use {' or '.join(INDEXING_METHODS)}.",
            field="indexing_method",
        )
    if change.on_document_change is not None and change.on_document_change not in DOCUMENT_CHANGE_POLICIES:
        raise InvalidArgument(
            f"on_document_change cannot be {change.on_document_change!r}: use "
            f"{' or '.join(DOCUMENT_CHANGE_POLICIES)}.", field="on_document_change",
        )
    if change.mode and change.mode not in MODES:
        raise InvalidArgument(f"mode cannot be {change.mode!r}: use {' or '.join(MODES)}.", field="mode")
    _check_categories(change.categories or ())
    check_storable(change.description or "", field="description")
    if change.description is not None and len(change.description) > DESCRIPTION_CHARACTERS_MAX:
        raise InvalidArgument(
            f"description has {len(change.description):,} characters; use at most {DESCRIPTION_CHARACTERS_MAX:,}.",
            field="description",
        )


def _check_categories(categories: tuple[str, ...]) -> None:
    if len(categories) > CATEGORIES_MAX:
        raise InvalidArgument(
            f"categories has {len(categories)} entries; use at most {CATEGORIES_MAX}.", field="categories"
        )
    wrong = next((
        name for name in categories if not name.strip() or len(name) > CATEGORY_CHARACTERS_MAX or not name.isprintable()
    ), None)
    if wrong is not None:
        raise InvalidArgument(
            f"categories cannot hold {wrong[:80]!r}: a category is 1 to {CATEGORY_CHARACTERS_MAX} printable "
            "characters.", field="categories",
        )


async def _select(
    connection: Connection, *, tenant: str, name: str | None = None, after: str = pagination.FIRST_KEY, limit: int = 1,
    counted: bool = True,
) -> list[Agent]:
    values = {"tenant": tenant, "name": name, "after": after, "limit": limit, "counted": counted}
    async with connection.cursor(row_factory=class_row(Agent)) as cursor:
        await cursor.execute(SELECT, values)
        return await cursor.fetchall()


INSERT = """
insert into agents (agent_id, tenant, name, description, collection_id, indexing_method, on_document_change,
                    categories, mode)
values (%(agent_id)s, %(tenant)s, %(name)s, %(description)s, %(collection_id)s, %(indexing_method)s,
        %(on_document_change)s, %(categories)s, %(mode)s)
on conflict (tenant, name) do nothing
"""

SELECT = """
select agent_id, agent.tenant, agent.name, description, collection.name as collection, collection.space_id,
       indexing_method, on_document_change, held.active as response_count, held.flagged as flagged_count,
       agent.created_at, updated_at, categories, mode
from agents as agent
join collections as collection using (collection_id)
cross join lateral (
    select count(*) filter (where state = 'active')::int as active,
           count(*) filter (where state = 'flagged')::int as flagged
    from learned_responses as response
    where %(counted)s and response.tenant = %(tenant)s and response.agent_id = agent.agent_id
) as held
where agent.tenant = %(tenant)s
  and (%(name)s::text is null or agent.name = %(name)s)
  and agent.agent_id > %(after)s
order by agent.agent_id
limit %(limit)s
"""

UPDATE = """
update agents
set description = coalesce(%(description)s::text, description),
    collection_id = coalesce(%(collection_id)s::uuid, collection_id),
    indexing_method = coalesce(%(indexing_method)s::text, indexing_method),
    on_document_change = coalesce(%(on_document_change)s::text, on_document_change),
    categories = coalesce(%(categories)s::jsonb, categories),
    mode = case when %(mode)s::text is null then mode else nullif(%(mode)s, '') end,
    updated_at = now()
where tenant = %(tenant)s and name = %(name)s
"""

DELETE = "delete from agents where tenant = %(tenant)s and name = %(name)s"
