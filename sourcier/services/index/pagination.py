"""Keyset pages: a token holds the last key given out, so that a page costs the same however deep it is."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from sourcier.services.chassis.errors import InvalidArgument

PAGE_SIZE_DEFAULT = 100
PAGE_SIZE_MAX = 1_000

FIRST_KEY = "00000000-0000-0000-0000-000000000000"
LAST_KEY = "ffffffff-ffff-ffff-ffff-ffffffffffff"

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Page(Generic[Item]):
    """Some items, and the token of the next page; empty at the end."""

    items: tuple[Item, ...]
    next_page_token: str


def check_page_size(page_size: int) -> int:
    """Return the size to use, 0 meaning the default; raise `InvalidArgument` out of bounds."""
    if not 0 <= page_size <= PAGE_SIZE_MAX:
        raise InvalidArgument(f"A page has 1 to {PAGE_SIZE_MAX} items, or 0 for the default.", field="page_size")
    return page_size or PAGE_SIZE_DEFAULT


def read_page_token(page_token: str, *, start: str) -> str:
    """Return the key after which the page starts, `start` for the first; raise `InvalidArgument` for a forged token."""
    if not page_token:
        return start
    try:
        return str(uuid.UUID(bytes=base64.urlsafe_b64decode(page_token.encode() + b"==")))
    except ValueError as error:
        raise InvalidArgument("The page token is not one that was given out.", field="page_token") from error


def make_page(items: Sequence[Item], *, page_size: int, key: Callable[[Item], str]) -> Page[Item]:
    """Cut `page_size` + 1 items, as queried, to a page."""
    if len(items) <= page_size:
        return Page(tuple(items), "")
    last = uuid.UUID(key(items[page_size - 1]))
    token = base64.urlsafe_b64encode(last.bytes).rstrip(b"=").decode()
    return Page(tuple(items[:page_size]), token)
