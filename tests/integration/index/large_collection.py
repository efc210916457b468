"""Documents by the thousand, written straight into the tables: what a deletion meets in a large collection."""

from __future__ import annotations

from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.collections.collections import Collection


async def add_documents(
    connection: Connection, collection: Collection, *, documents: int, chunks_each: int = 1, words: int = 50
) -> None:
    """Add so many documents with a committed version and chunks of so many words."""
    values = {
        "collection_id": collection.collection_id, "space_id": collection.space_id, "documents": documents,
        "chunks_each": chunks_each, "words": words,
    }
    for statement in (DOCUMENTS, CHUNKS, VERSIONS):
        await connection.execute(statement, values)


DOCUMENTS = """
insert into documents (document_id, tenant, collection_id, source, title, filename, content_type, size_bytes,
                       content_sha256, current_version, current_generation, chunk_count)
select gen_random_uuid(), 'acme', %(collection_id)s, number, '', '', '', 1, '', gen_random_uuid(), 1, %(chunks_each)s
from generate_series(1, %(documents)s) as number
"""

CHUNKS = """
insert into chunks
select gen_random_uuid(), tenant, collection_id, document_id, current_version, place, 'text', '', 'fr', 1, 0, 1, 1,
       '[]', repeat('mot ', %(words)s)
from documents, generate_series(0, %(chunks_each)s - 1) as place
where collection_id = %(collection_id)s
"""

VERSIONS = """
insert into document_versions (version_id, tenant, collection_id, document_id, generation, job_id, space_id, lane,
                               state, original_key, title, filename, content_type, size_bytes, content_sha256,
                               configuration_digest, metadata, category, request_id)
select current_version, tenant, collection_id, document_id, 1, gen_random_uuid(), %(space_id)s, 'bulk', 'committed', '',
       '', '', '', 1, sha256(source::bytea), '1', '{}', '', ''
from documents
where collection_id = %(collection_id)s
"""
