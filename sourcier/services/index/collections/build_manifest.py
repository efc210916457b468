"""The build manifest of a collection: what its index was made of and with.

It is recorded beside the commit path, which it would slow down. A reader that comes before the record gets the manifest
computed from the rows, so nobody has to wait for it.
"""

# Statements are put together from constants of this module alone.
# ruff: noqa: S608

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from psycopg.rows import class_row

from sourcier.services.chassis.errors import NotFound
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.collections.chunking_digest import chunking_digest


@dataclass(frozen=True, slots=True)
class BuildManifest:
    """A collection's manifest (SPEC I13)."""

    collection: str
    built_at: datetime
    parser_version: str
    """Of what read the documents; several, parted by commas, where they were not all read by the same."""
    chunking_method: str
    chunking_unit: str
    chunking_target: int
    chunking_overlap: int
    chunking_maximum: int
    space_id: str
    model: str
    revision: str
    dimension: int
    document_count: int
    chunk_count: int
    corpus_sha256: str
    """Hexadecimal; of sources, contents and how they were cut, in the order of the sources."""
    outdated_count: int = 0
    """Documents that were cut otherwise than the chunking named here; counted when it is asked."""


async def record_changed(connection: Connection, *, parser_version: str, limit: int) -> int:
    """Write the manifests of collections that changed since theirs; in a transaction of `ALL_TENANTS`.

    `parser_version` is this service's. It stands for an empty collection, and for documents that do not say theirs.
    """
    cursor = await connection.execute(RECORD, {"parser_version": parser_version, "limit": limit})
    return cursor.rowcount


async def get_manifest(connection: Connection, *, tenant: str, collection: str) -> BuildManifest:
    """Return a collection's manifest as of now; raise `NotFound`.

    The recorded one where nothing changed since. Otherwise it is computed, as `record_changed` will do in some seconds:
    that hashes the whole corpus. Either way it takes as long as the collection has documents.
    """
    values = {"tenant": tenant, "collection": collection}
    async with connection.cursor(row_factory=class_row(BuildManifest)) as cursor:
        await cursor.execute(SELECT_RECORDED, values)
        manifest = await cursor.fetchone()
        if manifest is None:
            await cursor.execute(COMPUTE, values)
            manifest = await cursor.fetchone()
    if manifest is None:
        raise NotFound(f"There is no collection {collection!r}.", field="collection")
    digest = chunking_digest(
        method=manifest.chunking_method, unit=manifest.chunking_unit, target=manifest.chunking_target,
        overlap=manifest.chunking_overlap, maximum=manifest.chunking_maximum,
    )
    counted = await connection.execute(COUNT_OUTDATED, values | {"digest": digest})
    row = await counted.fetchone()
    return replace(manifest, outdated_count=0 if row is None else row[0])


async def models_not_loaded(connection: Connection, *, space_ids: Sequence[str]) -> list[tuple[str, str, str, int]]:
    """Return model, revision and space that collections are in and that are not loaded, and how many they are."""
    cursor = await connection.execute(NOT_LOADED, {"space_ids": list(space_ids)})
    return [
        (str(model), str(revision), str(space_id), int(count))
        for model, revision, space_id, count in await cursor.fetchall()
    ]


# `{of}` says of which collections.
HELD = """
    select collection.collection_id, count(document.document_id) as documents,
           coalesce(sum(document.chunk_count), 0)::bigint as chunks, max(document.updated_at) as updated_at,
           coalesce(sum(document.current_generation), 0)::bigint as generations
    from collections as collection
    left join documents as document
      on document.collection_id = collection.collection_id and document.current_version is not null
    {of}
    group by collection.collection_id
"""

# Equal in a manifest of today's corpus and settings.
RECORDED = """
    (manifest.document_count, manifest.chunk_count, manifest.corpus_updated_at, manifest.generations,
     manifest.space_id, manifest.chunking_method, manifest.chunking_unit, manifest.chunking_target,
     manifest.chunking_overlap, manifest.chunking_maximum)
"""
HELD_NOW = """
    (held.documents, held.chunks, held.updated_at, held.generations, collection.space_id,
     collection.chunking_method, collection.chunking_unit, collection.chunking_target,
     collection.chunking_overlap, collection.chunking_maximum)
"""

# `{unsaid}` stands for the parser of documents that do not say theirs.
CORPUS = """
    select encode(sha256(convert_to(coalesce(string_agg(
               document.source || ' ' || encode(version.content_sha256, 'hex') || ' ' || version.configuration_digest,
               e'\\n' order by document.source collate "C"
           ), ''), 'UTF8')), 'hex') as digest,
           string_agg(distinct read_by.parser, ', ' order by read_by.parser) as parser_versions
    from documents as document
    join document_versions as version on version.version_id = document.current_version
    cross join lateral (select coalesce(version.parser_version, {unsaid}) as parser) as read_by
    where document.collection_id = collection.collection_id
"""

RECORD = f"""
with held as ({HELD.format(of="")}),
changed as materialized (
    select held.*
    from held
    join collections as collection using (collection_id)
    left join build_manifests as manifest using (collection_id)
    where manifest.collection_id is null or {RECORDED} is distinct from {HELD_NOW}
       or manifest.recorded_by is distinct from %(parser_version)s
    limit %(limit)s
)
insert into build_manifests (collection_id, tenant, parser_version, chunking_method, chunking_unit, chunking_target,
                             chunking_overlap, chunking_maximum, space_id, model, revision, dimension, document_count,
                             chunk_count, corpus_sha256, corpus_updated_at, recorded_by, generations)
select collection.collection_id, collection.tenant, coalesce(corpus.parser_versions, %(parser_version)s),
       chunking_method, chunking_unit, chunking_target, chunking_overlap, chunking_maximum, space.space_id, space.model,
       space.revision, space.dimension, changed.documents, changed.chunks, corpus.digest, changed.updated_at,
       %(parser_version)s, changed.generations
from changed
join collections as collection using (collection_id)
join embedding_spaces as space on space.space_id = collection.space_id
cross join lateral ({CORPUS.format(unsaid="%(parser_version)s")}) as corpus
on conflict (collection_id, tenant) do update
set built_at = now(), parser_version = excluded.parser_version, chunking_method = excluded.chunking_method,
    chunking_unit = excluded.chunking_unit, chunking_target = excluded.chunking_target,
    chunking_overlap = excluded.chunking_overlap, chunking_maximum = excluded.chunking_maximum,
    space_id = excluded.space_id, model = excluded.model, revision = excluded.revision,
    dimension = excluded.dimension, document_count = excluded.document_count, chunk_count = excluded.chunk_count,
    corpus_sha256 = excluded.corpus_sha256, corpus_updated_at = excluded.corpus_updated_at,
    recorded_by = excluded.recorded_by, generations = excluded.generations
"""

NAMED = "where collection.tenant = %(tenant)s and collection.name = %(collection)s"

SELECT_RECORDED = f"""
with held as ({HELD.format(of=NAMED)})
select collection.name as collection, built_at, parser_version, manifest.chunking_method, manifest.chunking_unit,
       manifest.chunking_target, manifest.chunking_overlap, manifest.chunking_maximum, manifest.space_id, model,
       revision, dimension, document_count, chunk_count, corpus_sha256
from held
join collections as collection using (collection_id)
join build_manifests as manifest using (collection_id)
where {RECORDED} is not distinct from {HELD_NOW}
"""

# Which service would record it is not known here: what the last one to record was stands for it.
LAST_RECORDED_BY = """
    (select recorded_by from build_manifests where tenant = %(tenant)s order by built_at desc limit 1)
"""

COMPUTE = f"""
with held as ({HELD.format(of=NAMED)})
select collection.name as collection, now() as built_at,
       coalesce(corpus.parser_versions, {LAST_RECORDED_BY}, '') as parser_version,
       chunking_method, chunking_unit, chunking_target, chunking_overlap, chunking_maximum, space.space_id, space.model,
       space.revision, space.dimension, held.documents as document_count, held.chunks as chunk_count,
       corpus.digest as corpus_sha256
from held
join collections as collection using (collection_id)
join embedding_spaces as space on space.space_id = collection.space_id
cross join lateral ({CORPUS.format(unsaid=LAST_RECORDED_BY)}) as corpus
"""

COUNT_OUTDATED = """
select count(*)
from collections as collection
join documents as document using (tenant, collection_id)
join document_versions as version on version.version_id = document.current_version
where collection.tenant = %(tenant)s and collection.name = %(collection)s
  and version.configuration_digest <> %(digest)s
"""

NOT_LOADED = """
select model, revision, space_id, count(*)
from collections
join embedding_spaces as space using (space_id)
where space_id <> all(%(space_ids)s)
group by model, revision, space_id
order by model, revision
"""
