"""The embeddings of recent questions, each tenant's for itself: what is answered fast tells nobody what others ask."""

from __future__ import annotations

from collections import OrderedDict

from prometheus_client import Counter

from sourcier.services.embed.encoder import Encoded

_BYTES_OF_CHARACTER = 4
"""Python's widest: a text is estimated without being looked at."""
_BYTES_OF_OBJECTS = 1024
"""About what the objects around the arrays take: three arrays, key, entry and place."""

lookups_total = Counter("sourcier_embed_cache_lookups_total", "Look-ups in the cache of query embeddings.", ["outcome"])


class QueryCache:
    """Least recently used questions leave first, whoever asked them."""

    def __init__(self, size: int, *, bytes_max: int) -> None:
        """Take how many questions are remembered at most, and how many bytes their embeddings may have together."""
        self._size = size
        self._bytes_max = bytes_max
        self._bytes = 0
        self._entries: OrderedDict[tuple[str, str], Encoded] = OrderedDict()

    def get(self, text: str, *, tenant: str) -> Encoded | None:
        """Return the question's embedding, if this tenant's is remembered."""
        entry = self._entries.get((tenant, text))
        lookups_total.labels("miss" if entry is None else "hit").inc()
        if entry is not None:
            self._entries.move_to_end((tenant, text))
        return entry

    def put(self, text: str, encoded: Encoded, *, tenant: str) -> None:
        """Remember a question's embedding for its tenant; one that is larger than all may be together is not kept."""
        key = (tenant, text)
        if (replaced := self._entries.pop(key, None)) is not None:
            self._bytes -= bytes_of(text, replaced)
        added = bytes_of(text, encoded)
        if self._size == 0 or added > self._bytes_max:
            return
        self._entries[key] = encoded
        self._bytes += added
        while len(self._entries) > self._size or self._bytes > self._bytes_max:
            (_, left_text), left = self._entries.popitem(last=False)
            self._bytes -= bytes_of(left_text, left)


def bytes_of(text: str, encoded: Encoded) -> int:
    """Return about how many bytes an entry takes; its token mean is the model's, and shared by all."""
    arrays = encoded.vector.nbytes + encoded.hidden.nbytes + encoded.weights.nbytes
    return arrays + len(encoded.token_codes) + len(text) * _BYTES_OF_CHARACTER + _BYTES_OF_OBJECTS
