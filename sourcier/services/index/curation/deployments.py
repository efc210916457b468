"""Deployments: an agent under another name, some of its settings overlaid."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from sourcier.services.chassis.errors import AlreadyExists, InvalidArgument, NotFound
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.storable import check_storable
from sourcier.services.index import pagination
from sourcier.services.index.curation.agents import check_name, get_agent
from sourcier.services.index.pagination import Page

OVERLAY_ENTRIES_MAX = 64
OVERLAY_CHARACTERS_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Deployment:
    """A deployment as it was set up; `sourcier.services.gateway.agents` tells what its overlay comes to."""

    deployment_id: str
    tenant: str
    name: str
    agent: str
    """The agent's name."""
    overlay: Mapping[str, str]
    created_at: datetime
    updated_at: datetime


async def create_deployment(
    connection: Connection, *, tenant: str, name: str, agent: str, overlay: Mapping[str, str]
) -> Deployment:
    """Create a deployment; raise `AlreadyExists`, `InvalidArgument`, or `NotFound` where there is no such agent."""
    check_name(name, what="a deployment")
    _check(overlay)
    owner = await get_agent(connection, tenant=tenant, name=agent)
    cursor = await connection.execute(INSERT, {
        "deployment_id": new_id(), "tenant": tenant, "name": name, "agent_id": owner.agent_id,
        "overlay": Jsonb(dict(overlay)),
    })
    if cursor.rowcount == 0:
        raise AlreadyExists(f"There is already a deployment {name!r}.", field="name")
    return await get_deployment(connection, tenant=tenant, name=name)


async def get_deployment(connection: Connection, *, tenant: str, name: str) -> Deployment:
    """Return a deployment by its name; raise `NotFound`."""
    check_storable(name, field="deployment")
    found = await _select(connection, tenant=tenant, name=name)
    if not found:
        raise NotFound(f"There is no deployment {name!r}.", field="deployment")
    return found[0]


async def list_deployments(
    connection: Connection, *, tenant: str, agent: str = "", page_size: int = 0, page_token: str = ""
) -> Page[Deployment]:
    """List deployments in the order they were created, those of one agent or all; raise `NotFound` for the agent."""
    page_size = pagination.check_page_size(page_size)
    after = pagination.read_page_token(page_token, start=pagination.FIRST_KEY)
    if agent:
        await get_agent(connection, tenant=tenant, name=agent)
    found = await _select(connection, tenant=tenant, agent=agent or None, after=after, limit=page_size + 1)
    return pagination.make_page(found, page_size=page_size, key=lambda deployment: deployment.deployment_id)


async def update_deployment(
    connection: Connection, *, tenant: str, name: str, overlay: Mapping[str, str]
) -> Deployment:
    """Replace a deployment's overlay; raise `NotFound`, `InvalidArgument`."""
    check_storable(name, field="name")
    _check(overlay)
    await connection.execute(UPDATE, {"tenant": tenant, "name": name, "overlay": Jsonb(dict(overlay))})
    return await get_deployment(connection, tenant=tenant, name=name)


async def delete_deployment(connection: Connection, *, tenant: str, name: str) -> bool:
    """Delete a deployment; return whether there was one."""
    check_storable(name, field="name")
    cursor = await connection.execute(DELETE, {"tenant": tenant, "name": name})
    return cursor.rowcount == 1


def _check(overlay: Mapping[str, str]) -> None:
    if len(overlay) > OVERLAY_ENTRIES_MAX:
        raise InvalidArgument(
            f"overlay has {len(overlay)} entries; use at most {OVERLAY_ENTRIES_MAX}.", field="overlay"
        )
    for key, value in overlay.items():
        if not key.strip() or len(key) + len(value) > OVERLAY_CHARACTERS_MAX or "\x00" in key + value:
            raise InvalidArgument(
                f"overlay cannot hold {key[:80]!r}: a key is not empty, and with its value has at most "
                f"{OVERLAY_CHARACTERS_MAX:,} characters and no NUL.", field="overlay",
            )


async def _select(
    connection: Connection, *, tenant: str, name: str | None = None, agent: str | None = None,
    after: str = pagination.FIRST_KEY, limit: int = 1,
) -> list[Deployment]:
    async with connection.cursor(row_factory=class_row(Deployment)) as cursor:
        await cursor.execute(
            SELECT, {"tenant": tenant, "name": name, "agent": agent, "after": after, "limit": limit}
        )
        return await cursor.fetchall()


INSERT = """
insert into deployments (deployment_id, tenant, name, agent_id, overlay)
values (%(deployment_id)s, %(tenant)s, %(name)s, %(agent_id)s, %(overlay)s)
on conflict (tenant, name) do nothing
"""

SELECT = """
select deployment_id, deployment.tenant, deployment.name, agent.name as agent, overlay, deployment.created_at,
       deployment.updated_at
from deployments as deployment
join agents as agent using (agent_id)
where deployment.tenant = %(tenant)s
  and (%(name)s::text is null or deployment.name = %(name)s)
  and (%(agent)s::text is null or agent.name = %(agent)s)
  and deployment_id > %(after)s
order by deployment_id
limit %(limit)s
"""

UPDATE = """
update deployments set overlay = %(overlay)s, updated_at = now() where tenant = %(tenant)s and name = %(name)s
"""

DELETE = "delete from deployments where tenant = %(tenant)s and name = %(name)s"
