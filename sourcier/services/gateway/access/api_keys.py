"""API keys: a name for a program, made by an operator, shown once, kept as a hash, revoked at once.

A key reads `sourcier_TENANT_ID_SECRET`: it is found by tenant and id, and the secret is 256 random bits, which no slow
hash could make harder to guess.
"""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sourcier.services.chassis.access import whole_tenant
from sourcier.services.chassis.errors import InvalidArgument, NotFound, Unauthenticated
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database
from sourcier.services.chassis.storable import check_storable
from sourcier.services.gateway.access.principal import KEY, Principal, Role, role_named
from sourcier.services.index import pagination
from sourcier.services.index.pagination import Page

PREFIX = "sourcier_"
FORM = ("sourcier_TENANT_ID_SECRET, with an id of 16 hexadecimal digits and a secret of 43 characters of A-Z, a-z, "
        "0-9, - and _")
REFUSED = "the API key is not accepted: it is unknown, has ended or was revoked"
KNOWN_SECONDS = 5.0
"""How long a key that was let in is let in without asking again; other gateways notice a revocation after that."""
KNOWN_MAX = 10_000
LOOKUPS_MAX = 4
"""At once: strangers who try keys must not take the connections of those who have one."""
NAME_CHARACTERS_MAX = 200
_KEY = re.compile(r"sourcier_([a-z0-9-]{1,40})_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_KEY_ID = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key without its secret; the fields in the order of `_KEY_COLUMNS`."""

    key_id: str
    name: str
    role: Role
    created_by: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    recency: str


class ApiKeys:
    """Lets keys in."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: OrderedDict[bytes, tuple[Principal, float]] = OrderedDict()
        self._lookups = asyncio.Semaphore(LOOKUPS_MAX)

    async def principal(self, secret: str) -> Principal:
        """Return whose key it is; raise Unauthenticated for one that is not right, without a word on why."""
        digest = hash_of(secret)
        known = self._known.get(digest)
        if known is not None and time.monotonic() < known[1] and not _over(known[0]):
            self._known.move_to_end(digest)
            return known[0]
        principal = await self._looked_up(secret)
        self._known[digest] = principal, time.monotonic() + KNOWN_SECONDS
        if len(self._known) > KNOWN_MAX:
            self._known.popitem(last=False)
        return principal

    def forget(self, *, tenant: str, key_id: str) -> None:
        """Ask again for a key the next time that it is shown."""
        for digest, (principal, _) in list(self._known.items()):
            if (principal.tenant, principal.name) == (tenant, KEY + key_id):
                del self._known[digest]

    async def any_usable(self) -> bool:
        """Return whether there is a key, of any tenant, that would be let in."""
        with whole_tenant():
            async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
                cursor = await connection.execute(SELECT_USABLE)
                return await cursor.fetchone() is not None

    async def _looked_up(self, secret: str) -> Principal:
        parts = _KEY.fullmatch(secret)
        if parts is None:
            raise Unauthenticated(REFUSED)
        tenant, key_id, _ = parts.groups()
        async with self._lookups:
            with whole_tenant():
                row = await self._database.look(SELECT_SECRET, {"tenant": tenant, "key_id": key_id}, tenant=tenant)
        stored, role, ends = (b"", Role.READER.label, None) if row is None else row
        # Compared whether there is such a key or not, in a time that tells neither.
        if not hmac.compare_digest(bytes(stored), hash_of(secret)):
            raise Unauthenticated(REFUSED)
        principal = Principal(
            tenant=tenant, name=KEY + key_id, role=role_named(role), expires_at=None if ends is None else float(ends)
        )
        if _over(principal):
            raise Unauthenticated(REFUSED)
        return principal


def is_key(secret: str) -> bool:
    """Return whether what was sent as a bearer's credentials means to be a key."""
    return secret.startswith(PREFIX)


def hash_of(secret: str) -> bytes:
    """Return what is kept of a key."""
    return hashlib.sha256(secret.encode()).digest()


def _over(principal: Principal) -> bool:
    return principal.expires_at is not None and principal.expires_at <= time.time()


async def create(
    connection: Connection, *, tenant: str, name: str, role: Role, created_by: str, valid_for: timedelta | None
) -> tuple[ApiKey, str]:
    """Make a key; return it and its secret, which is nowhere kept."""
    if not name.strip() or len(name) > NAME_CHARACTERS_MAX or not name.isprintable():
        raise InvalidArgument(f"name is {name[:80]!r}; use 1 to {NAME_CHARACTERS_MAX} printable characters",
                              field="name")
    check_storable(name, field="name")
    if valid_for is not None and valid_for <= timedelta():
        raise InvalidArgument("valid_for is no time to come", field="valid_for")
    key_id = secrets.token_hex(8)
    secret = f"{PREFIX}{tenant}_{key_id}_{secrets.token_urlsafe(32)}"
    cursor = await connection.execute(INSERT, {
        "tenant": tenant, "key_id": key_id, "name": name, "role": role.label, "hash": hash_of(secret),
        "recency": new_id(), "created_by": created_by, "valid_for": valid_for,
    })
    row = await cursor.fetchone()
    assert row is not None
    return _api_key(row), secret


async def keep(connection: Connection, secret: str, *, name: str, role: Role, created_by: str) -> bool:
    """Take in a key that somebody made up; return whether it is new. One that is known stays as it is, revoked too."""
    parts = _KEY.fullmatch(secret)
    if parts is None:
        raise InvalidArgument(f"the key does not read {FORM}")
    tenant, key_id, _ = parts.groups()
    cursor = await connection.execute(KEEP, {
        "tenant": tenant, "key_id": key_id, "name": name, "role": role.label, "hash": hash_of(secret),
        "recency": new_id(), "created_by": created_by, "valid_for": None,
    })
    if await cursor.fetchone() is not None:
        return True
    cursor = await connection.execute(SELECT_HASH, {"tenant": tenant, "key_id": key_id})
    row = await cursor.fetchone()
    if row is None or not hmac.compare_digest(bytes(row[0]), hash_of(secret)):
        raise InvalidArgument(f"another key has the id {key_id}; make up another id")
    return False


def tenant_of(secret: str) -> str:
    """Return the tenant that a key names; empty where it is none."""
    parts = _KEY.fullmatch(secret)
    return parts[1] if parts is not None else ""


async def list_keys(connection: Connection, *, tenant: str, page_size: int, page_token: str) -> Page[ApiKey]:
    """List keys, the newest first."""
    page_size = pagination.check_page_size(page_size)
    before = pagination.read_page_token(page_token, start=pagination.LAST_KEY)
    cursor = await connection.execute(LIST, {"tenant": tenant, "before": before, "limit": page_size + 1})
    found = [_api_key(row) for row in await cursor.fetchall()]
    return pagination.make_page(found, page_size=page_size, key=lambda key: key.recency)


async def revoke(connection: Connection, *, tenant: str, key_id: str) -> ApiKey:
    """End a key; one that was revoked before stays as it is. Raises NotFound."""
    row = None
    if _KEY_ID.fullmatch(key_id):
        cursor = await connection.execute(REVOKE, {"tenant": tenant, "key_id": key_id})
        row = await cursor.fetchone()
    if row is None:
        raise NotFound(f"the key {key_id[:60]!r} does not exist", field="key_id")
    return _api_key(row)


def _api_key(row: Sequence[Any]) -> ApiKey:
    key_id, name, role, created_by, created_at, expires_at, revoked_at, recency = row
    return ApiKey(
        key_id, name, role_named(role), created_by, created_at, expires_at, revoked_at, recency=str(recency)
    )


_KEY_COLUMNS = "key_id, name, role, created_by, created_at, expires_at, revoked_at, recency"
_USABLE = "revoked_at is null and (expires_at is null or expires_at > now())"

# Statements are put together from constants of this module alone.
SELECT_SECRET = f"""
select secret_sha256, role, extract(epoch from expires_at) from api_keys
where tenant = %(tenant)s and key_id = %(key_id)s and {_USABLE}
"""  # noqa: S608

SELECT_USABLE = f"select 1 from api_keys where {_USABLE} limit 1"  # noqa: S608

INSERT = f"""
insert into api_keys (tenant, key_id, name, role, secret_sha256, recency, created_by, expires_at)
values (%(tenant)s, %(key_id)s, %(name)s, %(role)s, %(hash)s, %(recency)s, %(created_by)s,
        now() + %(valid_for)s::interval)
returning {_KEY_COLUMNS}
"""  # noqa: S608

KEEP = INSERT.replace("returning", "on conflict (tenant, key_id) do nothing\nreturning")

SELECT_HASH = "select secret_sha256 from api_keys where tenant = %(tenant)s and key_id = %(key_id)s"

LIST = f"""
select {_KEY_COLUMNS} from api_keys
where tenant = %(tenant)s and recency < %(before)s
order by recency desc
limit %(limit)s
"""  # noqa: S608

REVOKE = f"""
update api_keys set revoked_at = coalesce(revoked_at, now())
where tenant = %(tenant)s and key_id = %(key_id)s
returning {_KEY_COLUMNS}
"""  # noqa: S608
