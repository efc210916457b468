"""Who calls: a person with a token, or a program with a key; of one tenant, with a role."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from enum import IntEnum

EVERYONE = "everyone"
"""What grants call all callers of a tenant."""
USER, GROUP, KEY, PROXY = "user:", "group:", "key:", "proxy:"
NAME_CHARACTERS_MAX = 300


class Role(IntEnum):
    """How much a caller may do at most; where, is what grants say. Each includes those before it."""

    READER = 1
    WRITER = 2
    MANAGER = 3
    OPERATOR = 4

    @property
    def label(self) -> str:
        """The name that people and settings use."""
        return self.name.lower()


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """A caller whose credentials were found right."""

    tenant: str
    name: str
    """`user:SUBJECT`, `key:ID` or `proxy:NAME`."""
    role: Role
    groups: tuple[str, ...] = ()
    expires_at: float | None = None
    """When the credentials end, in seconds since 1970; None where they do not."""

    @property
    def names(self) -> tuple[str, ...]:
        """Everything that a grant may call it."""
        return (self.name, *(GROUP + group for group in self.groups), EVERYONE)


_current: ContextVar[Principal | None] = ContextVar("principal", default=None)


def current_principal() -> Principal | None:
    """Return who makes the call being served; None where no account is asked for."""
    return _current.get()


def enter_principal(principal: Principal | None) -> None:
    """Note who makes the call that this task serves."""
    _current.set(principal)


def role_named(label: str) -> Role:
    """Return the role that settings and keys call so; raise ValueError for any other name."""
    try:
        return Role[label.strip().upper()]
    except KeyError:
        raise ValueError(f"{label!r} is no role; use one of {', '.join(role.label for role in Role)}") from None
