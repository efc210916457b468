"""What `sourcier doctor` asks: the services, the index and the jobs, each with what follows and what mends it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from sourcier.gateway.v1 import operations_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.installation import own_release
from sourcier.services.chassis.errors import ServiceError, Unavailable
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.postgres.migrating import read_migrations
from sourcier.services.chassis.postgres.migration_wait import last_migration
from sourcier.services.chassis.queue.room import Room
from sourcier.services.gateway.api import surroundings
from sourcier.services.gateway.peers.embedding import ServedSpace
from sourcier.services.gateway.peers.services import Peers
from sourcier.services.index import migrations
from sourcier.services.index.documents import soundness, statistics
from sourcier.services.index.documents.soundness import SpaceSoundness
from sourcier.services.index.documents.statistics import Statistics

Check = operations_pb2.Check
Look = Callable[[], Awaitable[list[Check]]]

ASK_SECONDS_MAX = 5.0
"""A service that says nothing for so long is as good as gone."""

OK, WARNING, FAILED = surroundings.OK, surroundings.WARNING, surroundings.FAILED


class Diagnosis:
    """Looks at all that a tenant's questions and documents rest on; it changes nothing."""

    def __init__(
        self, database: Database, peers: Peers, *, broker: Callable[[], Awaitable[Room]] | None = None,
        certificate: Path | None = None,
    ) -> None:
        """Keep what to look at: `broker` tells of its room, where the gateway knows one; `certificate` is its own."""
        self._database = database
        self._peers = peers
        self._broker = broker
        self._certificate = certificate

    async def checks(self, *, tenant: str, deadline: Deadline) -> list[Check]:
        """Return one check for each thing, whatever became of the others."""
        soon = Deadline.after(deadline.remaining(ASK_SECONDS_MAX))
        looks: tuple[tuple[str, str, Look], ...] = (
            ("ingest", "documents are not taken in", lambda: self._ingest(tenant, soon)),
            ("embed", "nothing is searched, answered or indexed", lambda: self._embed(tenant, soon)),
            ("rerank", "passages are ranked by the gateway alone, or not at all", lambda: self._rerank(tenant, soon)),
            ("generate", "questions are not answered; searches are", lambda: self._generate(tenant, soon)),
            ("jobs", "nobody knows what is under way", lambda: self._jobs(tenant)),
            ("spaces", "collections cannot be searched", lambda: self._spaces(tenant, soon)),
            ("broker", "documents wait between the stages, and answers are not resumed at other gateways",
             lambda: self._look_at_broker(soon)),
            ("releases", "nobody knows which releases run", lambda: self._look_at_releases(soon)),
            ("schema", "nobody knows whether the schema is this release's", self._look_at_schema),
            ("clock", "nobody knows how late it is in the database", lambda: self._look_at_clocks(tenant)),
            ("certificate", "clients refuse to connect", self._look_at_certificate),
        )
        found = await asyncio.gather(*(_looked(name, consequence, look) for name, consequence, look in looks))
        return [check for checks in found for check in checks]

    async def statistics(self, *, tenant: str) -> Statistics:
        """Count what the tenant's collections hold."""
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            return await statistics.count(connection, tenant=tenant)

    async def _ingest(self, tenant: str, deadline: Deadline) -> list[Check]:
        await channels.call(
            self._peers.ingest.ListJobs, ingest_pb2.ListJobsRequest(page_size=1), peer="ingest", tenant=tenant,
            deadline=deadline, cap_seconds=ASK_SECONDS_MAX,
        )
        return [Check(name="ingest", state=OK, finding="answers")]

    async def _rerank(self, tenant: str, deadline: Deadline) -> list[Check]:
        ranker = await self._peers.rerank_model(tenant=tenant, deadline=deadline)
        return [Check(name="rerank", state=OK, finding=f"answers, ranks by {ranker}")]

    async def _generate(self, tenant: str, deadline: Deadline) -> list[Check]:
        model = await self._peers.language_model(tenant=tenant, deadline=deadline)
        return [Check(name="generate", state=OK, finding=f"answers, with the model {model}")]

    async def _jobs(self, tenant: str) -> list[Check]:
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            jobs = await soundness.look_at_jobs(connection, tenant=tenant)
        under_way = f"{jobs.waiting} waiting, {jobs.processing} under way"
        stuck = Check(
            name="jobs", state=WARNING, finding=f"{under_way}; {jobs.stuck} stand still for over an hour",
            consequence="the earlier versions of these documents go on answering, or none does",
            remedy="sourcier jobs list --status processing",
        ) if jobs.stuck else Check(name="jobs", state=OK, finding=under_way)
        failures = Check(
            name="failures", state=WARNING, finding=f"{jobs.failures} documents were given up",
            consequence="they do not answer, or their earlier versions do", remedy="sourcier failures list",
        ) if jobs.failures else Check(name="failures", state=OK, finding="none open")
        return [stuck, failures]

    async def _embed(self, tenant: str, deadline: Deadline) -> list[Check]:
        served = await self._peers.embed.served(tenant=tenant, deadline=deadline)
        if not served:
            raise Unavailable("no embed service answers")
        told = ", ".join(f"{each.model} ({each.engine})" for each in served)
        return [Check(name="embed", state=OK, finding=f"answers, with the model {told}")]

    async def _spaces(self, tenant: str, deadline: Deadline) -> list[Check]:
        served = await self._peers.embed.served(tenant=tenant, deadline=deadline)
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            spaces = await soundness.look_at_spaces(connection, tenant=tenant)
        return [check for space in spaces for check in of_space(space, served)]

    async def _look_at_broker(self, deadline: Deadline) -> list[Check]:
        if self._broker is None:
            return []
        try:
            async with asyncio.timeout(deadline.remaining(ASK_SECONDS_MAX)):
                return [surroundings.of_broker(await self._broker())]
        except TimeoutError as error:
            raise Unavailable("NATS says nothing") from error

    async def _look_at_clocks(self, tenant: str) -> list[Check]:
        return [await surroundings.of_clocks(self._database, tenant=tenant)]

    async def _look_at_releases(self, deadline: Deadline) -> list[Check]:
        own = own_release()
        return [surroundings.of_releases(own, await self._peers.of_release(own, deadline=deadline))]

    async def _look_at_schema(self) -> list[Check]:
        last, _ = await last_migration(self._database)
        return [surroundings.of_schema(last, known=len(read_migrations(migrations.FOLDER)))]

    async def _look_at_certificate(self) -> list[Check]:
        if self._certificate is None:
            return []
        return [await asyncio.to_thread(surroundings.of_certificate, self._certificate)]


def of_space(space: SpaceSoundness, served: Sequence[ServedSpace]) -> list[Check]:
    """Return what there is to say of one embedding space of the tenant's collections."""
    found = next((each for each in served if each.space_id == space.space_id), None)
    if found is None:
        agreement = Check(
            name="model", state=FAILED,
            finding=f"no embed service serves {space.space_id}, the space of {space.collections} collections",
            consequence="these collections are neither searched nor added to",
            remedy=f"SOURCIER_EMBED_MODEL={space.model} sourcier-service embed",
        )
    elif found.dimension != space.dimension:
        agreement = Check(
            name="model", state=FAILED,
            finding=f"{found.model} has {found.dimension} dimensions, {space.space_id} {space.dimension}",
            consequence="these collections are neither searched nor added to",
            remedy=f"sourcier models fetch --force {space.model}",
        )
    else:
        agreement = Check(name="model", state=OK, finding=f"{space.space_id} is served, {space.dimension} dimensions")
    missing = Check(
        name="vectors", state=WARNING,
        finding=f"{'at least ' if space.chunks_without_vector >= soundness.MISSING_COUNTED_MAX else ''}"
                f"{space.chunks_without_vector} chunks of {space.space_id} have no vector",
        consequence="they are found by their words alone", remedy="sourcier reprocess --from embed",
    ) if space.chunks_without_vector else Check(name="vectors", state=OK, finding=f"{space.space_id} is whole")
    index = Check(
        name="index", state=WARNING, finding=f"{space.space_id} has about {space.rows:,} vectors and no valid index",
        consequence="each search reads all of them until ingest has built it after the load",
        remedy="sourcier jobs list --status processing",
    ) if space.lacks_index else Check(
        name="index", state=OK,
        finding=f"{space.space_id} {'has its HNSW index' if space.indexed else 'is small enough to be scanned'}",
    )
    return [agreement, missing, index]


async def _looked(name: str, consequence: str, look: Look) -> list[Check]:
    """Look, and tell an error as a check that failed: one part that is away must not hide the others."""
    try:
        return await look()
    except ServiceError as error:
        return [Check(name=name, state=FAILED, finding=error.message, consequence=consequence,
                      remedy="sourcier status")]
