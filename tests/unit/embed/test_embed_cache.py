"""The cache of questions: bounded, the least recently used leaves first, hits are counted."""

from __future__ import annotations

import numpy as np

from services.embed.cache import QueryCache, lookups_total
from services.embed.encoder import Encoded


def entry(number: int) -> Encoded:
    empty = np.zeros((0, 8), np.float32)
    return Encoded(np.zeros(8, np.float32), empty, np.zeros(8, np.float32), np.zeros(0, np.float32), b"", number)


def test_the_least_recently_used_leaves_first() -> None:
    cache = QueryCache(2)
    for number, text in enumerate("ab"):
        cache.put(text, entry(number))
    assert cache.get("a") is not None
    cache.put("c", entry(2))
    assert cache.get("b") is None
    assert [found.token_count for text in "ac" if (found := cache.get(text))] == [0, 2]


def test_a_cache_of_none_remembers_nothing() -> None:
    cache = QueryCache(0)
    cache.put("a", entry(0))
    assert cache.get("a") is None


def test_look_ups_are_counted() -> None:
    def counted(outcome: str) -> float:
        return lookups_total.labels(outcome)._value.get()  # type: ignore[no-any-return]

    before = counted("hit"), counted("miss")
    cache = QueryCache(1)
    cache.get("a")
    cache.put("a", entry(0))
    cache.get("a")
    assert (counted("hit"), counted("miss")) == (before[0] + 1, before[1] + 1)
