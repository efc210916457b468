"""Gives learned responses their vectors in every space that they need: what a move to another model asks for.

A response gets its first vector when it is added. Any replica of the gateway may make the others; two that do so at
once write the same. Each look at a space goes on where the one before ended, and begins anew behind the last response:
one whose vector cannot be made keeps none of those behind it from theirs, whosever they are.
"""

from __future__ import annotations

import asyncio
import logging
import time

import numpy as np
from prometheus_client import Counter

from sourcier.services.chassis.errors import InvalidArgument, ServiceError
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.gateway.peers.embedding import EmbedServices
from sourcier.services.index.curation.response_vectors import write_vectors
from sourcier.services.index.moves.response_gaps import MissingVector, missing_vectors

logger = logging.getLogger(__name__)

BATCH = 64
"""Responses of one look at a space."""
SERVED_SECONDS_MAX = 10.0
"""For the embed services to say what they serve."""
EMBED_SECONDS_MAX = 30.0
"""For one question, behind all that people wait for."""
LOOK_SECONDS_MAX = 30.0
"""For one look at a space, beside the question that it is at."""
REFUSED_MAX = 10_000
"""Refused responses that are remembered; beyond them all are tried, and told of, once more."""

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
        self._after: dict[str, MissingVector] = {}
        """By space the response behind which the next look begins; no space that was looked through to its end."""
        self._refused: set[MissingVector] = set()
        """Responses that cannot be embedded; a question in other words is another one."""

    async def run(self, stopping: asyncio.Event) -> None:
        """Look for missing vectors until told to stop; an outage is waited out."""
        while not stopping.is_set():
            made = 0
            try:
                made = await self.make()
            except ServiceError as error:
                logger.warning("vectors of learned responses are not made, once more: %s", error)
            if not made or not self._after:
                await first_of(stopping, seconds=self._interval_seconds)

    async def make(self) -> int:
        """Make vectors that are missing, `BATCH` at most in each space that is served; return how many."""
        served = await self._embed.served(tenant="default", deadline=Deadline.after(SERVED_SECONDS_MAX))
        space_ids = list(dict.fromkeys(space.space_id for space in served))
        self._after = {space_id: after for space_id, after in self._after.items() if space_id in space_ids}
        return sum([await self._make_in(space_id) for space_id in space_ids])

    async def _make_in(self, space_id: str) -> int:
        """Make vectors in one space, and note where the next look goes on: behind what failed, if something did."""
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            missing = await missing_vectors(
                connection, space_id=space_id, limit=BATCH, after=self._after.pop(space_id, None)
            )
        if len(missing) == BATCH:
            self._after[space_id] = missing[-1]
        made, until = 0, time.monotonic() + LOOK_SECONDS_MAX
        for each in missing:
            if each in self._refused:
                continue
            try:
                made += await self._make_one(each)
            except ServiceError as error:
                logger.warning("the vector of a learned response is not made, once more: %s", error, extra={
                    "tenant": each.tenant, "response_id": each.response_id, "space_id": space_id,
                })
                self._after[space_id] = each
                break
            if time.monotonic() > until:
                self._after[space_id] = each
                break
        return made

    async def _make_one(self, missing: MissingVector) -> int:
        """Make one vector and write it; return whether it was still missing. One that is refused is told of once."""
        try:
            embedding = await self._embed.embed_query(
                missing.question, space_id=missing.space_id, tenant=missing.tenant,
                deadline=Deadline.after(EMBED_SECONDS_MAX), bulk=True,
            )
        except InvalidArgument as error:
            if len(self._refused) >= REFUSED_MAX:
                self._refused.clear()
            self._refused.add(missing)
            logger.error("a learned response cannot be embedded, and is not found in this space: %s", error, extra={
                "tenant": missing.tenant, "response_id": missing.response_id, "space_id": missing.space_id,
            })
            return 0
        vector = embedding.vector.astype(np.float16).tobytes()
        async with self._database.transaction(tenant=missing.tenant) as connection:
            written = await write_vectors(
                connection, tenant=missing.tenant, space_id=missing.space_id, vectors=[(missing.response_id, vector)]
            )
        learned_vectors_total.inc(written)
        return written
