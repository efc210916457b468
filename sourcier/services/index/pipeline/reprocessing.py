"""Sends documents through the pipeline again from a stage on, each as a new version; the old one answers meanwhile."""

from __future__ import annotations

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import Connection
from sourcier.services.index.collections.versions import NO_ORIGINAL
from sourcier.services.index.pipeline.commit_statements import LOCK_DOCUMENT

STAGES = ("parse", "chunk", "embed")


async def reprocess(
    connection: Connection,
    *,
    tenant: str,
    collection_id: str | None,
    from_stage: str,
    only_outdated: bool,
    configuration_digests: dict[str, str],
    limit: int,
    after: str,
) -> tuple[int, str]:
    """Give each document, from after an id on, a new version that starts at a stage.

    `configuration_digests` has the digest of each collection's chunking, by collection id. Returns how many versions
    were made and the last document's id, empty at the end. Left alone are documents with a version under way, which is
    made with the settings of its release, and with the present ones where it still waits; those that an open dead
    letter tells a newer version of, which what is made here would overtake; and those without an original, which were
    imported.
    """
    if from_stage not in STAGES:
        raise InvalidArgument(f"from_stage is {from_stage!r}; use one of {', '.join(STAGES)}", field="from_stage")
    values: dict[str, object] = {
        "tenant": tenant, "collection_id": collection_id, "after": after, "limit": limit,
        "only_outdated": only_outdated, "collections": list(configuration_digests),
        "digests": list(configuration_digests.values()), "no_original": NO_ORIGINAL,
    }
    cursor = await connection.execute(SELECT, values)
    made = 0
    last = ""
    for (document_id,) in await cursor.fetchall():
        last = str(document_id)
        made += await _new_version(connection, tenant=tenant, document_id=last, from_stage=from_stage, values=values)
    return made, last


async def _new_version(
    connection: Connection, *, tenant: str, document_id: str, from_stage: str, values: dict[str, object]
) -> int:
    ids = {
        "tenant": tenant, "document_id": document_id, "version_id": new_id(), "job_id": new_id(),
        "start_stage": from_stage, "parse_again": from_stage == "parse",
        "collections": values["collections"], "digests": values["digests"],
    }
    await connection.execute(LOCK_DOCUMENT, ids)
    cursor = await connection.execute(INSERT_VERSION, ids)
    if cursor.rowcount == 0:
        return 0
    for statement in (NEXT_GENERATION, INSERT_JOB):
        await connection.execute(statement, ids)
    return 1


SELECT = """
select document.document_id
from documents as document
join document_versions as version on version.version_id = document.current_version
join unnest(%(collections)s::uuid[], %(digests)s::text[]) as configuration (collection_id, digest)
  on configuration.collection_id = document.collection_id
where document.tenant = %(tenant)s and document.document_id > %(after)s
  and (%(collection_id)s::uuid is null or document.collection_id = %(collection_id)s)
  and not (%(only_outdated)s and version.configuration_digest = configuration.digest)
  -- What was imported has no original, so the first stage, which all versions enter by, finds nothing to read.
  and not starts_with(version.original_key, %(no_original)s)
order by document.document_id
limit %(limit)s
"""

# The content is that of the version that answers; only what is made of it is made again.
INSERT_VERSION = """
insert into document_versions (version_id, tenant, collection_id, document_id, generation, job_id, space_id, lane,
                               state, original_key, title, filename, content_type, size_bytes, content_sha256,
                               configuration_digest, metadata, category, request_id, start_stage, parse_again)
select %(version_id)s, version.tenant, version.collection_id, version.document_id, document.last_generation + 1,
       %(job_id)s, collection.space_id, 'bulk', 'accepted', version.original_key, version.title, version.filename,
       version.content_type, version.size_bytes, version.content_sha256, configuration.digest, version.metadata,
       version.category, version.request_id, %(start_stage)s, %(parse_again)s
from documents as document
join collections as collection using (collection_id)
join document_versions as version on version.version_id = document.current_version
join unnest(%(collections)s::uuid[], %(digests)s::text[]) as configuration (collection_id, digest)
  on configuration.collection_id = document.collection_id
where document.tenant = %(tenant)s and document.document_id = %(document_id)s
  and not exists (
      select from document_versions as other
      where other.document_id = document.document_id and other.state in ('accepted', 'released')
  )
  -- Of older content, a version that is committed would close the letter of the newer one, unseen.
  and not exists (
      select from dead_letters as letter
      where letter.document_id = document.document_id and letter.state = 'open'
        and letter.generation > document.current_generation
  )
"""

NEXT_GENERATION = """
update documents set last_generation = last_generation + 1
where tenant = %(tenant)s and document_id = %(document_id)s
"""

INSERT_JOB = """
insert into jobs (job_id, tenant, collection_id, document_id, version_id, lane, status, filename, size_bytes)
select job_id, tenant, collection_id, document_id, version_id, lane, 'pending', filename, size_bytes
from document_versions
where version_id = %(version_id)s
"""
