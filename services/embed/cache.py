"""The embeddings of recent questions."""

from __future__ import annotations

from collections import OrderedDict

from prometheus_client import Counter

from services.embed.encoder import Encoded

lookups_total = Counter("sourcier_embed_cache_lookups_total", "Look-ups in the cache of query embeddings.", ["outcome"])


class QueryCache:
    """Least recently used questions leave first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._entries: OrderedDict[str, Encoded] = OrderedDict()

    def get(self, text: str) -> Encoded | None:
        """Return the question's embedding, if it is remembered."""
        entry = self._entries.get(text)
        lookups_total.labels("miss" if entry is None else "hit").inc()
        if entry is not None:
            self._entries.move_to_end(text)
        return entry

    def put(self, text: str, encoded: Encoded) -> None:
        """Remember a question's embedding."""
        if self._size == 0:
            return
        self._entries[text] = encoded
        self._entries.move_to_end(text)
        while len(self._entries) > self._size:
            self._entries.popitem(last=False)
