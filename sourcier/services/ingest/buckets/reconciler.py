"""Compares the watched buckets with the manifest, now and then and when asked to: notifications are only hints.

A page of the listing is one transaction, so a comparison that was cut off goes on where it stopped, in any process.
What differs is marked, and the collector asks the store about it; a mistake here costs a question, never a document.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import NotFound, ServiceError
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.objects import StoredObject
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.postgres.locks import sole
from sourcier.services.index.buckets import manifest, reconciliations
from sourcier.services.index.buckets.manifest import ObjectName
from sourcier.services.index.buckets.reconciliations import Reconciliation
from sourcier.services.ingest.buckets.collector import Collector
from sourcier.services.ingest.buckets.rules import BucketRule
from sourcier.services.ingest.buckets.sources import SourceBuckets
from sourcier.services.ingest.relay import Relay

logger = logging.getLogger(__name__)

LOOK_SECONDS = 5.0
LOCK_SECONDS = 0.5
"""How often who waits for another process's comparison looks whether it is over."""
RESUME_SECONDS = 3600.0
"""A comparison that stood still for longer is begun anew: its first pages are too old."""
KEPT_SECONDS = 30 * 24 * 3600.0
EXAMPLES_MAX = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class ReconciliationProgress:
    """How far the comparison of one rule's objects is."""

    bucket: str
    prefix: str
    listed: int
    missing: int
    changed: int
    gone: int
    finished: bool
    examples: tuple[str, ...] = ()


class Reconciler:
    """Runs in every process that collects; one of them compares at a time."""

    name = "reconciler"

    def __init__(
        self, database: Database, buckets: SourceBuckets, collector: Collector, relay: Relay, *, every_seconds: float
    ) -> None:
        self._database = database
        self._buckets = buckets
        self._collector = collector
        self._relay = relay
        self._every_seconds = every_seconds
        self._turns: dict[str, asyncio.Lock] = {}
        """By rule: whoever waits for one queues here first, so that a single one asks the database."""

    async def run(self, stopping: asyncio.Event) -> None:
        """Compare each rule's objects when it is time, until told to stop."""
        while not stopping.is_set():
            for rule in self._buckets.rules.rules:
                if not stopping.is_set():
                    await self._compare_when_due(rule, stopping)
            await first_of(stopping, seconds=LOOK_SECONDS)

    async def reconcile(
        self, *, tenant: str, bucket: str = "", dry_run: bool = False
    ) -> AsyncGenerator[ReconciliationProgress, None]:
        """Compare a tenant's buckets, or one of them, now; yield after each page. Raise NotFound for one unwatched."""
        rules = [
            rule for rule in self._buckets.rules.rules if rule.tenant == tenant and bucket in ("", rule.bucket)
        ]
        if bucket and not rules:
            watched = sorted({rule.bucket for rule in self._buckets.rules.rules if rule.tenant == tenant})
            raise NotFound(
                f"no rule watches the bucket {bucket!r}; the watched ones are {', '.join(watched) or 'none'}",
                field="bucket",
            )
        if not dry_run:
            # Whoever asks for a comparison may know that messages were lost, too.
            await self._relay.release_lost()
        for rule in rules:
            async with self._alone(rule, wait=True) as alone:
                assert alone
                async with aclosing(self._compare(rule, dry_run=dry_run)) as comparison:
                    async for progress in comparison:
                        yield progress

    async def _compare_when_due(self, rule: BucketRule, stopping: asyncio.Event) -> None:
        try:
            async with self._alone(rule, wait=False) as alone:
                if not alone or not await self._is_due(rule):
                    return
                progress = None
                async with aclosing(self._compare(rule, dry_run=False)) as comparison:
                    async for progress in comparison:  # noqa: B007 - the last one is told
                        if stopping.is_set():
                            return  # the next process goes on from here
                if progress is None:
                    return
                if progress.missing or progress.changed or progress.gone:
                    logger.info("bucket and manifest differed", extra={
                        "bucket": rule.bucket, "prefix": rule.prefix, "missing": progress.missing,
                        "changed": progress.changed, "gone": progress.gone,
                    })
        except ServiceError as error:
            logger.warning("%s/%s not compared: %s", rule.bucket, rule.prefix, error)

    async def _is_due(self, rule: BucketRule) -> bool:
        async with self._database.transaction(tenant=rule.tenant) as connection:
            since = await reconciliations.seconds_since_finished(
                connection, tenant=rule.tenant, bucket=rule.bucket, prefix=rule.prefix
            )
        return since is None or since >= self._every_seconds

    async def _compare(self, rule: BucketRule, *, dry_run: bool) -> AsyncGenerator[ReconciliationProgress, None]:
        async with self._database.transaction(tenant=rule.tenant) as connection:
            await reconciliations.forget_old(connection, older_than_seconds=KEPT_SECONDS)
            going = await reconciliations.begin(
                connection, tenant=rule.tenant, bucket=rule.bucket, prefix=rule.prefix, dry_run=dry_run,
                resume_seconds=RESUME_SECONDS,
            )
        store = self._buckets.store(rule.bucket)
        async for page in store.list_pages(rule.prefix, after=going.position):
            going, differing = await self._compare_page(rule, going, page)
            await failpoint("reconcile.after-page")
            yield _progress(going, differing)
        gone = 0
        after: str | None = ""
        examples: list[str] = []
        while after is not None:
            keys, after = await self._mark_gone(rule, going, after=after)
            gone += len(keys)
            examples = (examples + keys)[:EXAMPLES_MAX]
        async with self._database.transaction(tenant=rule.tenant) as connection:
            going = await reconciliations.finish(connection, going, gone=gone)
        yield _progress(going, examples)

    async def _compare_page(
        self, rule: BucketRule, going: Reconciliation, page: list[StoredObject]
    ) -> tuple[Reconciliation, list[str]]:
        # A rule with a longer prefix may own some of the keys.
        taken = [found for found in page if self._buckets.rules.of(rule.bucket, found.key) == rule]
        async with self._database.transaction(tenant=rule.tenant) as connection:
            missing, changed = await manifest.compare(
                connection, tenant=rule.tenant, bucket=rule.bucket, listed=taken
            )
            if not going.dry_run:
                await manifest.hint(connection, (_name(rule, key) for key in (*missing, *changed)))
            going = await reconciliations.note_page(
                connection, going, keys=[found.key for found in taken], missing=len(missing), changed=len(changed),
                position=page[-1].key if page else going.position,
            )
        self._told(going, missing=len(missing), changed=len(changed))
        return going, [*missing, *changed][:EXAMPLES_MAX]

    async def _mark_gone(
        self, rule: BucketRule, going: Reconciliation, *, after: str
    ) -> tuple[list[str], str | None]:
        async with self._database.transaction(tenant=rule.tenant) as connection:
            keys, last = await reconciliations.gone_keys(connection, going, after=after)
            owned = [key for key in keys if self._buckets.rules.of(rule.bucket, key) == rule]
            if not going.dry_run:
                await manifest.hint(connection, (_name(rule, key) for key in owned))
        self._told(going, gone=len(owned))
        return owned, last

    def _told(self, going: Reconciliation, **found: int) -> None:
        if going.dry_run:
            return
        for kind, count in found.items():
            telemetry.reconciled_total.labels(kind).inc(count)
        if any(found.values()):
            self._collector.wake()

    @asynccontextmanager
    async def _alone(self, rule: BucketRule, *, wait: bool) -> AsyncIterator[bool]:
        """Hold the right to compare a rule's objects; yields False where another one has it and `wait` is off.

        Only who has it holds a connection: those who wait would leave none for the comparison that they wait for.
        """
        name = f".reconcile.{rule.tenant}.{rule.bucket}.{rule.prefix}"
        turn = self._turns.setdefault(name, asyncio.Lock())
        if turn.locked() and not wait:
            yield False
            return
        async with turn:
            while True:
                async with sole(self._database, name, tenant=rule.tenant) as held:
                    if held is not None or not wait:
                        yield held is not None
                        return
                await asyncio.sleep(LOCK_SECONDS)  # bounded by the caller's deadline


def _name(rule: BucketRule, key: str) -> ObjectName:
    return ObjectName(tenant=rule.tenant, bucket=rule.bucket, key=key, lane=rule.lane)


def _progress(going: Reconciliation, examples: list[str]) -> ReconciliationProgress:
    return ReconciliationProgress(
        bucket=going.bucket, prefix=going.prefix, listed=going.listed, missing=going.missing, changed=going.changed,
        gone=going.gone, finished=going.state == "finished", examples=tuple(examples),
    )
