"""The files that documents were read from: which one a version has, and under which key of the object store."""

from __future__ import annotations

from dataclasses import dataclass

from psycopg.rows import class_row

from sourcier.services.chassis.errors import FailedPrecondition, NotFound
from sourcier.services.chassis.ids import is_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.collections.versions import NO_ORIGINAL
from sourcier.services.index.documents.documents import get_document


@dataclass(frozen=True, slots=True)
class Original:
    """A version's file."""

    version_id: str
    key: str
    filename: str
    content_type: str
    size_bytes: int
    content_sha256: bytes


async def get_original(
    connection: Connection, *, tenant: str, document_id: str, version_id: str = ""
) -> Original:
    """Return the file of a document's version, of the one that answers now where none is named.

    Raises `NotFound` without the document or the version, `FailedPrecondition` where it came without its file.
    """
    document = await get_document(connection, tenant=tenant, document_id=document_id)
    version_id = version_id or document.current_version or ""
    if not version_id:
        raise NotFound(f"The document {document_id} has no version that answers yet.", field="document_id")
    found = None
    if is_id(version_id):
        async with connection.cursor(row_factory=class_row(Original)) as cursor:
            values = {"tenant": tenant, "document_id": document_id, "version_id": version_id}
            await cursor.execute(SELECT, values)
            found = await cursor.fetchone()
    if found is None:
        raise NotFound(
            f"The version {version_id} of the document {document_id} is not kept any more; leave the version out to "
            "take the one that answers now.", field="version_id",
        )
    if found.key.startswith(NO_ORIGINAL):
        raise FailedPrecondition(
            f"“{found.filename}” was imported without its file; upload it again to see it.", field="document_id"
        )
    return found


SELECT = """
select version_id, original_key as key, filename, content_type, size_bytes, content_sha256
from document_versions
where tenant = %(tenant)s and document_id = %(document_id)s and version_id = %(version_id)s
"""
