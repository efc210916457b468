"""What the index needs beside the commit path: document frequencies added up, statistics of tables that grow, and what
nobody needs any more swept away."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.collections import build_manifest as manifests
from sourcier.services.index.documents import file_removals, sweeping
from sourcier.services.index.documents.sweeping import EndedJob
from sourcier.services.index.lexical import frequencies
from sourcier.services.index.pipeline import planner_statistics
from sourcier.services.ingest.intake.removal import Removal
from sourcier.services.ingest.storage import PARSER_AND_ARTEFACT_VERSION

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 1.0
REFRESH_SHARE = 0.02
"""Most of the time that refreshes may take, as long as they are `REFRESH_SECONDS_MAX` apart at most."""
REFRESH_SECONDS_MAX = 10.0
SWEEP_SECONDS = 60.0
UPLOADS_SECONDS = 600.0
"""How often the object store is asked for uploads that nobody ended."""
SWEEP_LIMIT = 100
MANIFEST_SECONDS = 10.0
MANIFEST_SHARE = 0.02
"""Most of the time that manifests may take: each look reads every document, and hashes what changed."""
MANIFEST_LIMIT = 100
OVER_SECONDS = 3600.0
"""How long an overtaken version's files are kept: longer than a message about it can be under way."""
JOBS_KEPT_SECONDS = 30 * 24 * 3600.0
JOBS_LIMIT = 5_000
"""Old jobs that one sweep looks at: of a million documents each is looked at every few hours."""
LETTERS_KEPT_SECONDS = 90 * 24 * 3600.0


class Maintenance:
    """Runs in every process that indexes; each step is done by whoever gets to it first.

    A step that fails is told of and tried again with the next round: those behind it need nothing of it.
    """

    name = "maintenance"

    def __init__(self, database: Database, removal: Removal) -> None:
        self._database = database
        self._removal = removal
        self._swept_at = 0.0
        self._uploads_swept_at: float | None = None
        self._manifests_due_at = 0.0
        self._jobs_after: EndedJob | None = None
        """The old job behind which the next sweep goes on."""

    async def run(self, stopping: asyncio.Event) -> None:
        """Maintain until told to stop."""
        while not stopping.is_set():
            refreshed = await self._refresh_all(stopping)
            await _tried("planner statistics", self._analyse, stopping)
            await _tried("manifests", self._record_manifests, stopping)
            await self._sweep(stopping)
            # Under a load the changes of many documents are added up together: their common words are one row then.
            await first_of(stopping, seconds=min(max(REFRESH_SECONDS, refreshed / REFRESH_SHARE), REFRESH_SECONDS_MAX))

    async def _refresh_all(self, stopping: asyncio.Event) -> float:
        """Add up all that commits noted; return how many seconds it took, 0 where it failed."""
        async def refresh() -> None:
            while await self._refresh() and not stopping.is_set():
                pass

        began = time.monotonic()
        return time.monotonic() - began if await _tried("frequencies", refresh, stopping) else 0.0

    async def _refresh(self) -> int:
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            return await frequencies.refresh(connection)

    async def _analyse(self) -> None:
        await planner_statistics.refresh(self._database)

    async def _record_manifests(self) -> None:
        began = time.monotonic()
        if began < self._manifests_due_at:
            return
        try:
            async with self._database.transaction(tenant=ALL_TENANTS) as connection:
                await manifests.record_changed(
                    connection, parser_version=PARSER_AND_ARTEFACT_VERSION, limit=MANIFEST_LIMIT
                )
        finally:
            # One that ran into a limit of time took the most of it: it has its share like any other.
            ended = time.monotonic()
            self._manifests_due_at = ended + max(MANIFEST_SECONDS, (ended - began) / MANIFEST_SHARE)

    async def _sweep(self, stopping: asyncio.Event) -> None:
        if stopping.is_set() or time.monotonic() - self._swept_at < SWEEP_SECONDS:
            return
        self._swept_at = time.monotonic()
        await _tried("overtaken versions", self._sweep_all_versions, stopping)
        await self._removal.sweep_files()
        await self._sweep_uploads(stopping)
        await _tried("expired documents", lambda: self._expire_all(stopping), stopping)
        await _tried("old jobs and letters", self._forget_expired, stopping)

    async def _sweep_uploads(self, stopping: asyncio.Event) -> None:
        if self._uploads_swept_at is not None and time.monotonic() - self._uploads_swept_at < UPLOADS_SECONDS:
            return
        self._uploads_swept_at = time.monotonic()
        await _tried("uploads that nobody ended", self._removal.sweep_uploads, stopping)

    async def _sweep_all_versions(self) -> None:
        while await self.sweep_versions() == SWEEP_LIMIT:
            pass

    async def _expire_all(self, stopping: asyncio.Event) -> None:
        kept = set[str]()
        while await self.expire_documents(kept) == SWEEP_LIMIT and not stopping.is_set():
            await self._refresh()  # searches rank by the frequencies meanwhile

    async def _forget_expired(self) -> None:
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            after = await sweeping.forget_jobs(
                connection, older_than_seconds=JOBS_KEPT_SECONDS, limit=JOBS_LIMIT, after=self._jobs_after
            )
            await sweeping.forget_letters(connection, older_than_seconds=LETTERS_KEPT_SECONDS)
        self._jobs_after = after

    async def sweep_versions(self, *, older_than_seconds: float = OVER_SECONDS) -> int:
        """Remove overtaken versions, whose files are removed next; return how many, `SWEEP_LIMIT` at most."""
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            over = await sweeping.over_versions(
                connection, older_than_seconds=older_than_seconds, limit=SWEEP_LIMIT
            )
            await file_removals.note_versions(connection, over)
            await sweeping.forget_versions(connection, over)
        return len(over)

    async def expire_documents(self, kept: set[str]) -> int:
        """Remove documents older than their collection keeps them; return how many it tried, `SWEEP_LIMIT` at most.

        One that cannot be removed is told of, and noted in `kept`: it is left to the next sweep, and keeps no other
        from its turn. What another process removed meanwhile counts too: called until fewer are returned, this comes to
        an end.
        """
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            # In no order: as many more as are left out, so that there are others among them.
            expired = await sweeping.expired_documents(connection, limit=SWEEP_LIMIT + len(kept))
        due = [(tenant, document_id) for tenant, document_id in expired if document_id not in kept][:SWEEP_LIMIT]
        for tenant, document_id in due:
            try:
                await self._expire(tenant=tenant, document_id=document_id)
            except ServiceError as error:
                kept.add(document_id)
                telemetry.degradations_total.labels("retention", error.reason).inc()
                logger.warning("older than its collection keeps documents, and not removed: %s", error,
                               extra={"document_id": document_id})
        return len(due)

    async def _expire(self, *, tenant: str, document_id: str) -> None:
        async with self._database.transaction(tenant=tenant) as connection:
            if not await sweeping.lock_expired(connection, tenant=tenant, document_id=document_id):
                return
            deletion = await self._removal.remove_rows(connection, tenant=tenant, document_id=document_id)
        await self._removal.remove_files(deletion.file_removals, tenant=tenant)
        telemetry.expired_documents_total.inc()
        logger.info("older than its collection keeps documents", extra={"document_id": document_id})


async def _tried(step: str, work: Callable[[], Awaitable[object]], stopping: asyncio.Event) -> bool:
    """Do one step; return whether it was done, and tell of what it met where it was not."""
    if stopping.is_set():
        return False  # while the database is away, each of them would take its time to fail
    try:
        await work()
    except ServiceError as error:
        logger.warning("maintenance: %s: %s", step, error)
        return False
    return True
