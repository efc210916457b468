"""What becomes of a document's knowledge units in the transaction that changes its chunks.

A unit belongs to a text: a chunk with the same headings and text keeps its unit, whatever version it is of by then, and
the units of all others go. The holder of the document's lock runs these, so nothing comes in between.
"""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

FINGERPRINT = "sha256(convert_to({chunk}.heading_path::text || E'\\n' || {chunk}.text, 'UTF8'))"
"""Of a row of `chunks`."""

# The same text may stand twice in a document: the first goes with the first.
KEEP_UNITS = f"""
with held as materialized (
    select unit_id, fingerprint,
           row_number() over (partition by build_id, fingerprint order by chunk_index, unit_id) as place
    from units
    where tenant = %(tenant)s and document_id = %(document_id)s
),
fresh as materialized (
    select chunk_id, chunk_index, fingerprint,
           row_number() over (partition by fingerprint order by chunk_index) as place
    from (
        select chunk_id, chunk_index, {FINGERPRINT.format(chunk="chunk")} as fingerprint
        from chunks as chunk
        where tenant = %(tenant)s and document_id = %(document_id)s and exists (select from held)
    ) as chunk
)
update units
set chunk_id = fresh.chunk_id, chunk_index = fresh.chunk_index, version_id = %(version_id)s
from held
join fresh using (fingerprint, place)
where units.unit_id = held.unit_id
"""

DROP_UNITS = """
delete from units
where tenant = %(tenant)s and document_id = %(document_id)s and version_id <> %(version_id)s
"""

ADD_UNITS = f"""
insert into units (unit_id, tenant, collection_id, build_id, document_id, version_id, chunk_id, chunk_index,
                   fingerprint, lane)
select gen_random_uuid(), chunk.tenant, chunk.collection_id, build.build_id, chunk.document_id, chunk.version_id,
       chunk.chunk_id, chunk.chunk_index, {FINGERPRINT.format(chunk="chunk")}, version.lane
from unit_builds as build
join chunks as chunk on chunk.tenant = build.tenant and chunk.document_id = %(document_id)s
join document_versions as version on version.version_id = chunk.version_id
where build.tenant = %(tenant)s and build.collection_id = %(collection_id)s and build.state <> 'retired'
  and not exists (
      select from units as held where held.build_id = build.build_id and held.chunk_id = chunk.chunk_id
  )
"""

DELETE_UNITS = "delete from units where tenant = %(tenant)s and document_id = %(document_id)s"
