"""The statements of `batches`: staging rows, and the commit of a version."""

# Statements are put together from constants of this package alone.
# ruff: noqa: S608

from __future__ import annotations

from functools import lru_cache

from psycopg import sql

from sourcier.services.index.curation.learned_responses import FORGET_OVERTAKEN, OVERTAKE
from sourcier.services.index.spaces.held import HELD, OPEN_STATES
from sourcier.services.index.spaces.partitions import HAS_PLACE
from sourcier.services.index.times.storing import SET_COLUMNS, STORE
from sourcier.services.index.units.commits import DROP_UNITS, KEEP_UNITS

COMMIT_STATEMENT_MINUTES = 15
"""A statement of a commit that moves all batches, or of a commit or a deletion that removes what answers: once a
tenant's vectors have an HNSW index, each row takes 3 to 5 ms, and accepted documents have tens of thousands. The
message that a commit is done for stays in hand by its heartbeats, however long that takes."""
TAKE_TIME = f"select set_config('statement_timeout', '{COMMIT_STATEMENT_MINUTES}min', true)"

SELECT_NUMBER = "select number from collections where tenant = %s and collection_id = %s"

LOCK_DOCUMENT = "select from documents where tenant = %(tenant)s and document_id = %(document_id)s for update"

SELECT_VERSION = f"""
select version.state, version.batch_count, version.staged, document.current_generation, version.space_id,
       space.dimension, space.vectors_table, {HELD.format(space="version.space_id")},
       array(select vectors_table from embedding_spaces where state <> 'retired' order by space_id),
       ({HAS_PLACE.format(table="space.vectors_table", tenant="version.tenant")}),
       exists (select from dead_letters as letter where letter.document_id = version.document_id
                                                    and letter.state = 'open'),
       version.cut, version.cut_at, version.title, version.filename, document.source,
       coalesce(version.found_metadata, '{{}}') || version.metadata, document.set_dates
from document_versions as version
join documents as document using (document_id)
join collections as collection on collection.collection_id = version.collection_id
join embedding_spaces as space on space.space_id = version.space_id
where version.version_id = %(version_id)s
"""

# Counts a batch that is new; of one that was staged before there is no row to count.
STAGE_BATCH = """
with fresh as (
    insert into staged_batches (version_id, batch_no, tenant) values (%(version_id)s, %(batch_no)s, %(tenant)s)
    on conflict do nothing
    returning version_id
)
update document_versions as version
set staged = staged + 1, batch_count = %(batch_count)s, cut = coalesce(%(cut)s, cut),
    cut_at = greatest(cut_at, %(cut_at)s)
from fresh
where version.version_id = fresh.version_id
"""

DROP_STAGED = (
    "delete from staged_chunks where version_id = %(version_id)s",
    "delete from staged_batches where version_id = %(version_id)s",
    "update document_versions set staged = 0, batch_count = null, cut = null, cut_at = null "
    "where version_id = %(version_id)s",
)
"""What was staged of a cut that a later one takes the place of."""

_CHUNK_ARRAYS = """unnest(%(chunk_ids)s::uuid[], %(indexes)b::integer[], %(kinds)b::text[], %(languages)b::text[],
            %(pages)b::integer[], %(starts)b::integer[], %(ends)b::integer[], %(token_counts)b::integer[],
            %(heading_paths)b::text[]::jsonb[], %(texts)b::text[], %(place_maps)b::bytea[]"""

_CHUNK_NAMES = """chunk_id, chunk_index, kind, language, page, start_character, end_character, token_count,
                  heading_path, text, place_map"""

_CHUNK_COLUMNS = f"""tenant, collection_id, document_id, version_id, method,
                    {_CHUNK_NAMES}"""

_CHUNK_VALUES = f"""%(tenant)s, %(collection_id)s::uuid, %(document_id)s::uuid, %(version_id)s::uuid, %(method)s,
       {_CHUNK_NAMES}"""

STAGE_CHUNKS = f"""
insert into staged_chunks ({_CHUNK_COLUMNS}, batch_no, lexemes, terms, embedding, token_codes)
select {_CHUNK_VALUES}, %(batch_no)s, lexemes, terms, embedding, token_codes
from {_CHUNK_ARRAYS}, %(lexemes)b::tsvector[], %(terms)b::sparsevec[], %(vectors)b::halfvec[], %(token_codes)b::bytea[])
     as chunk ({_CHUNK_NAMES}, lexemes, terms, embedding, token_codes)
"""

INSERT_CHUNKS = f"""
insert into chunks ({_CHUNK_COLUMNS})
select {_CHUNK_VALUES}
from {_CHUNK_ARRAYS}) as chunk ({_CHUNK_NAMES})
"""

INSERT_ENTRIES = """
insert into lexical_entries (tenant, collection_id, document_id, chunk_id, lexemes, terms)
select %(tenant)s, %(collection_id)s::uuid, %(document_id)s::uuid, chunk_id, lexemes, terms
from unnest(%(chunk_ids)s::uuid[], %(lexemes)b::tsvector[], %(terms)b::sparsevec[]) as entry (chunk_id, lexemes, terms)
"""

INSERT_VECTORS = """
insert into {table} (tenant, collection_id, document_id, chunk_id, embedding, token_codes)
select %(tenant)s, %(collection_id)s::uuid, %(document_id)s::uuid, chunk_id, embedding, token_codes
from unnest(%(chunk_ids)s::uuid[], %(vectors)b::halfvec[], %(token_codes)b::bytea[])
     as vector (chunk_id, embedding, token_codes)
"""

MOVE_CHUNKS = f"""
insert into chunks ({_CHUNK_COLUMNS})
select {_CHUNK_COLUMNS} from staged_chunks where version_id = %(version_id)s
"""

MOVE_ENTRIES = """
insert into lexical_entries (tenant, collection_id, document_id, chunk_id, lexemes, terms)
select tenant, collection_id, document_id, chunk_id, lexemes, terms
from staged_chunks where version_id = %(version_id)s
"""

MOVE_VECTORS = """
insert into {table} (tenant, collection_id, document_id, chunk_id, embedding, token_codes)
select tenant, collection_id, document_id, chunk_id, embedding, token_codes
from staged_chunks where version_id = %(version_id)s
"""

DELETE_VECTORS = """
delete from {table}
where tenant = %(tenant)s and collection_id = %(collection_id)s and document_id = %(document_id)s
"""
DELETE_ENTRIES = "delete from lexical_entries where tenant = %(tenant)s and document_id = %(document_id)s"
DELETE_CHUNKS = "delete from chunks where tenant = %(tenant)s and document_id = %(document_id)s"
DELETE_STAGED_CHUNKS = """
delete from staged_chunks
where version_id in (
    select version_id from document_versions where document_id = %(document_id)s and generation <= %(generation)s
)
"""
DELETE_STAGED_BATCHES = """
delete from staged_batches
where version_id in (
    select version_id from document_versions where document_id = %(document_id)s and generation <= %(generation)s
)
"""


def _record_lexemes(sign: str) -> str:
    """Return the statement that notes how the document's entries, as they are now, change the frequencies."""
    return f"""
insert into lexical_changes (tenant, collection_id, passages, lexemes, counts)
select %(tenant)s, %(collection_id)s::uuid, {sign}entries.passages, array_agg(lexeme), array_agg({sign}passages_with)
from (
    select count(*)::int as passages
    from lexical_entries
    where tenant = %(tenant)s and document_id = %(document_id)s
) as entries
cross join (
    select lexeme, count(*)::int as passages_with
    from lexical_entries
    cross join lateral unnest(tsvector_to_array(lexemes)) as lexeme
    where tenant = %(tenant)s and document_id = %(document_id)s
    group by lexeme
) as frequency
group by entries.passages
"""


RECORD_REMOVED_LEXEMES = _record_lexemes("-")
RECORD_ADDED_LEXEMES = _record_lexemes("")
RECORD_COUNTED_LEXEMES = """
insert into lexical_changes (tenant, collection_id, passages, lexemes, counts)
select %(tenant)s, %(collection_id)s::uuid, %(passages)s, string_to_array(%(counted_lexemes)s, E'\\n'),
       string_to_array(%(lexeme_counts)s, E'\\n')::integer[]
where %(counted_lexemes)s <> ''
"""
"""The same for a version of one batch, whose passages were counted where they were analysed."""


def insert_rows(*, vectors: bool, counted: bool) -> str:
    """Return the statement that inserts what a batch brings; with `counted`, it notes the lexemes, too.

    One for all tables: sent apart, each would cost as much as a dozen of their rows.
    """
    chosen = [INSERT_CHUNKS, INSERT_ENTRIES]
    if counted:
        chosen.append(RECORD_COUNTED_LEXEMES)
    if vectors:
        chosen.append(INSERT_VECTORS)
    *others, last = chosen
    return f"with {', '.join(f'rows{number} as ({each})' for number, each in enumerate(others))} {last}"


@lru_cache(maxsize=256)
def insert_into(table: str, *, counted: bool) -> bytes:
    """Return `insert_rows` for a table of vectors; empty for none."""
    statement = insert_rows(vectors=bool(table), counted=counted)
    return sql.SQL(statement).format(table=sql.Identifier(table)).as_bytes(None) if table else statement.encode()


@lru_cache(maxsize=256)
def of_table(statement: str, table: str) -> bytes:
    """Return a statement on a table of vectors."""
    return sql.SQL(statement).format(table=sql.Identifier(table)).as_bytes(None)


SUPERSEDE_OLDER = """
with superseded as (
    update document_versions set state = 'superseded', finished_at = coalesce(finished_at, now())
    where document_id = %(document_id)s and generation < %(generation)s
      and state in ('accepted', 'released', 'committed')
    returning job_id
)
update jobs
set status = 'failed', error_code = 'SUPERSEDED', error_message = 'A newer version of the document took its place.',
    updated_at = now(), finished_at = now()
from superseded
where jobs.job_id = superseded.job_id and status in ('pending', 'processing')
"""

# The document, its version, its times and its job in one statement, under the document's lock; the chunks are there by
# a statement before it. Also a job that failed before: a batch that was given up may have arrived after all, and the
# rows are the truth. The job is the commit's from here on, and not before: it can be noted as `embedded` while the rows
# are moved. That stage's time is the transaction's begin where it was not noted; `saved` is now, after what may take
# minutes.
SWITCH_DOCUMENT = f"""
with times as ({STORE}),
document as (
    update documents
    set current_version = version.version_id, derived_version = version.version_id,
        current_generation = version.generation,
        title = coalesce(nullif(%(title)s, ''), nullif(version.title, ''), version.filename),
        filename = version.filename, content_type = version.content_type, size_bytes = version.size_bytes,
        content_sha256 = version.content_sha256,
        metadata = coalesce(version.found_metadata, '{{}}') || version.metadata, category = version.category,
        {SET_COLUMNS}, acronym_rules = %(acronym_rules)s,
        chunk_count = (select count(*) from chunks where chunks.document_id = %(document_id)s),
        language = (
            select chunk.language from chunks as chunk where chunk.document_id = %(document_id)s
            group by chunk.language order by count(*) desc, chunk.language limit 1
        ),
        updated_at = now()
    from document_versions as version
    where documents.document_id = %(document_id)s and version.version_id = %(version_id)s
    returning documents.chunk_count
),
finished as (
    update document_versions
    set state = 'committed', finished_at = now(), chunk_count = (select chunk_count from document),
        batch_count = %(batch_count)s, staged = %(batch_count)s, parser_version = nullif(%(parser_version)s, ''),
        reading_warnings = nullif(%(reading_warnings)s, '')::jsonb
    where version_id = %(version_id)s
),
completed as (
    update jobs
    set status = 'completed', stage = 'done', percentage = 100, error_code = '', error_message = '',
        chunks_created = (select chunk_count from document),
        stage_times = jsonb_build_object('embedded', now()) || coalesce((
            select jsonb_object_agg(stage, now() - make_interval(secs => age::double precision))
            from jsonb_each_text(%(stage_ages)s) as reached (stage, age)
        ), '{{}}') || stage_times || jsonb_build_object('saved', statement_timestamp(), 'done', statement_timestamp()),
        started_at = coalesce(started_at, now()), updated_at = statement_timestamp(),
        finished_at = statement_timestamp()
    where job_id = %(job_id)s
)
select chunk_count from document
"""

# Nobody can replay what a newer version has overtaken.
CLOSE_DEAD_LETTERS = """
update dead_letters
set state = case when version_id = %(version_id)s then 'replayed' else 'discarded' end
where document_id = %(document_id)s and generation <= %(generation)s and state = 'open'
"""

# Most collections are neither on their way to another space nor have a set of units: one look tells of both.
LOOK_AT_COLLECTION = f"""
select (select space_id from collections where collection_id = %(collection_id)s) is distinct from %(space_id)s
       or exists (
           select from space_builds
           where collection_id = %(collection_id)s and state in {OPEN_STATES}
       ),
       exists (
           select from unit_builds
           where tenant = %(tenant)s and collection_id = %(collection_id)s and state <> 'retired'
       )
"""

# The collection needs vectors of another space, too: it was switched since the version was accepted, or is on its way.
NOTE_GAP = f"""
insert into space_gaps (document_id, tenant, collection_id)
select version.document_id, version.tenant, version.collection_id
from document_versions as version
join collections as collection using (collection_id)
where version.version_id = %(version_id)s
  and (collection.space_id <> version.space_id or exists (
      select from space_builds as build
      where build.collection_id = version.collection_id and build.state in {OPEN_STATES}
  ))
on conflict (document_id, tenant) do update set noted_at = clock_timestamp()
"""

OF_STAGED = (DELETE_STAGED_CHUNKS, DELETE_STAGED_BATCHES)
"""After several batches, or an older version: what was staged of the version, and of older ones that it overtook."""

OF_VISIBLE = (OVERTAKE, FORGET_OVERTAKEN, KEEP_UNITS, DROP_UNITS)
"""What rests on a document's passages, once it has any."""
