"""Grants: who has which right on which collection. Those on collections that the caller sees are listed and changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sourcier.services.chassis.access import CONVERSATIONS, RIGHTS
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.ids import is_id, new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.storable import check_storable
from sourcier.services.gateway.access.principal import EVERYONE, GROUP, KEY, NAME_CHARACTERS_MAX, USER
from sourcier.services.index import pagination
from sourcier.services.index.pagination import Page


@dataclass(frozen=True, slots=True)
class Grant:
    """A right of somebody; the fields in the order of `_GRANT`."""

    grant_id: str
    grantee: str
    collection: str
    """The collection's name; empty for all."""
    right: str
    granted_by: str
    granted_at: datetime


def checked_grantee(grantee: str) -> str:
    """Return whose a grant is to be; raise InvalidArgument for what names nobody."""
    check_storable(grantee, field="grantee")
    named = grantee == EVERYONE or any(
        grantee.startswith(kind) and len(grantee) > len(kind) for kind in (USER, GROUP, KEY)
    )
    if not named or len(grantee) > NAME_CHARACTERS_MAX or not grantee.isprintable():
        raise InvalidArgument(
            f"grantee is {grantee[:80]!r}; write user:SUBJECT, group:NAME, key:ID or {EVERYONE}", field="grantee"
        )
    return grantee


async def add(
    connection: Connection, *, tenant: str, grantee: str, collection_id: str | None, right: str, granted_by: str
) -> Grant:
    """Give a right, in the place of the grantee's others on the collection."""
    values = {
        "tenant": tenant, "grantee": checked_grantee(grantee), "collection_id": collection_id, "right": right,
        "granted_by": granted_by, "grant_id": new_id(),
        "replaced": [CONVERSATIONS] if right == CONVERSATIONS else list(RIGHTS),
    }
    await connection.execute(DELETE_REPLACED, values)
    cursor = await connection.execute(INSERT, values)
    row = await cursor.fetchone()
    assert row is not None
    return _grant(row)


async def list_grants(
    connection: Connection, *, tenant: str, collection_id: str | None, grantee: str, on_all: bool, page_size: int,
    page_token: str,
) -> Page[Grant]:
    """List grants on the collections that this transaction sees; those on all collections only `on_all`."""
    page_size = pagination.check_page_size(page_size)
    after = pagination.read_page_token(page_token, start=pagination.FIRST_KEY)
    check_storable(grantee, field="grantee")
    cursor = await connection.execute(LIST, {
        "tenant": tenant, "collection_id": collection_id, "grantee": grantee, "on_all": on_all, "after": after,
        "limit": page_size + 1,
    })
    found = [_grant(row) for row in await cursor.fetchall()]
    return pagination.make_page(found, page_size=page_size, key=lambda grant: grant.grant_id)


async def remove(connection: Connection, *, tenant: str, grant_id: str, on_all: bool) -> bool:
    """Take a grant back; return whether this transaction saw such a one."""
    if not is_id(grant_id):
        return False
    cursor = await connection.execute(DELETE, {"tenant": tenant, "grant_id": grant_id, "on_all": on_all})
    return cursor.rowcount == 1


def _grant(row: Sequence[Any]) -> Grant:
    grant_id, *rest = row
    return Grant(str(grant_id), *rest)


DELETE_REPLACED = """
delete from grants
where tenant = %(tenant)s and grantee = %(grantee)s and collection_id is not distinct from %(collection_id)s::uuid
  and access_right = any(%(replaced)s)
"""

INSERT = """
with granted as (
    insert into grants (tenant, grant_id, grantee, collection_id, access_right, granted_by)
    values (%(tenant)s, %(grant_id)s, %(grantee)s, %(collection_id)s, %(right)s, %(granted_by)s)
    -- Of somebody who gives the same at this moment.
    on conflict (tenant, grantee, collection_id, access_right) do update set granted_by = excluded.granted_by
    returning *
)
select grant_id, grantee, coalesce(collection.name, ''), access_right, granted_by, granted_at
from granted
left join collections as collection using (collection_id)
"""

# The collections are those that row-level security shows; grants have none of their own, since every caller's are read
# before it is known what the caller sees.
_SEEN = """
  and (%(on_all)s and collection_id is null or collection_id in (select collection_id from collections))
"""

LIST = f"""
select grant_id, grantee, coalesce(collection.name, ''), access_right, granted_by, granted_at
from grants
left join collections as collection using (collection_id)
where grants.tenant = %(tenant)s and grant_id > %(after)s
  and (%(collection_id)s::uuid is null or collection_id = %(collection_id)s)
  and (%(grantee)s = '' or grantee = %(grantee)s)
{_SEEN}
order by grant_id
limit %(limit)s
"""  # noqa: S608

DELETE = f"delete from grants where tenant = %(tenant)s and grant_id = %(grant_id)s {_SEEN}"  # noqa: S608
