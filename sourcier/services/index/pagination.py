"""Keyset pages: a token holds the last key given out, so that a page costs the same however deep it is."""

from __future__ import annotations

import base64
import uuid
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, fields, is_dataclass
from itertools import accumulate, takewhile
from typing import Generic, TypeVar

from sourcier.services.chassis.errors import InvalidArgument

PAGE_SIZE_DEFAULT = 100
PAGE_SIZE_MAX = 1_000
PAGE_BYTES_MAX = 3 * 1024**2
"""Of the texts in a page: a gRPC client takes messages of 4 MiB unless it was told otherwise. One item is always
given."""

FIRST_KEY = "00000000-0000-0000-0000-000000000000"
LAST_KEY = "ffffffff-ffff-ffff-ffff-ffffffffffff"
FIELD_BYTES = 12
"""Tag and length of a field, or a number or a time."""

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
    """Cut `page_size` + 1 items, as queried, to a page that a client can receive."""
    return cut(items, page_size=page_size, token=lambda item: uuid.UUID(key(item)).bytes)


def cut(items: Sequence[Item], *, page_size: int, token: Callable[[Item], bytes]) -> Page[Item]:
    """The same where the next page does not start behind an id alone: the `token` of its last item says where."""
    count = fitting(items, page_size=page_size)
    if len(items) <= count:
        return Page(tuple(items), "")
    told = base64.urlsafe_b64encode(token(items[count - 1])).rstrip(b"=").decode()
    return Page(tuple(items[:count]), told)


def fitting(items: Sequence[object], *, page_size: int) -> int:
    """Return how many of the first items make a page: at most `page_size`, and at most `PAGE_BYTES_MAX` together."""
    sizes = accumulate(map(size_bytes, items[:page_size]))
    return max(1, sum(1 for _ in takewhile(lambda size: size <= PAGE_BYTES_MAX, sizes))) if items else 0


def size_bytes(value: object) -> int:
    """Return about how many bytes a value takes in a message: its texts in UTF-8, and a little for every field."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "replace")) + FIELD_BYTES
    if isinstance(value, bytes | bytearray | memoryview):
        return len(value) + FIELD_BYTES
    if isinstance(value, Mapping):
        return FIELD_BYTES + sum(size_bytes(key) + size_bytes(held) for key, held in value.items())
    if isinstance(value, Sequence | Set):
        return FIELD_BYTES + sum(map(size_bytes, value))
    if is_dataclass(value) and not isinstance(value, type):
        return FIELD_BYTES + sum(size_bytes(getattr(value, field.name)) for field in fields(value))
    return FIELD_BYTES
