"""Keeps knowledge units in step with what agents ask for.

Plans them, sends chunks to the model, has their vectors made, and lets a set that is whole take over.

What is to be done is read from the tables each time, so a crash, a lost message or a second process costs work done
twice and never correctness. One process leads at a time.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from itertools import groupby

from prometheus_client import Counter

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.errors import InvalidArgument, ServiceError
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.chassis.postgres.locks import sole
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.pipeline import outbox
from sourcier.services.index.pipeline.outbox import OutboxMessage
from sourcier.services.index.units import builds as unit_builds
from sourcier.services.index.units import vectors as unit_points
from sourcier.services.index.units import work as unit_work
from sourcier.services.index.units.vectors import MissingPoint, PointVector
from sourcier.services.index.units.work import ReleasedUnit
from sourcier.services.ingest.counted_spaces import CountedSpaces
from sourcier.services.ingest.enriching.peers import EnrichingPeers
from sourcier.services.ingest.relay import Relay
from sourcier.services.ingest.tokens import Tokens

logger = logging.getLogger(__name__)

LOOK_SECONDS = 1.0
PLAN_DOCUMENTS = 64
RELEASE_LIMIT = 64
VECTOR_UNITS = 16
CLEAR_LIMIT = 1_000

unit_vectors_total = Counter("sourcier_unit_vectors_total", "Vectors made for knowledge units, by kind.", ["kind"])


class Enrichment:
    """Runs in every process that enriches."""

    name = "enrichment"

    def __init__(
        self, database: Database, jetstream: JetStream, relay: Relay, peers: EnrichingPeers, counted: CountedSpaces, *,
        in_flight_max: int, stalled_seconds: float,
    ) -> None:
        """Take the most chunks under way at once per tenant, and when a message counts as lost."""
        self._database = database
        self._jetstream = jetstream
        self._relay = relay
        self._peers = peers
        self._counted = counted
        self._in_flight_max = in_flight_max
        self._stalled_seconds = stalled_seconds
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Say that there may be work now."""
        self._woken.set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Look for work until told to stop."""
        while not stopping.is_set():
            self._woken.clear()
            moved = False
            try:
                moved = await self._lead()
            except ServiceError as error:
                logger.warning("enrichment: %s", error)
            if not moved:
                await first_of(self._woken, stopping, seconds=LOOK_SECONDS)

    async def _lead(self) -> bool:
        """Do each kind of work once, unless another process is at it; return whether anything moved."""
        moved = 0
        async with sole(self._database, ".enrichment") as held:
            for step, work in (
                ("sets to begin", self._begin), ("units to plan", self._plan), ("chunks to send", self._release),
                ("vectors to make", self._make_vectors), ("sets to switch", self._switch),
                ("sets to clear", self._clear),
            ) if held is not None else ():
                moved += await _tried(step, work)
        return moved > 0

    async def _begin(self) -> int:
        """Begin the sets of units that agents ask for and that are not there."""
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            wanted = await unit_builds.wanting(connection)
        for each in wanted:
            async with self._database.transaction(tenant=each.tenant) as connection:
                build = await unit_builds.begin(
                    connection, tenant=each.tenant, collection_id=each.collection_id, methods=each.methods
                )
            logger.info("knowledge units are made", extra={
                "collection_id": each.collection_id, "methods": each.methods, "state": build.state,
            })
        return len(wanted)

    async def _plan(self) -> int:
        """Give the chunks of a page of each set's documents their units."""
        planned = 0
        for state in ("live", "building"):
            async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
                builds = await unit_builds.open_builds(connection, state=state)
            for build in builds:
                if build.planned_after is None:
                    continue
                async with self._database.transaction(tenant=build.tenant) as connection:
                    await unit_builds.plan(connection, build, limit=PLAN_DOCUMENTS)
                planned += 1
        return planned

    async def _release(self) -> int:
        """Send waiting chunks on their way to the model, a bounded number at a time."""
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            released = await unit_work.release(
                connection, in_flight_max=self._in_flight_max, limit=RELEASE_LIMIT,
                stalled_seconds=self._stalled_seconds,
            )
            for unit in released:
                await outbox.put(connection, self._message(unit))
        if released:
            await failpoint("enrich.after-release")
            self._relay.wake()
        return len(released)

    def _message(self, unit: ReleasedUnit) -> OutboxMessage:
        message = events_pb2.ChunkToEnrich(
            unit_id=unit.unit_id,
            version=events_pb2.VersionReference(
                tenant=unit.tenant, collection_id=unit.collection_id, document_id=unit.document_id,
                version_id=unit.version_id, generation=unit.generation, job_id=unit.job_id, lane=unit.lane,
                request_id=unit.request_id,
            ),
        )
        return OutboxMessage(
            tenant=unit.tenant, payload=message.SerializeToString(),
            subject=subjects.CHUNKS_ENRICH.address(self._jetstream.prefix, tenant=unit.tenant, lane=unit.lane),
            # Sent again, it is meant: what was sent before was lost, or a person wants it tried again.
            message_id=f"{unit.unit_id}-enrich-{time.time_ns()}",
        )

    async def _make_vectors(self) -> int:
        """Make vectors that units lack in spaces that are served, some of them."""
        served = await self._peers.served_spaces(tenant="default")
        known = [space_id for space_id in served if space_id in self._counted.ids]
        if not known:
            return 0
        return sum([await self._make_vectors_in(space_id) for space_id in known])

    async def _make_vectors_in(self, space_id: str) -> int:
        """Make vectors in one space, tenant by tenant; return of how many units."""
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            gaps = await unit_points.gaps(connection, space_ids=[space_id], limit=VECTOR_UNITS)
        gaps.sort(key=lambda gap: gap.tenant)
        return sum([
            await self._filled(tenant, space_id, [gap.unit_id for gap in group])
            for tenant, group in groupby(gaps, key=lambda gap: gap.tenant)
        ])

    async def _filled(self, tenant: str, space_id: str, unit_ids: list[str]) -> int:
        """Fill gaps; return how many. Units whose vectors fail let those behind them go first, and are tried again."""
        try:
            await self._fill(tenant, space_id, unit_ids)
        except ServiceError as error:
            if len(unit_ids) > 1 and not error.retryable:
                # No outage: one of them may be to blame, and the others need not fail with it each time.
                return sum([await self._filled(tenant, space_id, [unit_id]) for unit_id in unit_ids])
            logger.warning("enrichment: vectors of units are not made, once more: %s", error, extra={
                "tenant": tenant, "space_id": space_id,
            })
            async with self._database.transaction(tenant=tenant) as connection:
                await unit_points.postpone(connection, tenant=tenant, space_id=space_id, unit_ids=unit_ids)
            return 0
        return len(unit_ids)

    async def _fill(self, tenant: str, space_id: str, unit_ids: list[str]) -> None:
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            missing = await unit_points.missing(connection, tenant=tenant, space_id=space_id, unit_ids=unit_ids)
        try:
            points = await self._embedded(missing, tenant=tenant, space_id=space_id)
        except InvalidArgument as error:
            await self._refuse(tenant, space_id, unit_ids, error)
            return
        async with self._database.transaction(tenant=tenant) as connection:
            await unit_points.write(connection, tenant=tenant, space_id=space_id, unit_ids=unit_ids, points=points)
        await failpoint("enrich.after-vectors")
        for point in points:
            unit_vectors_total.labels(point.kind).inc()

    async def _refuse(self, tenant: str, space_id: str, unit_ids: list[str], error: InvalidArgument) -> None:
        """Find the unit that cannot be embedded, and let it fail, so that the others need not wait behind it."""
        if len(unit_ids) > 1:
            for unit_id in unit_ids:
                await self._fill(tenant, space_id, [unit_id])
            return
        logger.error("a unit cannot be embedded: %s", error, extra={"unit_id": unit_ids[0], "space_id": space_id})
        async with self._database.transaction(tenant=tenant) as connection:
            await unit_points.refuse(
                connection, tenant=tenant, unit_id=unit_ids[0], reason=error.reason, message=error.message
            )

    async def _embedded(self, missing: list[MissingPoint], *, tenant: str, space_id: str) -> list[PointVector]:
        """Embed questions as questions, and summaries and categories with their text as passages."""
        tokens = self._counted.of(space_id).tokens
        points: list[PointVector] = []
        for query in (True, False):
            wanted = [point for point in missing if (point.kind == "qa_pair") is query]
            texts = [fitted(point, tokens) for point in wanted]
            vectors = await self._peers.embed(texts, query=query, space_id=space_id, tenant=tenant)
            points += [
                PointVector(point.unit_id, point.revision, point.kind, point.subject_id, vector)
                for point, vector in zip(wanted, vectors, strict=True)
            ]
        return points

    async def _switch(self) -> int:
        """Let sets that are whole take the place of those that answer."""
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            building = await unit_builds.open_builds(connection, state="building")
        switched = 0
        for build in building:
            async with self._database.transaction(tenant=build.tenant) as connection:
                done = await unit_builds.switch(connection, build)
            if done:
                logger.info("knowledge units switched", extra={
                    "collection_id": build.collection_id, "build_id": build.build_id,
                })
            switched += done
        return switched

    async def _clear(self) -> int:
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            return await unit_builds.clear_retired(connection, limit=CLEAR_LIMIT)


async def _tried(step: str, work: Callable[[], Awaitable[int]]) -> int:
    """Return how much a step moved, and 0 where it failed: the others need not wait for it."""
    try:
        return await work()
    except ServiceError as error:
        logger.warning("enrichment: %s: %s", step, error)
        return 0


def fitted(point: MissingPoint, tokens: Tokens) -> str:
    """Return what is embedded for a point: its lead and as much of the chunk's text as the model reads with it.

    Cut at its end where that is too long: how a text begins tells most of what it is about.
    """
    whole = f"{point.lead.strip()}\n{point.text}".strip()
    if tokens.count(whole) <= tokens.passage_limit:
        return whole
    low, high = 1, len(whole)
    while low < high:
        middle = (low + high + 1) // 2
        fits = tokens.count(whole[:middle]) <= tokens.passage_limit
        low, high = (middle, high) if fits else (low, middle - 1)
    return whole[:low].strip()
