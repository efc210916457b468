"""Gives learned responses their vectors in every space that they need: what a move to another model asks for.

A response gets its first vector when it is added. Any replica of the gateway may make the others; two that do so at
once write the same.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from itertools import groupby

import numpy as np
from prometheus_client import Counter

from services.chassis.channels import Deadline
from services.chassis.errors import ServiceError
from services.chassis.lifecycle import first_of
from services.chassis.postgres import ALL_TENANTS, Database
from services.gateway.embedding import EmbedServices
from services.index.response_gaps import MissingVector, missing_vectors
from services.index.response_vectors import write_vectors

logger = logging.getLogger(__name__)

BATCH = 64
LOOK_SECONDS_MAX = 30.0
"""Longest time for one look and what it finds."""

learned_vectors_total = Counter(
    "sourcier_learned_vectors_total", "Vectors made for learned responses in spaces beside their first."
)


class LearnedVectors:
    """A worker of the gateway."""

    name = "learned-vectors"

    def __init__(self, database: Database, embed: EmbedServices, *, interval_seconds: float) -> None:
        self._database = database
        self._embed = embed
        self._interval_seconds = interval_seconds

    async def run(self, stopping: asyncio.Event) -> None:
        """Look for missing vectors until told to stop; an outage is waited out."""
        while not stopping.is_set():
            made = 0
            try:
                made = await self.make()
            except ServiceError as error:
                logger.warning("vectors of learned responses are not made, once more: %s", error)
            if made < BATCH:
                await first_of(stopping, seconds=self._interval_seconds)

    async def make(self) -> int:
        """Make vectors that are missing in spaces that are served, `BATCH` at most; return how many."""
        deadline = Deadline.after(LOOK_SECONDS_MAX)
        served = await self._embed.served(tenant="default", deadline=deadline)
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            missing = await missing_vectors(
                connection, space_ids=[space.space_id for space in served], limit=BATCH
            )
        written = 0
        for (tenant, space_id), group in groupby(missing, key=lambda each: (each.tenant, each.space_id)):
            written += await self._make_of(list(group), tenant=tenant, space_id=space_id, deadline=deadline)
        learned_vectors_total.inc(written)
        return written

    async def _make_of(
        self, missing: Sequence[MissingVector], *, tenant: str, space_id: str, deadline: Deadline
    ) -> int:
        vectors = []
        for each in missing:
            embedding = await self._embed.embed_query(
                each.question, space_id=space_id, tenant=tenant, deadline=deadline, bulk=True
            )
            vectors.append((each.response_id, embedding.vector.astype(np.float16).tobytes()))
        async with self._database.transaction(tenant=tenant) as connection:
            return await write_vectors(connection, tenant=tenant, space_id=space_id, vectors=vectors)
