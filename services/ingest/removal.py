"""Takes a document out of everything: rows in one transaction, then the files that only it needed."""

from __future__ import annotations

from services.chassis import subjects
from services.chassis.objects import ObjectStore
from services.chassis.postgres import Connection
from services.index import documents, outbox
from services.index.documents import Deletion
from services.index.outbox import OutboxMessage
from services.ingest.storage import artefacts_prefix
from sourcier.events.v1 import events_pb2


class Removal:
    """Deletes documents, for a person's call and for an object that is gone."""

    def __init__(self, objects: ObjectStore, *, subject_prefix: str) -> None:
        self._objects = objects
        self._subject_prefix = subject_prefix

    async def remove_rows(self, connection: Connection, *, tenant: str, document_id: str) -> Deletion:
        """Delete a document's rows and put the message of it into the outbox; the files follow after the commit."""
        deletion = await documents.delete_document(connection, tenant=tenant, document_id=document_id)
        if deletion.existed:
            deleted = events_pb2.DocumentDeleted(
                tenant=tenant, collection_id=deletion.collection_id, document_id=document_id
            )
            deleted.deleted_at.GetCurrentTime()
            await outbox.put(connection, OutboxMessage(
                tenant=tenant, subject=subjects.DOCUMENT_DELETED.address(self._subject_prefix, tenant=tenant),
                payload=deleted.SerializeToString(), message_id=f"{document_id}-deleted",
            ))
        return deletion

    async def remove_files(self, deletion: Deletion, *, tenant: str) -> None:
        """Delete the originals and artefacts that nobody needs any more; the sweep finds what a crash leaves."""
        await self._objects.delete(*deletion.original_keys)
        for content_sha256 in deletion.contents:
            await self._objects.delete_prefix(artefacts_prefix(tenant=tenant, content_sha256=content_sha256))
