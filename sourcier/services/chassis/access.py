"""What the caller of a call may reach: carried from the gateway to each transaction, here and in services behind it.

The gateway decides it once, when a call comes in. Whoever works for the call, in the same task or one begun by it, has
it by `current_access`; a service behind the gateway gets it in the metadata. Row-level security does the rest: a
transaction sees only the collections on which the caller has the right that the call needs.

Work that serves no call has no access of its own, and sees its tenant whole.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import asdict, dataclass

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.tenants import checked_tenant

ACCESS_KEY = "sourcier-access"
"""The metadata between services; the gateway believes it from nobody."""
METADATA_BYTES_MAX = 64 * 1024
"""Of a call between services, and of one to the gateway: a token, or the names of a person in hundreds of groups."""

READ, WRITE, MANAGE = "read", "write", "manage"
RIGHTS = (READ, WRITE, MANAGE)
"""On a collection; each includes those before it."""
CONVERSATIONS = "conversations"
"""The right to read the conversations of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """Who calls, and what the call needs."""

    tenant: str
    name: str
    """`user:…` or `key:…`: whose the conversations and answers of the call are."""
    names: tuple[str, ...]
    """Everything that grants may call the caller: its own name, its groups, everyone."""
    right: str
    """One of `RIGHTS`: what the caller must hold on a collection for the call to see it."""
    everything: bool = False
    """Whether every collection of the tenant is seen without a grant."""
    others_conversations: bool = False
    """Whether a grant may open the conversations of others to this call."""

    @property
    def sufficient(self) -> tuple[str, ...]:
        """The rights of a grant that suffice."""
        return RIGHTS[RIGHTS.index(self.right):]

    def packed(self) -> str:
        """Return it as metadata between services."""
        return json.dumps(asdict(self), separators=(",", ":"))


_current: ContextVar[Access | None] = ContextVar("access", default=None)


def current_access() -> Access | None:
    """Return the access of the call being served; None for work that serves none, or where no account is asked for."""
    return _current.get()


def enter_access(access: Access | None) -> None:
    """Give the rest of this task, and those that it begins, an access."""
    _current.set(access)


@contextmanager
def whole_tenant() -> Iterator[None]:
    """Let the block see the tenant whole: for what must know every user of a thing, whoever asked.

    Nothing of what is read in it may be told to the caller.
    """
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


def unpacked(metadata: str) -> Access:
    """Read what `packed` wrote; raise InvalidArgument for anything else."""
    try:
        told = json.loads(metadata)
        access = Access(**{**told, "names": tuple(map(str, told["names"]))})
        checked_tenant(access.tenant)
        RIGHTS.index(access.right)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise InvalidArgument(f"{ACCESS_KEY} is not what a gateway sends", field=ACCESS_KEY) from error
    return access
