-- Knowledge units: what a language model made of each chunk for the agents of its collection (docs/adr/0011). They stand
-- beside the chunks, so that a document is found before its questions are there; a commit takes along the units of
-- chunks that stayed the same, and removes those of chunks that did not, in its own transaction.

-- The categories that units may have; empty leaves them to the model.
alter table agents add column categories jsonb not null default '[]';

-- A collection's units as a whole: one set answers, and one may be built beside it.
create table unit_builds (
    build_id uuid primary key,
    tenant text not null,
    collection_id uuid not null references collections on delete cascade,
    state text not null check (state in ('building', 'live', 'retired')),
    -- The indexing methods whose vectors it has.
    methods text[] not null,
    -- Whether all is made anew; otherwise what the live one has is taken over.
    regenerate boolean not null default false,
    -- Documents up to this one have a unit for each chunk; null once all have.
    planned_after uuid default '00000000-0000-0000-0000-000000000000',
    -- Whether it may take over although chunks failed that the live one has units of.
    accept_failed boolean not null default false,
    -- Spaces in which it has an HNSW index of its own.
    indexed_spaces text[] not null default '{}',
    error text not null default '',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    switched_at timestamptz
);
create unique index unit_builds_live on unit_builds (collection_id) where state = 'live';
create unique index unit_builds_building on unit_builds (collection_id) where state = 'building';

create table units (
    unit_id uuid primary key,
    tenant text not null,
    collection_id uuid not null,
    build_id uuid not null references unit_builds on delete cascade,
    document_id uuid not null,
    version_id uuid not null,
    chunk_id uuid not null,
    chunk_index integer not null,
    -- SHA-256 of the chunk's headings and text: the unit is that of a chunk that has the same.
    fingerprint bytea not null,
    lane text not null,
    state text not null default 'waiting' check (state in ('waiting', 'enriched', 'no_pairs', 'failed')),
    -- Why there are no pairs, or why it failed, for machines and for people.
    reason text not null default '',
    message text not null default '',
    category text not null default '',
    summary text not null default '',
    keywords jsonb not null default '[]',
    -- 0 to 1, as the model or a person judged.
    usefulness real not null default 0,
    -- Who changed it by hand; such a unit survives a rebuild as it is.
    edited_by text not null default '',
    edited_at timestamptz,
    -- Counts the changes, so that vectors of what it was are not taken for those of what it is.
    revision integer not null default 0,
    model text not null default '',
    prompt_tokens bigint not null default 0,
    completion_tokens bigint not null default 0,
    sends integer not null default 0,
    sent_at timestamptz,
    not_before timestamptz not null default now(),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
create index units_by_document on units (document_id, chunk_index);
create index units_by_build on units (build_id, document_id, chunk_index);
create index units_by_chunk on units (chunk_id);
create index units_waiting on units (tenant, created_at) where state = 'waiting';

create table unit_pairs (
    pair_id uuid primary key,
    unit_id uuid not null references units on delete cascade,
    tenant text not null,
    place integer not null,
    question text not null,
    answer text not null,
    -- Who wrote it; empty for the model.
    edited_by text not null default '',
    created_at timestamptz not null default now()
);
create index unit_pairs_by_unit on unit_pairs (unit_id, place);

-- Vectors of units: of a pair's question, of summary and text, of category and text. Scanned exactly while a build has
-- few; a large one gets an HNSW index of its own.
create table unit_points (
    space_id text not null references embedding_spaces,
    kind text not null check (kind in ('qa_pair', 'source_material', 'classic')),
    -- The pair, or the unit itself.
    subject_id uuid not null,
    unit_id uuid not null references units on delete cascade,
    build_id uuid not null,
    document_id uuid not null,
    tenant text not null,
    embedding halfvec not null,
    primary key (space_id, kind, subject_id)
);
create index unit_points_by_build on unit_points (build_id, space_id);
create index unit_points_by_unit on unit_points (unit_id);
-- A toasted vector scans five times slower.
alter table unit_points alter column embedding set storage plain;

-- Units that may lack vectors in a space: noted with the change, forgotten with the vectors.
create table unit_gaps (
    unit_id uuid not null references units on delete cascade,
    space_id text not null references embedding_spaces,
    tenant text not null,
    noted_at timestamptz not null default clock_timestamp(),
    primary key (unit_id, space_id)
);
create index unit_gaps_by_age on unit_gaps (space_id, noted_at);

do $$
declare
    tenant_table text;
begin
    foreach tenant_table in array array['unit_builds', 'units', 'unit_pairs', 'unit_points', 'unit_gaps'] loop
        execute format('alter table %I enable row level security', tenant_table);
        execute format('alter table %I force row level security', tenant_table);
        execute format(
            $policy$
                create policy tenant_rows on %I
                using ((select current_setting('sourcier.tenant', true)) in (tenant, '*'))
            $policy$,
            tenant_table
        );
    end loop;
end
$$;
