"""The statements of `unit_builds`: planning a set of units, counting it, and letting it answer."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from sourcier.services.index.collections.versions import SELECT_DOCUMENTS
from sourcier.services.index.spaces.held import HELD
from sourcier.services.index.units.commits import FINGERPRINT
from sourcier.services.index.units.work import INSERT_GAPS

SELECT = """
select build_id, tenant, collection_id, state, methods, regenerate, planned_after, accept_failed, error, created_at,
       updated_at, switched_at
from unit_builds
"""

SELECT_BUILD = f"{SELECT} where build_id = %(build_id)s"

SELECT_IN_STATE = f"{SELECT} where state = %(state)s order by created_at"

SELECT_OPEN_OF_COLLECTION = f"""{SELECT}
where tenant = %(tenant)s and collection_id = %(collection_id)s and state <> 'retired'
order by state desc
"""

METHODS_OF = """
select agent.tenant, agent.collection_id, agent.indexing_method as method
from agents as agent
where agent.indexing_method = any(%(methods)s)
union
select agent.tenant, agent.collection_id, deployment.overlay ->> 'indexing_method'
from deployments as deployment
join agents as agent using (agent_id)
where deployment.overlay ->> 'indexing_method' = any(%(methods)s)
"""
"""The indexing methods that agents and deployments ask for; an overlay that is not known asks for none."""

SELECT_METHODS = f"""
select distinct method from ({METHODS_OF}) as asked where collection_id = %(collection_id)s order by method
"""

COUNT_UNMADE = """
select count(*)
from agents as agent
join documents as document on document.tenant = agent.tenant and document.collection_id = agent.collection_id
join chunks as chunk on chunk.tenant = document.tenant and chunk.document_id = document.document_id
where agent.tenant = %(tenant)s and agent.agent_id = %(agent_id)s and agent.indexing_method = any(%(methods)s)
  and not exists (
      select from units as unit
      join unit_builds as build on build.build_id = unit.build_id and build.state <> 'retired'
      where unit.tenant = %(tenant)s and unit.chunk_id = chunk.chunk_id and unit.state <> 'waiting'
  )
"""

SELECT_WANTING = f"""
select tenant, collection_id, array_agg(method order by method) as methods
from ({METHODS_OF}) as asked
group by tenant, collection_id
having not exists (
    select from unit_builds as build
    where build.collection_id = asked.collection_id and build.state <> 'retired'
      and build.methods @> array_agg(method)
)
order by tenant, collection_id
"""

LOCK_COLLECTION = """
select from collections where tenant = %(tenant)s and collection_id = %(collection_id)s for update
"""

INSERT = """
insert into unit_builds (build_id, tenant, collection_id, state, methods, regenerate)
values (%(build_id)s, %(tenant)s, %(collection_id)s, %(state)s, %(methods)s, %(regenerate)s)
"""

WIDEN = """
update unit_builds
set methods = array(select distinct unnest(methods || %(methods)s::text[]) order by 1), error = '', updated_at = now()
where build_id = %(build_id)s
"""

# Begun to take over what there is, and now asked to make all anew: planned once more.
REGENERATE = """
update unit_builds set regenerate = true, planned_after = '00000000-0000-0000-0000-000000000000'
where build_id = %(build_id)s
"""
FORGET_TAKEN_OVER = "delete from units where build_id = %(build_id)s and edited_by = ''"

NOTE_GAPS = INSERT_GAPS.format(chosen="""
  unit.build_id = %(build_id)s and unit.state in ('enriched', 'no_pairs')
  and (%(space_id)s::text is null or space.space_id = %(space_id)s)
""")

# In the order of all who lock several documents.
LOCK_DOCUMENTS = f"{SELECT_DOCUMENTS}for update"

_NOT_THERE = """
  and not exists (
      select from units as held where held.build_id = %(build_id)s and held.chunk_id = {chunk}.chunk_id
  )
"""

# What a person changed is taken over even where all is made anew.
TAKE_OVER = f"""
insert into units (unit_id, tenant, collection_id, build_id, document_id, version_id, chunk_id, chunk_index,
                   fingerprint, lane, state, reason, message, category, summary, keywords, usefulness, edited_by,
                   edited_at, model, prompt_tokens, completion_tokens)
select gen_random_uuid(), unit.tenant, unit.collection_id, %(build_id)s, unit.document_id, unit.version_id,
       unit.chunk_id, unit.chunk_index, unit.fingerprint, 'bulk', unit.state, unit.reason, unit.message, unit.category,
       unit.summary, unit.keywords, unit.usefulness, unit.edited_by, unit.edited_at, unit.model, unit.prompt_tokens,
       unit.completion_tokens
from units as unit
join unit_builds as live on live.build_id = unit.build_id and live.state = 'live'
where unit.tenant = %(tenant)s and unit.document_id = any(%(document_ids)s::uuid[])
  and unit.build_id <> %(build_id)s and unit.state in ('enriched', 'no_pairs')
  and (not %(regenerate)s or unit.edited_by <> '')
  {_NOT_THERE.format(chunk="unit")}
"""

TAKE_OVER_PAIRS = """
insert into unit_pairs (pair_id, unit_id, tenant, place, question, answer, edited_by)
select gen_random_uuid(), taken.unit_id, pair.tenant, pair.place, pair.question, pair.answer, pair.edited_by
from units as taken
join units as unit on unit.chunk_id = taken.chunk_id and unit.build_id <> taken.build_id
join unit_builds as live on live.build_id = unit.build_id and live.state = 'live'
join unit_pairs as pair on pair.unit_id = unit.unit_id
where taken.tenant = %(tenant)s and taken.build_id = %(build_id)s
  and taken.document_id = any(%(document_ids)s::uuid[]) and taken.state in ('enriched', 'no_pairs')
  and not exists (select from unit_pairs as held where held.unit_id = taken.unit_id)
"""

NOTE_TAKEN_OVER = f"""
insert into unit_gaps (unit_id, space_id, tenant)
select unit.unit_id, space.space_id, unit.tenant
from units as unit
join collections as collection using (collection_id)
join embedding_spaces as space on {HELD.format(space="space.space_id")}
where unit.tenant = %(tenant)s and unit.build_id = %(build_id)s and unit.document_id = any(%(document_ids)s::uuid[])
  and unit.state in ('enriched', 'no_pairs')
on conflict do nothing
"""

TAKING_OVER = (TAKE_OVER, TAKE_OVER_PAIRS, NOTE_TAKEN_OVER)

ADD_WAITING = f"""
insert into units (unit_id, tenant, collection_id, build_id, document_id, version_id, chunk_id, chunk_index,
                   fingerprint, lane)
select gen_random_uuid(), chunk.tenant, chunk.collection_id, %(build_id)s, chunk.document_id, chunk.version_id,
       chunk.chunk_id, chunk.chunk_index, {FINGERPRINT.format(chunk="chunk")}, 'bulk'
from chunks as chunk
where chunk.tenant = %(tenant)s and chunk.document_id = any(%(document_ids)s::uuid[])
  {_NOT_THERE.format(chunk="chunk")}
"""

DELETE_COPY = """
with building as (
    select build.build_id, build.regenerate, unit.chunk_id
    from units as unit
    join unit_builds as build on build.collection_id = unit.collection_id and build.state = 'building'
    where unit.tenant = %(tenant)s and unit.unit_id = %(unit_id)s
),
deleted as (
    delete from units using building
    where units.build_id = building.build_id and units.chunk_id = building.chunk_id
)
select build_id, regenerate from building
"""

NOTE_PLANNED = """
update unit_builds set planned_after = %(last)s, updated_at = now() where build_id = %(build_id)s
"""

COUNT = """
select count(*) filter (where state = 'waiting') as waiting, count(*) filter (where state = 'enriched') as enriched,
       count(*) filter (where state = 'no_pairs') as no_pairs, count(*) filter (where state = 'failed') as failed,
       (select count(distinct unit_id) from unit_gaps join units as lacking using (unit_id)
        where lacking.build_id = %(build_id)s) as without_vectors,
       coalesce(sum(prompt_tokens), 0)::bigint as prompt_tokens,
       coalesce(sum(completion_tokens), 0)::bigint as completion_tokens
from units
where build_id = %(build_id)s
"""

# Vectors in the space that answers are needed; those of a space that is built beside it come when they come.
SELECT_LACKING = """
select build.planned_after is not null or exists (
           select from units where units.build_id = build.build_id and units.state = 'waiting'
       ) or exists (
           select from unit_gaps as gap
           join units on units.unit_id = gap.unit_id
           where units.build_id = build.build_id and gap.space_id = collection.space_id
       ),
       case when build.accept_failed then 0 else (
           select count(*)
           from units as failed
           join units as answering on answering.chunk_id = failed.chunk_id and answering.state = 'enriched'
           join unit_builds as live on live.build_id = answering.build_id and live.state = 'live'
           where failed.build_id = build.build_id and failed.state = 'failed'
       ) end
from unit_builds as build
join collections as collection using (collection_id)
where build.tenant = %(tenant)s and build.build_id = %(build_id)s and build.state = 'building'
for update of build
"""

RETIRE_LIVE = """
update unit_builds set state = 'retired', updated_at = now()
where tenant = %(tenant)s and collection_id = %(collection_id)s and state = 'live'
"""

MAKE_LIVE = """
update unit_builds set state = 'live', error = '', switched_at = now(), updated_at = now()
where build_id = %(build_id)s
"""

NOTE_ERROR = "update unit_builds set error = %(error)s, updated_at = now() where build_id = %(build_id)s"

ACCEPT_FAILED = """
update unit_builds set accept_failed = true, error = '', updated_at = now()
where tenant = %(tenant)s and collection_id = %(collection_id)s and state = 'building'
"""

RETRY_FAILED = """
update units as unit
set state = 'waiting', reason = '', message = '', sends = 0, sent_at = null, not_before = now(), updated_at = now()
from unit_builds as build
where build.tenant = %(tenant)s and build.collection_id = %(collection_id)s and build.state <> 'retired'
  and unit.build_id = build.build_id and unit.state = 'failed'
"""

DELETE_RETIRED_UNITS = """
delete from units
where unit_id in (
    select unit_id from units join unit_builds as build using (build_id) where build.state = 'retired' limit %(limit)s
)
"""
