"""What a transaction claims to row-level security: its tenant, and what its caller may reach within the tenant.

Three settings that end with the transaction. `sourcier.collections` holds the ids of the collections that are seen, `*`
for all; `sourcier.conversations` is `*` where conversations of everybody are seen, and empty where only those of
`sourcier.name` are. The grants are read in the same round trip that begins the transaction, so that one that was taken
back is gone with the next statement, and nothing has to be forgotten anywhere.
"""

from __future__ import annotations

from functools import lru_cache

from psycopg import sql

from sourcier.services.chassis.access import CONVERSATIONS, Access


@lru_cache(maxsize=4096)
def claims(tenant: str, access: Access | None) -> tuple[bytes, ...]:
    """Return the statements that a transaction begins with; put together once, since every transaction has them."""
    tenant_claim = _filled(SET_TENANT, tenant=tenant)
    if access is None:
        return tenant_claim, SET_WHOLE
    named = _filled(SET_NAME, name=access.name)
    collections = SET_ALL_COLLECTIONS if access.everything else _filled(
        SET_GRANTED_COLLECTIONS, tenant=tenant, names=list(access.names), rights=list(access.sufficient)
    )
    conversations = SET_OWN_CONVERSATIONS
    if access.others_conversations:
        conversations = _filled(
            SET_GRANTED_CONVERSATIONS, tenant=tenant, names=list(access.names), right=CONVERSATIONS
        )
    return tenant_claim, named, collections, conversations


def _filled(statement: str, **values: str | list[str]) -> bytes:
    return sql.SQL(statement).format(**{key: sql.Literal(value) for key, value in values.items()}).as_bytes(None)


SET_TENANT = "set local sourcier.tenant = {tenant}"
SET_NAME = "set local sourcier.name = {name}"
SET_WHOLE = b"select set_config('sourcier.collections', '*', true), set_config('sourcier.conversations', '*', true)"
SET_ALL_COLLECTIONS = b"set local sourcier.collections = '*'"
SET_OWN_CONVERSATIONS = b"set local sourcier.conversations = ''"

# Of no grants there is an empty list; one without a collection is on all of them.
SET_GRANTED_COLLECTIONS = """
select set_config('sourcier.collections', case
    when bool_or(collection_id is null) then '*'
    else coalesce(array_agg(collection_id)::text, '{{}}')
end, true)
from grants
where tenant = {tenant} and grantee = any({names}) and access_right = any({rights})
"""
SET_GRANTED_CONVERSATIONS = """
select set_config('sourcier.conversations', case when count(*) > 0 then '*' else '' end, true)
from grants
where tenant = {tenant} and grantee = any({names}) and access_right = {right}
"""
