"""The cache of questions: each tenant's own, bounded, the least recently used leaves first, hits are counted."""

from __future__ import annotations

import numpy as np

from sourcier.services.embed.cache import QueryCache, bytes_of, lookups_total
from sourcier.services.embed.encoder import Encoded

MANY_BYTES = 1 << 20


def entry(number: int, *, tokens: int = 0) -> Encoded:
    return Encoded(
        np.zeros(8, np.float32), np.zeros((tokens, 8), np.float32), np.zeros(8, np.float32),
        np.zeros(tokens, np.float32), b"c" * tokens, number,
    )


def remembered(cache: QueryCache, texts: str) -> str:
    return "".join(text for text in texts if cache.get(text, tenant="acme") is not None)


def test_the_least_recently_used_leaves_first() -> None:
    cache = QueryCache(2, bytes_max=MANY_BYTES)
    for number, text in enumerate("ab"):
        cache.put(text, entry(number), tenant="acme")
    assert cache.get("a", tenant="acme") is not None
    cache.put("c", entry(2), tenant="acme")
    assert cache.get("b", tenant="acme") is None
    assert [found.token_count for text in "ac" if (found := cache.get(text, tenant="acme"))] == [0, 2]


def test_what_one_tenant_asked_is_remembered_for_no_other() -> None:
    cache = QueryCache(4, bytes_max=MANY_BYTES)
    cache.put("a", entry(1), tenant="acme")
    assert cache.get("a", tenant="globex") is None
    cache.put("a", entry(2), tenant="globex")
    assert [found.token_count for tenant in ("acme", "globex") if (found := cache.get("a", tenant=tenant))] == [1, 2]


def test_embeddings_take_no_more_bytes_than_they_may() -> None:
    assert bytes_of("a", entry(0, tokens=100)) - bytes_of("a", entry(0)) == 100 * (8 * 4 + 4 + 1)
    cache = QueryCache(100, bytes_max=2 * bytes_of("a", entry(0, tokens=100)))
    for text in "abc":
        cache.put(text, entry(0, tokens=100), tenant="acme")
    assert remembered(cache, "abc") == "bc"
    # What is larger than all may be together would push out everything for nothing.
    cache.put("d", entry(0, tokens=10_000), tenant="acme")
    assert remembered(cache, "abcd") == "bc"
    # One that is put again counts once.
    for _ in range(3):
        cache.put("c", entry(0, tokens=100), tenant="acme")
    assert remembered(cache, "abc") == "bc"
    cache.put("c", entry(0, tokens=10_000), tenant="acme")
    assert remembered(cache, "abc") == "b"


def test_a_cache_of_none_remembers_nothing() -> None:
    cache = QueryCache(0, bytes_max=MANY_BYTES)
    cache.put("a", entry(0), tenant="acme")
    assert cache.get("a", tenant="acme") is None


def test_look_ups_are_counted() -> None:
    def counted(outcome: str) -> float:
        return lookups_total.labels(outcome)._value.get()  # type: ignore[no-any-return]

    before = counted("hit"), counted("miss")
    cache = QueryCache(1, bytes_max=MANY_BYTES)
    cache.get("a", tenant="acme")
    cache.put("a", entry(0), tenant="acme")
    cache.get("a", tenant="acme")
    assert (counted("hit"), counted("miss")) == (before[0] + 1, before[1] + 1)
