"""How much a question is like texts about anything at all: what a score has to stand out from.

Late interaction gives a short question of common words high scores everywhere, and a question in another language than
its passages low ones. The same question over a few dozen texts of many subjects, in several languages, tells which.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.gateway.peers.embedding import PASSAGES_MAX, PassageEmbedding, QueryEmbedding
from sourcier.services.gateway.peers.services import Peers

FloatArray = npt.NDArray[np.float32]

TEXTS = Path(__file__).with_name("baseline.txt")
"""Short passages that were written for this, a blank line between them."""
SPACES_MAX = 8
"""Kept in memory: half a megabyte each."""


@cache
def texts() -> tuple[str, ...]:
    """Return the texts."""
    return tuple(text for paragraph in TEXTS.read_text("utf-8").split("\n\n") if (text := paragraph.strip()))


@dataclass(frozen=True, slots=True)
class Background:
    """The texts as one space has them."""

    signs: FloatArray
    """Of the token codes of all texts, −1 or 1: shape (tokens, dimension)."""
    starts: npt.NDArray[np.intp]
    """Where each text begins."""

    @classmethod
    def of(cls, codes: Sequence[bytes], *, dimension: int) -> Background:
        """Read token codes, one text each; a text without informative tokens is left out."""
        rows = [np.frombuffer(each, np.uint8).reshape(-1, dimension // 8) for each in codes if each]
        ends = np.cumsum([len(each) for each in rows])
        bits = np.unpackbits(np.concatenate(rows), axis=1)
        return cls(bits.astype(np.float32) * 2 - 1, np.concatenate(([0], ends[:-1])))

    def scores(self, embedding: QueryEmbedding) -> FloatArray:
        """Return late interaction of a question with each text, as the rerank service scores; none without words."""
        dimension = self.signs.shape[1]
        vectors = np.frombuffer(embedding.token_vectors, "<f4").reshape(-1, dimension)
        weights = np.asarray(embedding.token_weights, np.float32)
        if weights.sum() <= 0:
            return np.zeros(0, np.float32)
        best = np.maximum.reduceat(self.signs @ vectors.T, self.starts, axis=0) / np.sqrt(np.float32(dimension))
        scored: FloatArray = best @ weights / weights.sum()
        return scored


class Backgrounds:
    """The texts in each space that is asked, embedded when the first question needs them."""

    def __init__(self, peers: Peers) -> None:
        """Take the services that embed; they are reached when they are needed."""
        self._peers = peers
        self._known: dict[str, Background] = {}
        self._begun: dict[str, list[PassageEmbedding]] = {}
        self._making = asyncio.Lock()

    async def of(self, space_id: str, *, tenant: str, deadline: Deadline) -> Background:
        """Return a space's; raise as `embed_passages` where it cannot be made."""
        if (known := self._known.get(space_id)) is not None:
            return known
        # Whoever comes second waits for the first instead of embedding the same.
        async with self._making:
            if space_id not in self._known:
                made = await self._made(space_id, tenant=tenant, deadline=deadline)
                while len(self._known) >= SPACES_MAX:
                    del self._known[next(iter(self._known))]
                self._known[space_id] = made
            return self._known[space_id]

    async def _made(self, space_id: str, *, tenant: str, deadline: Deadline) -> Background:
        # A question waits a bounded time. What was embedded until then is kept, and the next question goes on from
        # there: on a busy machine each of them would otherwise begin anew, and none would ever have the background.
        embedded = self._begun.setdefault(space_id, [])
        while len(self._begun) > SPACES_MAX:
            del self._begun[next(iter(self._begun))]
        for start in range(len(embedded), len(texts()), PASSAGES_MAX):
            embedded += await self._peers.embed.embed_passages(
                texts()[start : start + PASSAGES_MAX], space_id=space_id, tenant=tenant, deadline=deadline
            )
        made = await asyncio.to_thread(
            Background.of, [each.token_codes for each in embedded], dimension=len(embedded[0].vector)
        )
        self._begun.pop(space_id, None)
        return made
