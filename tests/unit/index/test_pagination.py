"""Pages: as many items as were asked for, and no more bytes than a client takes."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcier.services.index.pagination import PAGE_BYTES_MAX, fitting, make_page, read_page_token, size_bytes

GRPC_BYTES_MAX = 4 * 1024**2


@dataclass(frozen=True, slots=True)
class Item:
    item_id: str
    metadata: Mapping[str, object]


def items(count: int, *, value: str) -> list[Item]:
    return [Item(str(uuid.UUID(int=number)), {"value": value}) for number in range(count)]


def read_all(everything: list[Item], *, page_size: int) -> list[tuple[Item, ...]]:
    """Return all pages, as a client that follows the tokens reads them."""
    pages, token = [], ""
    while True:
        after = read_page_token(token, start="")
        rest = [item for item in everything if item.item_id > after][: page_size + 1]
        page = make_page(rest, page_size=page_size, key=lambda item: item.item_id)
        pages.append(page.items)
        token = page.next_page_token
        if not token:
            return pages


@pytest.mark.parametrize("value", ["x" * 70_000, "é" * 70_000, "🦆" * 200_000])
@pytest.mark.parametrize("page_size", [1, 100, 1_000])
def test_a_list_of_large_items_is_read_to_its_end(value: str, page_size: int) -> None:
    everything = items(110, value=value)
    pages = read_all(everything, page_size=page_size)
    assert [item for page in pages for item in page] == everything
    assert all(len(page) == 1 or sum(map(size_bytes, page)) <= PAGE_BYTES_MAX < GRPC_BYTES_MAX for page in pages)


def test_small_items_fill_the_page_that_was_asked_for() -> None:
    assert [len(page) for page in read_all(items(250, value="x"), page_size=100)] == [100, 100, 50]


def test_an_item_over_the_limit_is_given_alone() -> None:
    assert fitting(items(3, value="x" * (PAGE_BYTES_MAX + 1)), page_size=10) == 1


@given(st.recursive(st.text() | st.binary(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner)))
def test_no_text_is_left_out_of_the_size(value: object) -> None:
    def texts(held: object) -> int:
        if isinstance(held, str):
            return len(held.encode("utf-8", "replace"))
        if isinstance(held, bytes):
            return len(held)
        if isinstance(held, dict):
            return sum(texts(key) + texts(inner) for key, inner in held.items())
        return sum(map(texts, held)) if isinstance(held, list) else 0

    assert size_bytes(value) >= texts(value)
