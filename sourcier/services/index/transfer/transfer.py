"""Collections taken out of the index whole, and taken in: documents, chunks, vectors.

What is taken in goes through the one commit path (`batches`). Its versions have no original, and bear the export's id
in place of a request's, which is how a cut-off import knows what is there already.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from psycopg import sql
from psycopg.rows import class_row
from psycopg.types.json import Jsonb

from sourcier.services.chassis.errors import AlreadyExists, FailedPrecondition, NotFound, SpaceMismatch, Unavailable
from sourcier.services.chassis.ids import imported_id, new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.chassis.postgres.types import half_floats
from sourcier.services.index.collections import collections
from sourcier.services.index.collections.collections import Chunking, Collection
from sourcier.services.index.collections.versions import INSERT_JOB, NO_ORIGINAL, VersionReference
from sourcier.services.index.pipeline.batches import IndexedChunk

DOCUMENTS_READ = 100
CHUNKS_READ = 32
"""A chunk is up to 80 KB with its codes; so many stay far below the limit of a message."""



@dataclass(frozen=True, slots=True)
class SaidRelation:
    """What somebody said of a document and of one that comes before it."""

    other_id: str
    is_replaced: bool
    """Whether the other one replaces this one."""
    denied: bool
    """Whether it was said not to be so."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TransferredDocument:
    """A document with all that is kept of its version, but the original."""

    document_id: str
    source: str
    title: str
    """As it is shown."""
    given_title: str
    """As it was sent; empty where the document's own is shown."""
    filename: str
    content_type: str
    size_bytes: int
    content_sha256: bytes
    configuration_digest: str
    method: str
    metadata: Mapping[str, Any]
    category: str
    chunk_count: int
    set_dates: Mapping[str, Any] | None = None
    """Those that somebody set, as stored: first and last day by kind."""
    relations: Sequence[SaidRelation] = ()
    version_id: str = ""
    """Where it is read from."""

    def __post_init__(self) -> None:
        """Give what the table has as JSON its type."""
        object.__setattr__(self, "relations", tuple(
            each if isinstance(each, SaidRelation) else SaidRelation(*each) for each in self.relations
        ))


@dataclass(frozen=True, slots=True, kw_only=True)
class _StoredChunk:
    chunk_id: str
    chunk_index: int
    text: str
    start_character: int
    end_character: int
    token_count: int
    page: int
    heading_path: Sequence[str]
    language: str
    kind: str
    embedding: bytes | None
    token_codes: bytes | None
    place_map: bytes


async def documents_after(
    connection: Connection, *, tenant: str, collection_id: str, after: str
) -> list[TransferredDocument]:
    """Return the next documents that can be found, in order, after an id."""
    async with connection.cursor(row_factory=class_row(TransferredDocument)) as cursor:
        values = {"tenant": tenant, "collection_id": collection_id, "after": after, "limit": DOCUMENTS_READ}
        await cursor.execute(SELECT_DOCUMENTS, values)
        return await cursor.fetchall()


async def chunks_after(
    connection: Connection, document: TransferredDocument, *, tenant: str, vectors_table: str, after: int
) -> list[IndexedChunk]:
    """Return the next chunks of a document, in order, after an index.

    Raises `Unavailable` where another version took the document's place meanwhile, `FailedPrecondition` where a chunk
    has no vector in the space yet.
    """
    values = {
        "tenant": tenant, "document_id": document.document_id, "version_id": document.version_id, "after": after,
        "limit": CHUNKS_READ,
    }
    statement = sql.SQL(SELECT_CHUNKS).format(table=sql.Identifier(vectors_table))
    async with connection.cursor(row_factory=class_row(_StoredChunk)) as cursor:
        await cursor.execute(statement, values)
        stored = await cursor.fetchall()
    if not stored:
        raise Unavailable(f"“{document.source}” changed while it was exported; export once more")
    return [_indexed(chunk, document) for chunk in stored]


def _indexed(chunk: _StoredChunk, document: TransferredDocument) -> IndexedChunk:
    if chunk.embedding is None or chunk.token_codes is None:
        raise FailedPrecondition(
            f"“{document.source}” has passages without vectors in the collection's space; export once they are made "
            "(`sourcier spaces list`)", field="collection",
        )
    return IndexedChunk(
        chunk_id=chunk.chunk_id, index=chunk.chunk_index, text=chunk.text, start_character=chunk.start_character,
        end_character=chunk.end_character, token_count=chunk.token_count, vector=half_floats(chunk.embedding),
        token_codes=bytes(chunk.token_codes), page=chunk.page, heading_path=tuple(chunk.heading_path),
        language=chunk.language, kind=chunk.kind, place_map=bytes(chunk.place_map),
    )


async def find_target(
    connection: Connection, *, tenant: str, name: str, space_id: str, chunking: Chunking, export_id: str,
    beside_others: bool = False,
) -> Collection | None:
    """Return the collection to import into; None where there is none yet, and `make_target` makes it.

    With `beside_others` it has to exist; what it holds and how that was cut are its own affair, its space is not.

    Raises `AlreadyExists` where it holds documents that are not of this export, `FailedPrecondition` where its space or
    its chunking is another one.
    """
    if beside_others:
        return await _beside_others(connection, tenant=tenant, name=name, space_id=space_id)
    try:
        found = await collections.get_collection(connection, tenant=tenant, name=name)
    except NotFound:
        return None
    return await _checked(connection, found, space_id=space_id, chunking=chunking, export_id=export_id)


async def make_target(
    connection: Connection, *, tenant: str, name: str, space_id: str, chunking: Chunking, export_id: str
) -> Collection:
    """Make the collection to import into, in the transaction of what is to be in it: one that fails leaves nothing.

    Raises as `find_target` does, where another made it meanwhile.
    """
    made = await collections.ensure_collection(
        connection, tenant=tenant, name=name, space_id=space_id, chunking=chunking
    )
    return await _checked(connection, made, space_id=space_id, chunking=chunking, export_id=export_id)


async def _checked(
    connection: Connection, found: Collection, *, space_id: str, chunking: Chunking, export_id: str
) -> Collection:
    tenant, name = found.tenant, found.name
    values = {"tenant": tenant, "collection_id": found.collection_id, "mark": _mark(export_id)}
    cursor = await connection.execute(HOLDS_OTHERS, values)
    if await cursor.fetchone() is not None:
        raise AlreadyExists(
            f"The collection {name!r} holds documents already; delete it first (`sourcier collections delete`), or "
            "import under another name (`--collection`).", field="collection",
        )
    if (found.space_id, found.chunking) != (space_id, chunking):
        differing = "space" if found.space_id != space_id else "chunking"
        raise FailedPrecondition(
            f"The collection {name!r} has another {differing} than the export; delete it first (`sourcier collections "
            "delete`), or import under another name.", field="collection",
        )
    return found


async def _beside_others(connection: Connection, *, tenant: str, name: str, space_id: str) -> Collection:
    found = await collections.get_collection(connection, tenant=tenant, name=name)
    if found.space_id != space_id:
        raise SpaceMismatch(
            f"The collection {name!r} is of the space {found.space_id}, what is imported of {space_id}; import it into "
            "a collection of that space, or embed it anew.", field="manifest.space_id", space_id=found.space_id,
        )
    return found


async def require_live_space(
    connection: Connection, *, space_id: str, model: str, revision: str, dimension: int
) -> None:
    """Raise `SpaceMismatch`, with the way out, unless the space is one that this installation is in."""
    cursor = await connection.execute("select space_id, dimension, model from embedding_spaces where state = 'live'")
    live = {str(found): (int(size), str(label)) for found, size, label in await cursor.fetchall()}
    if space_id not in live:
        known = ", ".join(f"{found} ({label})" for found, (_, label) in sorted(live.items())) or "none"
        raise SpaceMismatch(
            f"The export's vectors are of the space {space_id} (model {model}, revision {revision}), this installation "
            f"has {known}; name that model in SOURCIER_EMBED_MODELS and start the services anew, or ingest the "
            "originals here.", field="manifest.space_id", space_id=space_id,
        )
    if live[space_id][0] != dimension:
        raise SpaceMismatch(
            f"The space {space_id} has vectors of {live[space_id][0]} dimensions, the export of {dimension}.",
            field="manifest.dimension", space_id=space_id,
        )


async def begin_document(
    connection: Connection, document: TransferredDocument, *, collection: Collection, export_id: str
) -> VersionReference | None:
    """Record a document with its first version, to be staged and committed in the same transaction.

    It keeps its id, by which answers and links name it, unless the tenant has it in another collection. Returns None
    where an import brought it before; raises `AlreadyExists` where its source is another document's.
    """
    copied_id = imported_id(collection_id=collection.collection_id, exported_id=document.document_id)
    document_ids = [document.document_id, copied_id]
    values = {
        "tenant": collection.tenant, "collection_id": collection.collection_id,
        "document_ids": document_ids, "source": document.source, "title": document.title,
        "given_title": document.given_title, "filename": document.filename, "content_type": document.content_type,
        "size_bytes": document.size_bytes, "content_sha256": document.content_sha256,
        "configuration_digest": document.configuration_digest, "metadata": Jsonb(dict(document.metadata)),
        "set_dates": Jsonb(dict(document.set_dates)) if document.set_dates else None,
        "category": document.category, "version_id": new_id(), "job_id": new_id(), "space_id": collection.space_id,
        "mark": _mark(export_id), "lane": "bulk",
    }
    values["original_key"] = f"{NO_ORIGINAL}{values['version_id']}"
    cursor = await connection.execute(SELECT_KNOWN, values)
    known = [(str(found), str(source), bool(here)) for found, source, here in await cursor.fetchall()]
    if any(here and found in document_ids and source == document.source for found, source, here in known):
        return None
    if any(here for _, _, here in known):
        raise AlreadyExists(
            f"The document {document.document_id} (“{document.source}”) is in the collection already, under another "
            "source or with another id; delete it first.", field="document_id",
        )
    document_id = copied_id if known else document.document_id
    values["document_id"] = document_id
    # Accepted here and committed before anybody else sees it: the pipeline never takes it up.
    for statement in (INSERT_DOCUMENT, INSERT_VERSION, INSERT_JOB):
        await connection.execute(statement, values)
    for relation in document.relations:
        other_ids = [relation.other_id, imported_id(
            collection_id=collection.collection_id, exported_id=relation.other_id
        )]
        await connection.execute(INSERT_RELATION, values | {
            "other_ids": other_ids, "is_replaced": relation.is_replaced, "denied": relation.denied,
        })
    return VersionReference(
        tenant=collection.tenant, collection_id=collection.collection_id, document_id=document_id,
        version_id=str(values["version_id"]), generation=1, job_id=str(values["job_id"]), lane="bulk",
    )


async def require_new_chunks(connection: Connection, *, tenant: str, chunk_ids: Sequence[str]) -> None:
    """Raise `AlreadyExists` where one of the ids is another document's chunk."""
    cursor = await connection.execute(SELECT_TAKEN, {"tenant": tenant, "chunk_ids": list(chunk_ids)})
    row = await cursor.fetchone()
    if row is not None:
        raise AlreadyExists(
            f"The chunk {row[0]} is in the index already, in the document {row[1]} of the collection {row[2]!r}; "
            "delete that first.", field="chunk_id",
        )


def _mark(export_id: str) -> str:
    return f"import-{export_id}"


SELECT_DOCUMENTS = """
select document.document_id, document.source, document.title, version.title as given_title, document.filename,
       document.content_type, document.size_bytes, document.content_sha256, version.configuration_digest,
       coalesce((select method from chunks where chunks.document_id = document.document_id limit 1), '') as method,
       document.metadata, document.category, document.chunk_count, document.set_dates,
       coalesce(said.relations, '[]') as relations, version.version_id
from documents as document
join document_versions as version on version.version_id = document.current_version
cross join lateral (
    select jsonb_agg(jsonb_build_array(other, is_replaced, denied) order by other, is_replaced) as relations
    from (
        select other_id as other, false as is_replaced, denied from document_relations as relation
        where relation.tenant = document.tenant and relation.document_id = document.document_id
          and other_id < document.document_id and kind = 'replaces' and origin = 'user'
        union all
        select relation.document_id, true, denied from document_relations as relation
        where relation.tenant = document.tenant and relation.other_id = document.document_id
          and relation.document_id < document.document_id and kind = 'replaces' and origin = 'user'
    ) as both_ways
) as said
where document.tenant = %(tenant)s and document.collection_id = %(collection_id)s
  and document.document_id > %(after)s
order by document.document_id
limit %(limit)s
"""

# By the function that sends it: as text, a vector costs ten times as much to read.
SELECT_CHUNKS = """
select chunk_id, chunk_index, text, start_character, end_character, token_count, page, heading_path, language, kind,
       halfvec_send(vector.embedding) as embedding, vector.token_codes, coalesce(place_map, '') as place_map
from chunks as chunk
left join {table} as vector using (tenant, chunk_id)
where chunk.tenant = %(tenant)s and chunk.document_id = %(document_id)s and chunk.version_id = %(version_id)s
  and chunk_index > %(after)s
order by chunk_index
limit %(limit)s
"""

HOLDS_OTHERS = """
select 1
from documents as document
where document.tenant = %(tenant)s and document.collection_id = %(collection_id)s
  and not exists (
      select from document_versions as version
      where version.version_id = document.current_version and version.request_id = %(mark)s
  )
limit 1
"""

SELECT_KNOWN = """
select document_id, source, collection_id = %(collection_id)s
from documents
where tenant = %(tenant)s
  and (document_id = any(%(document_ids)s::uuid[])
       or (collection_id = %(collection_id)s and source = %(source)s))
"""

SELECT_TAKEN = """
select chunk.chunk_id, chunk.document_id, collection.name
from chunks as chunk
join collections as collection using (collection_id)
where chunk.tenant = %(tenant)s and chunk.chunk_id = any(%(chunk_ids)s::uuid[])
limit 1
"""

INSERT_DOCUMENT = """
insert into documents (document_id, tenant, collection_id, source, last_generation, title, filename, content_type,
                       size_bytes, content_sha256, metadata, category, set_dates)
values (%(document_id)s, %(tenant)s, %(collection_id)s, %(source)s, 1, %(title)s, %(filename)s, %(content_type)s,
        %(size_bytes)s, %(content_sha256)b, %(metadata)s, %(category)s, %(set_dates)s)
"""

# Of documents that came before; one that did not come has no relations.
INSERT_RELATION = """
insert into document_relations (tenant, collection_id, document_id, other_id, kind, origin, denied)
select tenant, collection_id,
       case when %(is_replaced)s then document_id else %(document_id)s end,
       case when %(is_replaced)s then %(document_id)s else document_id end, 'replaces', 'user', %(denied)s
from documents
where tenant = %(tenant)s and collection_id = %(collection_id)s and document_id = any(%(other_ids)s::uuid[])
for key share
on conflict (document_id, other_id, kind, tenant) do update set
    origin = 'user', denied = excluded.denied, part = '', words = '', noted_at = now()
"""

INSERT_VERSION = """
insert into document_versions (version_id, tenant, collection_id, document_id, generation, job_id, space_id, lane,
                               state, original_key, title, filename, content_type, size_bytes, content_sha256,
                               configuration_digest, metadata, category, request_id)
values (%(version_id)s, %(tenant)s, %(collection_id)s, %(document_id)s, 1, %(job_id)s, %(space_id)s, 'bulk',
        'accepted', %(original_key)s, %(given_title)s, %(filename)s, %(content_type)s, %(size_bytes)s,
        %(content_sha256)b, %(configuration_digest)s, %(metadata)s, %(category)s, %(mark)s)
"""
