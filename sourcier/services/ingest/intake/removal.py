"""Takes documents out of everything: rows in a transaction, then the files that only they needed."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prometheus_client import Counter

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis.access import whole_tenant
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.index.documents import deletions as collection_deletions
from sourcier.services.index.documents import documents, file_removals
from sourcier.services.index.documents.documents import Deletion
from sourcier.services.index.documents.file_removals import FileRemoval
from sourcier.services.index.pagination import FIRST_KEY
from sourcier.services.index.pipeline import outbox
from sourcier.services.index.pipeline.outbox import OutboxMessage
from sourcier.services.ingest.storage import OWN_PREFIXES, artefacts_prefix

logger = logging.getLogger(__name__)

uploads_swept_total = Counter(
    "sourcier_uploads_swept_total", "Uploads to the object store that nobody ended, given up with their parts."
)

FILES_LIMIT = 20
"""Of one transaction: whoever takes the same content in waits for its end."""

PARTS_KEPT_SECONDS = 48 * 3600.0
"""Longer than any upload takes."""


@dataclass(frozen=True, slots=True)
class CollectionRemoval:
    """What the deletion of a collection did."""

    existed: bool
    document_count: int = 0


class Removal:
    """Deletes documents, for a person's call and for an object that is gone."""

    def __init__(
        self, database: Database, objects: ObjectStore, *, subject_prefix: str,
        parts_kept_seconds: float = PARTS_KEPT_SECONDS,
    ) -> None:
        self._database = database
        self._parts_kept_seconds = parts_kept_seconds
        self._objects = objects
        self._subject_prefix = subject_prefix

    async def remove_rows(self, connection: Connection, *, tenant: str, document_id: str) -> Deletion:
        """Delete a document's rows and put the message of it into the outbox; the files follow after the commit."""
        deletion = await documents.delete_document(connection, tenant=tenant, document_id=document_id)
        for gone in (document_id, *deletion.members) if deletion.existed else ():
            deleted = events_pb2.DocumentDeleted(
                tenant=tenant, collection_id=deletion.collection_id, document_id=gone
            )
            deleted.deleted_at.GetCurrentTime()
            await outbox.put(connection, OutboxMessage(
                tenant=tenant, subject=subjects.DOCUMENT_DELETED.address(self._subject_prefix, tenant=tenant),
                payload=deleted.SerializeToString(), message_id=f"{gone}-deleted",
            ))
        return deletion

    async def remove_collection(self, *, tenant: str, name: str) -> CollectionRemoval:
        """Delete a collection with all it holds, page by page; deleting what is not there succeeds.

        Cut off, what is deleted stays deleted and the collection is still there: called again, this goes on. Raises
        `FailedPrecondition` while an agent answers from it.
        """
        async with self._database.transaction(tenant=tenant) as connection:
            collection_id = await collection_deletions.find_collection(connection, tenant=tenant, name=name)
        if collection_id is None:
            return CollectionRemoval(existed=False)
        document_count = 0
        noted: list[int] = []
        after: str | None = FIRST_KEY
        while after is not None:
            async with self._database.transaction(tenant=tenant) as connection:
                page = await collection_deletions.delete_page(
                    connection, tenant=tenant, collection_id=collection_id, after=after
                )
            document_count += page.document_count
            noted += page.file_removals
            after = page.after
        async with self._database.transaction(tenant=tenant) as connection:
            rest = await collection_deletions.delete_rest(connection, tenant=tenant, collection_id=collection_id)
        # Last: nobody finds a document any more, and of a call that is cut off here the sweep removes the files.
        await self.remove_files((*noted, *rest.file_removals), tenant=tenant)
        return CollectionRemoval(existed=True, document_count=document_count + rest.document_count)

    async def remove_files(self, noted: tuple[int, ...], *, tenant: str) -> None:
        """Remove the files of a deletion, after its commit; those that do not go now are left to the sweep.

        Documents of any collection may need them, of those that the caller does not see, too.
        """
        with _left_to_the_sweep(), whole_tenant():
            for start in range(0, len(noted), FILES_LIMIT):
                await self._remove(tenant=tenant, among=noted[start : start + FILES_LIMIT])

    async def sweep_files(self) -> None:
        """Remove the files that deletions left, until none is due or the store refuses one."""
        with _left_to_the_sweep():
            while await self._remove(tenant=ALL_TENANTS):
                pass

    async def sweep_uploads(self) -> int:
        """Give up uploads that a process which died left in the object store, with their parts; return how many."""
        swept = await self._objects.sweep_uploads(*OWN_PREFIXES, older_than_seconds=self._parts_kept_seconds)
        if swept:
            uploads_swept_total.inc(swept)
            logger.warning("%d uploads that nobody ended were given up with their parts", swept)
        return swept

    async def _remove(self, *, tenant: str, among: tuple[int, ...] | None = None) -> int:
        """Remove a page of files; return how many. Raise what the store said of one, which others go before then."""
        gone: list[int] = []
        refused: ServiceError | None = None
        async with self._database.transaction(tenant=tenant) as connection:
            for removal in await file_removals.due(connection, limit=FILES_LIMIT, among=among):
                try:
                    await self._remove_one(removal)
                except ServiceError as error:
                    refused = error
                    await file_removals.postpone(connection, removal.removal_id)
                    break
                gone.append(removal.removal_id)
            await file_removals.forget(connection, gone)
        if refused is not None:
            raise refused
        return len(gone)

    async def _remove_one(self, removal: FileRemoval) -> None:
        if not removal.original_needed:
            await self._objects.delete(removal.original_key)
        if not removal.content_needed:
            await self._objects.delete_prefix(
                artefacts_prefix(tenant=removal.tenant, content_sha256=removal.content_sha256)
            )


@contextmanager
def _left_to_the_sweep() -> Iterator[None]:
    try:
        yield
    except ServiceError as error:
        logger.warning("files of what was deleted are left to the next sweep: %s", error)
