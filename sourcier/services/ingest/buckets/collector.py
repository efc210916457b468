"""Takes marked objects in: asks the store what is there, and makes the index follow.

One collector holds a row at a time, and renews its claim while it works. What it found is recorded in the transaction
that checks the claim, so a slow collector whose row was taken over changes nothing.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import PurePosixPath

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DocumentEmpty, DocumentRejected, DocumentTooLarge, ServiceError, Superseded
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.objects import ObjectStore, StoredObject
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database
from sourcier.services.chassis.queue.consuming import jittered
from sourcier.services.index.buckets import manifest
from sourcier.services.index.buckets.manifest import ClaimedObject
from sourcier.services.index.collections.collections import Collection
from sourcier.services.index.collections.versions import Acceptance
from sourcier.services.index.documents.documents import Deletion
from sourcier.services.index.pipeline import dead_letters
from sourcier.services.index.pipeline.dead_letters import Failure
from sourcier.services.ingest.buckets.rules import BucketRule
from sourcier.services.ingest.buckets.sources import SourceBuckets
from sourcier.services.ingest.intake.intake import Header, Intake, check_header
from sourcier.services.ingest.intake.removal import Removal
from sourcier.services.ingest.relay import Relay
from sourcier.services.ingest.storage import original_key

logger = logging.getLogger(__name__)

STAGE = "accept"
LOOK_SECONDS = 1.0
LEASE_SECONDS = 30.0
RENEW_SECONDS = 10.0
RENAME_WAIT_SECONDS = 1.0
RENAME_WAITS_MAX = 3
"""How often what is gone waits for what is new in its bucket: an object that is renamed is a new one and one gone."""
ATTEMPTS_MAX = 20
"""With growing delays about a quarter of an hour; then the object gets a dead letter."""
DELAY_SECONDS_MAX = 60.0


class Collector:
    """Works on marked rows, a few at a time."""

    name = "collector"

    def __init__(
        self, database: Database, objects: ObjectStore, buckets: SourceBuckets, intake: Intake, removal: Removal,
        relay: Relay, *, slots: int,
    ) -> None:
        self._database = database
        self._objects = objects
        self._buckets = buckets
        self._intake = intake
        self._removal = removal
        self._relay = relay
        self._slots = slots
        self._woken = asyncio.Event()
        self._in_hand: dict[str, ClaimedObject] = {}
        """By their claims."""

    def wake(self) -> None:
        """Say that rows may be marked."""
        self._woken.set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Take objects in until told to stop, then finish those in hand."""
        slots = asyncio.Semaphore(self._slots)
        async with asyncio.TaskGroup() as group:
            renewing = group.create_task(self._renew(), name="collector claims")
            while not stopping.is_set():
                await slots.acquire()
                claimed = await self._next(stopping)
                if claimed is None:
                    slots.release()
                    continue
                task = group.create_task(self._collect(claimed), name=f"collect {claimed.key}")
                task.add_done_callback(lambda _: slots.release())
            for _ in range(self._slots):
                await slots.acquire()
            renewing.cancel()

    async def _next(self, stopping: asyncio.Event) -> ClaimedObject | None:
        """Claim a row; where none is due, wait for one a while and return None."""
        self._woken.clear()
        try:
            async with self._database.transaction(tenant=ALL_TENANTS) as connection:
                claimed = await manifest.claim(connection, limit=1, lease_seconds=LEASE_SECONDS)
        except ServiceError as error:
            logger.warning("collector: %s", error)
            claimed = []
        if claimed:
            self._in_hand[claimed[0].claim] = claimed[0]
            return claimed[0]
        await first_of(self._woken, stopping, seconds=LOOK_SECONDS)
        return None

    async def _renew(self) -> None:
        while True:
            await asyncio.sleep(RENEW_SECONDS)
            if not self._in_hand:
                continue
            try:
                async with self._database.transaction(tenant=ALL_TENANTS) as connection:
                    await manifest.renew(connection, tuple(self._in_hand.values()), lease_seconds=LEASE_SECONDS)
            except ServiceError as error:
                logger.warning("claims not renewed: %s", error)

    async def _collect(self, claimed: ClaimedObject) -> None:
        try:
            with telemetry.request(new_id()):
                await self._collect_one(claimed)
        finally:
            self._in_hand.pop(claimed.claim, None)

    async def _collect_one(self, claimed: ClaimedObject) -> None:
        rule = self._buckets.rules.of(claimed.bucket, claimed.key)
        try:
            if rule is None or rule.tenant != claimed.tenant:
                await self._disown(claimed)
                return
            await self._follow(claimed, rule)
        except Superseded:
            logger.info("claim lost", extra={"bucket": claimed.bucket, "key": claimed.key})
        except Exception as error:  # outermost loop of an object's task
            known = isinstance(error, ServiceError)
            logger.warning("%s/%s: %s", claimed.bucket, claimed.key, error if known else repr(error),
                           exc_info=None if known else error)
            await self._give_back(claimed, rule, error if isinstance(error, ServiceError) else ServiceError())

    async def _follow(self, claimed: ClaimedObject, rule: BucketRule) -> None:
        store = self._buckets.store(claimed.bucket)
        found = await store.head(claimed.key)
        if found is None:
            if not await self._waits_for_new(claimed):
                await self._remove(claimed)
        elif found.etag and found.etag == claimed.etag:
            async with self._claimed(claimed) as connection:
                # It came back after its document had become that of a new name.
                renamed = await self._is_renamed(connection, claimed)
                if not renamed:
                    await manifest.settle_unchanged(connection, claimed)
            if renamed:
                await self._take_in(claimed, rule, store)
            else:
                telemetry.objects_total.labels("unchanged").inc()
        else:
            await self._take_in(claimed, rule, store)

    async def _waits_for_new(self, claimed: ClaimedObject) -> bool:
        """Let an object that is gone be asked about later, while one that may be it under another name is taken in."""
        if claimed.document_id is None or claimed.attempts > RENAME_WAITS_MAX:
            return False
        async with self._claimed(claimed) as connection:
            waits = await manifest.is_new_due(connection, claimed)
            if waits:
                await manifest.postpone(connection, claimed, delay_seconds=RENAME_WAIT_SECONDS, error="")
        return waits

    async def _take_in(self, claimed: ClaimedObject, rule: BucketRule, store: ObjectStore) -> None:
        opened = await store.open_stream(claimed.key)
        if opened is None:
            await self._remove(claimed)
            return
        # What was found before may have been overwritten since: what is opened here is what is read.
        read, pieces = opened
        try:
            self._check_size(claimed, rule, read)
            await self._copy(claimed, rule, store, read, pieces)
        except DocumentRejected as error:
            await self._refuse(claimed, rule, read, error)

    def _check_size(self, claimed: ClaimedObject, rule: BucketRule, read: StoredObject) -> None:
        name = PurePosixPath(claimed.key).name
        limit = min(rule.size_bytes_max or self._intake.document_bytes_max, self._intake.document_bytes_max)
        if read.size_bytes > limit:
            raise DocumentTooLarge(
                f"“{name}” has {read.size_bytes / 2**20:,.1f} MiB, more than the {limit / 2**20:,.1f} allowed; split "
                "it, or raise the rule's size_bytes_max or SOURCIER_INGEST_DOCUMENT_BYTES_MAX", bytes_max=limit,
            )
        if read.size_bytes == 0:
            raise DocumentEmpty(f"“{name}” is empty: 0 bytes.")

    async def _copy(
        self, claimed: ClaimedObject, rule: BucketRule, store: ObjectStore, read: StoredObject,
        pieces: AsyncIterator[bytes],
    ) -> None:
        header = _header(claimed, rule)
        check_header(header)
        key = original_key(tenant=claimed.tenant, upload_id=new_id())
        kept = False
        try:
            sha256, size_bytes = await self._objects.put_stream(key, pieces)
            await failpoint("collect.after-copy")
            collection = await self._intake.collection_of(header, create=True)
            renamed_from = await self._renamed_from(claimed, store, collection, sha256)
            async with self._claimed(claimed) as connection:
                acceptance = await self._intake.record(
                    connection, replace(header, renamed_from=renamed_from), collection, key=key, sha256=sha256,
                    size_bytes=size_bytes,
                )
                await self._settle(connection, claimed, read, acceptance)
                # Before the commit, as in `Intake.accept`: of one that is cut off, nobody knows how it ended.
                kept = acceptance.outcome == "accepted"
        finally:
            if not kept:
                await self._objects.delete(key)
        await failpoint("collect.after-commit")
        telemetry.objects_total.labels("renamed" if acceptance.renamed else acceptance.outcome).inc()
        telemetry.object_seconds.observe(max((datetime.now(UTC) - claimed.hinted_at).total_seconds(), 0.0))
        self._relay.wake()

    async def _renamed_from(
        self, claimed: ClaimedObject, store: ObjectStore, collection: Collection, sha256: bytes
    ) -> str:
        """Return the source of the document that a new object is under another name: its own object is gone."""
        if claimed.document_id is not None:
            return ""
        async with self._database.transaction(tenant=claimed.tenant, read_only=True) as connection:
            keys = await manifest.alike(
                connection, claimed, collection_id=str(collection.collection_id), sha256=sha256
            )
        for key in keys:
            if await store.head(key) is None:
                return _source(claimed.bucket, key)
        return ""

    async def _is_renamed(self, connection: Connection, claimed: ClaimedObject) -> bool:
        return await manifest.is_renamed(connection, claimed, source=_source(claimed.bucket, claimed.key))

    async def _settle(
        self, connection: Connection, claimed: ClaimedObject, found: StoredObject, acceptance: Acceptance,
        *, error: str = "",
    ) -> None:
        await manifest.settle(
            connection, claimed, found=found, state="refused" if error else "current",
            collection_id=acceptance.version.collection_id, document_id=acceptance.version.document_id,
            generation=acceptance.version.generation, error=error,
        )

    async def _refuse(
        self, claimed: ClaimedObject, rule: BucketRule, found: StoredObject, error: ServiceError
    ) -> None:
        """Record why an object cannot be taken in, where a person finds it: a failed job and a dead letter.

        Once: one that cannot even be read has no ETag, so that each comparison of the bucket asks for it again.
        """
        header = _header(claimed, rule)
        collection = await self._intake.collection_of(header, create=True)
        payload = json.dumps({"bucket": claimed.bucket, "key": claimed.key}, ensure_ascii=False).encode()
        failure = Failure(
            stage=STAGE, reason=error.reason, message=error.message, attempts=claimed.attempts, subject="",
            payload=payload,
        )
        async with self._claimed(claimed) as connection:
            if claimed.document_id is not None and claimed.etag == found.etag and await dead_letters.still_refused(
                connection, tenant=claimed.tenant, collection_id=str(collection.collection_id),
                document_id=str(claimed.document_id), reason=error.reason,
            ):
                await manifest.settle_refused(connection, claimed, error=error.message)
                return
            acceptance = await self._intake.record(
                connection, header, collection, key="", sha256=found.etag.encode(), size_bytes=found.size_bytes
            )
            await dead_letters.fail_version(connection, acceptance.version, failure)
            await self._settle(connection, claimed, found, acceptance, error=error.message)
        telemetry.objects_total.labels("refused").inc()
        logger.warning("%s/%s refused: %s", claimed.bucket, claimed.key, error.message)

    async def _remove(self, claimed: ClaimedObject) -> None:
        deletion = Deletion(existed=False)
        async with self._claimed(claimed) as connection:
            if claimed.document_id is not None and not await self._is_renamed(connection, claimed):
                deletion = await self._removal.remove_rows(
                    connection, tenant=claimed.tenant, document_id=str(claimed.document_id)
                )
            await manifest.settle_gone(connection, claimed)
        telemetry.objects_total.labels("removed" if deletion.existed else "absent").inc()
        await self._removal.remove_files(deletion.file_removals, tenant=claimed.tenant)

    async def _disown(self, claimed: ClaimedObject) -> None:
        """Forget an object that no rule takes any more; its document stays until a person deletes it."""
        logger.info("no rule takes this object any more", extra={"bucket": claimed.bucket, "key": claimed.key})
        async with self._claimed(claimed) as connection:
            await manifest.settle_gone(connection, claimed)

    async def _give_back(self, claimed: ClaimedObject, rule: BucketRule | None, error: ServiceError) -> None:
        """Let the object be tried again after a growing delay; after the last try, give it a dead letter."""
        try:
            if rule is not None and (not error.retryable or claimed.attempts >= ATTEMPTS_MAX):
                nothing = StoredObject(key=claimed.key, etag="", size_bytes=0, last_modified=datetime.now(UTC))
                await self._refuse(claimed, rule, nothing, error)
                return
            delay_seconds = jittered(min(0.5 * 2.0 ** claimed.attempts, DELAY_SECONDS_MAX))
            async with self._claimed(claimed) as connection:
                await manifest.postpone(connection, claimed, delay_seconds=delay_seconds, error=error.message)
        except ServiceError as unrecorded:
            # The lease ends, and somebody else asks again.
            logger.warning("%s/%s not given back: %s", claimed.bucket, claimed.key, unrecorded)

    @asynccontextmanager
    async def _claimed(self, claimed: ClaimedObject) -> AsyncIterator[Connection]:
        """Begin a transaction of the object's tenant that holds the claim; raise Superseded where it is lost."""
        async with self._database.transaction(tenant=claimed.tenant) as connection:
            if not await manifest.holds(connection, claimed):
                raise Superseded("Somebody else asks about this object by now.")
            yield connection


def _header(claimed: ClaimedObject, rule: BucketRule) -> Header:
    return Header(
        tenant=claimed.tenant, collection=rule.collection, filename=PurePosixPath(claimed.key).name, content_type="",
        title="", source=_source(claimed.bucket, claimed.key), lane=claimed.lane, metadata={},
        category=rule.category,
    )


def _source(bucket: str, key: str) -> str:
    return f"s3://{bucket}/{key}"
