"""The conflicts of a collection: passages close by their vectors, compared by rules, within bounds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date

import numpy as np
from numpy.typing import NDArray

from sourcier.services.chassis.errors import ResourceExhausted
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.postgres.types import half_floats
from sourcier.services.gateway.times.disagreements import Disagreement, disagreements
from sourcier.services.gateway.times.statements import Candidate
from sourcier.services.index.search.comparable import (
    ComparablePassage,
    comparable_passages,
)
from sourcier.services.index.times.document import DocumentTimes
from sourcier.services.index.times.relations import Said, said_of
from sourcier.services.index.times.storing import NOTHING_READ, known_times

logger = logging.getLogger(__name__)

PASSAGES_MAX = 3_000
"""Passages that are compared, those with figures first: some seconds."""
NEIGHBOURS = 8
"""Passages of other documents, the closest to each, that it is compared with."""
ROWS = 500
"""Passages whose similarities are worked out at once, 6 MB of them."""


@dataclass(frozen=True)
class FoundConflict:
    """Two passages that disagree, with what is known of their documents."""

    disagreement: Disagreement
    holds: ComparablePassage
    other: ComparablePassage
    holds_times: DocumentTimes
    other_times: DocumentTimes


@dataclass(frozen=True)
class FoundConflicts:
    """What a look through a collection came to."""

    conflicts: tuple[FoundConflict, ...]
    passages: int
    truncated: bool
    """Whether there are more passages than were compared."""


class Conflicts:
    """Looks through collections, one at a time: it takes a processor for seconds."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._busy = asyncio.Lock()

    async def find(self, *, tenant: str, collection: str, today: date) -> FoundConflicts:
        """Return a collection's conflicts, those first of which nothing tells what holds.

        Raises `NotFound`, and `ResourceExhausted` while another collection is looked through.
        """
        if self._busy.locked():
            raise ResourceExhausted("another collection is being compared; try again in some seconds")
        async with self._busy:
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                passages = await comparable_passages(
                    connection, tenant=tenant, collection=collection, limit=PASSAGES_MAX + 1
                )
                documents = list({each.document_id for each in passages})
                known = await known_times(connection, tenant=tenant, document_ids=documents)
                said = await said_of(connection, tenant=tenant, document_ids=documents)
            compared = passages[:PASSAGES_MAX]
            found = await asyncio.to_thread(_found, compared, known, said, today=today)
        logger.info("compared a collection's passages", extra={"passages": len(compared), "conflicts": len(found)})
        return FoundConflicts(tuple(found), len(compared), len(passages) > PASSAGES_MAX)


def _found(
    passages: Sequence[ComparablePassage], known: Mapping[str, DocumentTimes], said: Said, *, today: date
) -> list[FoundConflict]:
    times = [known.get(each.document_id, NOTHING_READ) for each in passages]
    candidates = [
        Candidate(each.document_id, each.text, "\n".join((each.title, *each.heading_path)), of)
        for each, of in zip(passages, times, strict=True)
    ]
    found = disagreements(candidates, _close(passages), today=today, said=said)
    found.sort(key=lambda each: (each.why is not None, -each.alike))
    return [
        FoundConflict(each, passages[each.holds], passages[each.other], times[each.holds], times[each.other])
        for each in found
    ]


def _close(passages: Sequence[ComparablePassage]) -> list[tuple[int, int]]:
    """Return pairs of passages of different documents that are close to one another, the earlier place first."""
    if len(passages) < 2:
        return []
    vectors = np.stack([
        np.frombuffer(half_floats(each.embedding), "<f2").astype(np.float32) for each in passages
    ])
    numbers: dict[str, int] = {}
    documents = np.array([numbers.setdefault(each.document_id, len(numbers)) for each in passages])
    pairs: set[tuple[int, int]] = set()
    for start in range(0, len(passages), ROWS):
        pairs |= _close_to(vectors, documents, slice(start, start + ROWS))
    return sorted(pairs)


def _close_to(
    vectors: NDArray[np.float32], documents: NDArray[np.int64], rows: slice
) -> set[tuple[int, int]]:
    similarities = vectors[rows] @ vectors.T
    similarities[documents[rows][:, None] == documents[None, :]] = -np.inf
    count = min(NEIGHBOURS, len(vectors) - 1)
    nearest = np.argpartition(-similarities, count - 1, axis=1)[:, :count]
    return {
        (min(row + rows.start, other), max(row + rows.start, other))
        for row, others in enumerate(nearest.tolist()) for other in others if np.isfinite(similarities[row, other])
    }
