"""Erases tenants: each step deletes until nothing of its kind is left, so that a step cut off is simply done again.

An erasure is a row (`index/erasure`). Whoever asks for one only records it; one worker of the installation at a time
carries it out, and one that dies is followed by the next. Until it is finished, the database refuses what is new of the
tenant; what was under way meanwhile is found by another pass.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping

from prometheus_client import Counter

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DeadlineExceeded, FailedPrecondition, ServiceError
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.chassis.postgres.locks import sole
from sourcier.services.chassis.queue import erasing as broker
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.erasure import erasures, rewriting, rows
from sourcier.services.index.erasure.erasures import STEPS, Erasure
from sourcier.services.ingest.erasing.traces import Traces
from sourcier.services.ingest.intake.removal import Removal
from sourcier.services.ingest.storage import OWN_PREFIXES

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
"""How often a process looks for erasures that another one recorded, or left."""
PENDING_SECONDS = 60.0
"""How often traces that could not be overwritten are tried again."""
PASSES_MAX = 20
"""Passes over the tables, after each of which something of the tenant's was there again."""

erased_total = Counter("sourcier_erased_total", "What erasures of tenants deleted, by kind.", ["kind"])


class Erasing:
    """A worker of the ingest service."""

    name = "erasing"

    def __init__(
        self, database: Database, objects: ObjectStore, jetstream: JetStream, removal: Removal, traces: Traces
    ) -> None:
        self._database = database
        self._objects = objects
        self._jetstream = jetstream
        self._removal = removal
        self._traces = traces
        self._woken = asyncio.Event()
        self._steps: Mapping[str, Callable[[Erasure], Awaitable[None]]] = {
            "curation": self._delete_curation, "documents": self._delete_collections, "files": self._delete_files,
            "queues": self._delete_messages, "rows": self._delete_rows, "access": self._delete_access,
        }

    def wake(self) -> None:
        """Have erasures looked for now."""
        self._woken.set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Erase what is asked for until told to stop; what fails is tried again with the next look."""
        tried_pending_at = 0.0
        loop = asyncio.get_running_loop()
        while not stopping.is_set():
            self._woken.clear()
            pending = loop.time() - tried_pending_at >= PENDING_SECONDS
            try:
                await self._erase_all(stopping, pending=pending)
            except ServiceError as error:
                logger.warning("erasures are looked for once more: %s", error)
            if pending:
                tried_pending_at = loop.time()
            await first_of(stopping, self._woken, seconds=LOOK_SECONDS)

    async def _erase_all(self, stopping: asyncio.Event, *, pending: bool) -> None:
        async with self._database.transaction(tenant=ALL_TENANTS, read_only=True) as connection:
            asked = await erasures.unsettled(connection)
        due = [erasure for erasure in asked if erasure.step != erasures.DONE or pending]
        if not due:
            return
        async with sole(self._database, ".erasing") as alone:
            for erasure in due if alone is not None else ():
                if stopping.is_set():
                    return
                try:
                    await self.erase(erasure)
                except ServiceError as error:
                    # Those behind it need nothing of it.
                    telemetry.degradations_total.labels("erasing", error.reason).inc()
                    logger.warning("an erasure is not done yet, and is tried again: %s", error)

    async def erase(self, erasure: Erasure) -> None:
        """Carry an erasure out from the step that it is at."""
        if erasure.finished_at is None:
            counts = erasure.counts or await self.count(tenant=erasure.tenant)
            for step in STEPS[STEPS.index(erasure.step):-1]:
                async with self._database.transaction(tenant=erasure.tenant) as connection:
                    await erasures.note(connection, erasure, step=step, counts=counts)
                await self._steps[step](erasure)
                await failpoint(f"erase.after-{step}")
            async with self._database.transaction(tenant=erasure.tenant) as connection:
                await erasures.finish(connection, erasure)
                await erasures.note(connection, erasure, step="traces", counts=counts)
            for kind, count in counts.items():
                erased_total.labels(kind).inc(count)
            logger.info("a tenant was erased", extra={"erased_tenant": erasure.tenant})
        await failpoint("erase.before-traces")
        traces = await self._traces.overwrite(erasure)
        async with self._database.transaction(tenant=erasure.tenant) as connection:
            await erasures.tell(connection, erasure, traces)

    async def count(self, *, tenant: str) -> dict[str, int]:
        """Count what a tenant has, by kind: rows, files of the service's own, and messages in the queues."""
        counts: dict[str, int] = {"files": 0}
        for table, kind in rows.KINDS.items():
            try:
                async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                    counts[kind] = await rows.count(connection, table, tenant=tenant)
            except DeadlineExceeded:
                logger.warning("a tenant has more %s than can be counted in time; its report lacks them", kind)
        for prefix in OWN_PREFIXES:
            async for page in self._objects.list_pages(f"{prefix}{tenant}/"):
                counts["files"] += len(page)
        counts["queued_messages"] = await broker.count_messages(self._jetstream, tenant=tenant)
        return counts

    async def _delete_curation(self, erasure: Erasure) -> None:
        for table in rows.CURATION:
            await self._delete(erasure, table)

    async def _delete_collections(self, erasure: Erasure) -> None:
        """Delete documents in the way of collections, which keeps commits that are under way in order."""
        tenant = erasure.tenant
        while True:
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                names = await rows.collection_names(connection, tenant=tenant)
            for name in names:
                await self._removal.remove_collection(tenant=tenant, name=name)
            if not names:
                return

    async def _delete_files(self, erasure: Erasure) -> None:
        """Delete all that the service's own bucket holds of a tenant, and what was being uploaded."""
        prefixes = [f"{prefix}{erasure.tenant}/" for prefix in OWN_PREFIXES]
        await self._objects.sweep_uploads(*prefixes, older_than_seconds=-1)
        for prefix in prefixes:
            async for page in self._objects.list_pages(prefix):
                await self._objects.delete(*(found.key for found in page))
        async with self._database.transaction(tenant=erasure.tenant) as connection:
            await rows.forget_removals(connection, tenant=erasure.tenant)

    async def _delete_messages(self, erasure: Erasure) -> None:
        await broker.delete_messages(self._jetstream, tenant=erasure.tenant)

    async def _delete_rows(self, erasure: Erasure) -> None:
        """Delete what is left; once more, with its files and messages, where work under way brought something back."""
        tenant = erasure.tenant
        for _ in range(PASSES_MAX):
            for table in (*rows.CURATION, *rows.REST):
                await self._delete(erasure, table)
            await rewriting.empty_partitions(self._database, tenant=tenant)
            async with self._database.transaction(tenant=tenant, read_only=True) as connection:
                left = await rows.remaining(connection, tenant=tenant)
            waiting = await broker.count_messages(self._jetstream, tenant=tenant)
            if not left and not waiting:
                return
            await self._delete_messages(erasure)
            await self._delete_files(erasure)
        raise FailedPrecondition(
            f"something of the tenant {tenant} comes back after each of {PASSES_MAX} passes: {left}, {waiting} messages"
        )

    async def _delete_access(self, erasure: Erasure) -> None:
        for table in rows.ACCESS:
            await self._delete(erasure, table)

    async def _delete(self, erasure: Erasure, table: str) -> None:
        deleted = rows.PAGE_ROWS
        while deleted == rows.PAGE_ROWS:
            async with self._database.transaction(tenant=erasure.tenant) as connection:
                deleted = await rows.delete_page(connection, table, tenant=erasure.tenant)
