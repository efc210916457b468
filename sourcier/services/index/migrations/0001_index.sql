-- The knowledge index. Names are unqualified: the search path names the installation's schema.
-- Row-level security is enabled and forced on every table that holds a tenant's rows (the last statement).

create table tenants (
    tenant text primary key check (tenant ~ '^[a-z0-9-]{1,40}$'),
    created_at timestamptz not null default now()
);

-- No tenant's rows: what a model is, never what it was used on.
create table embedding_spaces (
    space_id text primary key,
    model text not null,
    revision text not null,
    dimension integer not null check (dimension between 8 and 4000),
    query_prefix text not null,
    passage_prefix text not null,
    pooling text not null,
    token_mean_sha256 text not null,
    token_weights text not null,
    state text not null check (state in ('building', 'live', 'retired')),
    vectors_table text not null unique,
    created_at timestamptz not null default now()
);

create table collections (
    collection_id uuid primary key,
    tenant text not null references tenants,
    -- Marks the collection's lexemes, so that one index over all collections reads only the postings of those searched.
    number bigint not null generated always as identity unique,
    name text not null check (length(name) between 1 and 200),
    space_id text not null references embedding_spaces,
    chunking_method text not null,
    chunking_unit text not null,
    chunking_target integer not null,
    chunking_overlap integer not null,
    chunking_maximum integer not null,
    lane text not null default 'bulk' check (lane in ('interactive', 'bulk')),
    created_at timestamptz not null default now(),
    unique (tenant, name)
);

create table documents (
    document_id uuid primary key,
    tenant text not null,
    collection_id uuid not null references collections on delete cascade,
    source text not null,
    last_generation bigint not null default 0,
    -- The version that answers; null until the first is whole.
    current_version uuid,
    current_generation bigint not null default 0,
    title text not null,
    filename text not null,
    content_type text not null,
    size_bytes bigint not null,
    content_sha256 bytea not null,
    metadata jsonb not null default '{}',
    category text not null default '',
    chunk_count integer not null default 0,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (tenant, collection_id, source)
);
create index documents_by_collection on documents (tenant, collection_id, document_id);

create table document_versions (
    version_id uuid primary key,
    tenant text not null,
    collection_id uuid not null,
    document_id uuid not null references documents on delete cascade,
    generation bigint not null,
    job_id uuid not null,
    space_id text not null,
    lane text not null,
    state text not null check (state in ('accepted', 'released', 'committed', 'superseded', 'failed')),
    original_key text not null,
    title text not null,
    filename text not null,
    content_type text not null,
    size_bytes bigint not null,
    content_sha256 bytea not null,
    configuration_digest text not null,
    metadata jsonb not null,
    category text not null,
    request_id text not null,
    batch_count integer,
    staged integer not null default 0,
    chunk_count integer not null default 0,
    created_at timestamptz not null default now(),
    released_at timestamptz,
    finished_at timestamptz,
    unique (document_id, generation)
);
create index document_versions_in_flight on document_versions (tenant, lane, state, created_at)
    where state in ('accepted', 'released');

-- The key is what makes a batch delivered twice count once.
create table staged_batches (
    version_id uuid not null references document_versions on delete cascade,
    batch_no integer not null,
    tenant text not null,
    staged_at timestamptz not null default now(),
    primary key (version_id, batch_no)
);

create table chunks (
    chunk_id uuid primary key,
    tenant text not null,
    collection_id uuid not null,
    document_id uuid not null,
    version_id uuid not null,
    chunk_index integer not null,
    kind text not null,
    method text not null,
    language text not null,
    page integer not null,
    start_character integer not null,
    end_character integer not null,
    token_count integer not null,
    heading_path jsonb not null,
    text text not null
);
create unique index chunks_by_document on chunks (document_id, chunk_index);

-- Lexical side: stems for candidates (GIN), and each passage's part of BM25 on hashed dimensions for exact scores.
create table lexical_entries (
    chunk_id uuid primary key,
    tenant text not null,
    collection_id uuid not null,
    document_id uuid not null,
    lexemes tsvector not null,
    terms sparsevec not null
);
create index lexical_entries_by_document on lexical_entries (document_id);
-- Without fastupdate: a pending list would be read by every search, and saves a third of a millisecond a chunk.
create index lexical_entries_by_lexeme on lexical_entries using gin (lexemes) with (fastupdate = off);
-- Main, so that the scores are computed without reading the TOAST table; plain would refuse very long passages.
alter table lexical_entries alter column terms set storage main;

-- Rows of the batches that arrived before a version's last; moved in one statement at its commit.
create table staged_chunks (
    like chunks,
    batch_no integer not null,
    lexemes tsvector not null,
    terms sparsevec not null,
    embedding halfvec not null,
    token_codes bytea not null
);
create index staged_chunks_by_version on staged_chunks (version_id);
-- Bits do not compress, and trying costs more than the copy.
alter table staged_chunks alter column token_codes set storage external, alter column embedding set storage external;

create table jobs (
    job_id uuid primary key,
    tenant text not null,
    collection_id uuid not null,
    document_id uuid not null,
    version_id uuid,
    lane text not null,
    status text not null check (status in ('pending', 'processing', 'completed', 'failed')),
    stage text not null default '',
    percentage integer not null default 0 check (percentage between 0 and 100),
    chunks_created integer not null default 0,
    error_code text not null default '',
    error_message text not null default '',
    error_stage text not null default '',
    filename text not null,
    size_bytes bigint not null,
    -- When each stage was reached: {"parsed": "2026-01-31T12:00:00+00:00", …}.
    stage_times jsonb not null default '{}',
    created_at timestamptz not null default now(),
    started_at timestamptz,
    updated_at timestamptz not null default now(),
    finished_at timestamptz
);
create index jobs_by_tenant on jobs (tenant, job_id);
create index jobs_unfinished on jobs (document_id) where status in ('pending', 'processing');

create table inbox (
    consumer text not null,
    message_id text not null,
    tenant text not null,
    received_at timestamptz not null default now(),
    primary key (consumer, message_id)
);
create index inbox_by_age on inbox (received_at);

create table outbox (
    outbox_id bigint generated always as identity primary key,
    tenant text not null,
    subject text not null,
    payload bytea not null,
    message_id text not null,
    not_before timestamptz not null default now(),
    created_at timestamptz not null default now()
);
create index outbox_due on outbox (not_before, outbox_id);

create table dead_letters (
    dead_letter_id uuid primary key,
    tenant text not null,
    collection_id uuid not null,
    document_id uuid not null,
    version_id uuid not null,
    generation bigint not null,
    job_id uuid not null,
    stage text not null,
    reason text not null,
    message text not null,
    attempts integer not null,
    subject text not null,
    payload bytea not null,
    state text not null default 'open' check (state in ('open', 'replayed', 'discarded')),
    failed_at timestamptz not null default now()
);
-- The same message given up twice, by a redelivery, is one dead letter.
create unique index dead_letters_open on dead_letters (version_id, stage, sha256(payload)) where state = 'open';
create index dead_letters_by_tenant on dead_letters (tenant, dead_letter_id);

-- The manifest of the buckets: what the store was last seen to hold.
create table objects (
    tenant text not null,
    bucket text not null,
    key text not null,
    collection_id uuid not null references collections on delete cascade,
    document_id uuid,
    etag text not null,
    size_bytes bigint not null,
    last_modified timestamptz not null,
    generation bigint not null,
    state text not null,
    last_seen timestamptz not null default now(),
    primary key (tenant, bucket, key)
);

-- Document frequencies, kept beside the commit path: a commit appends what it changed, a refresh adds it up.
create table collection_statistics (
    collection_id uuid primary key references collections on delete cascade,
    tenant text not null,
    passages bigint not null default 0,
    refreshed_at timestamptz not null default now()
);
create table lexeme_frequencies (
    collection_id uuid not null references collections on delete cascade,
    lexeme text not null,
    tenant text not null,
    passages bigint not null,
    primary key (collection_id, lexeme)
);
create table lexical_changes (
    change_id bigint generated always as identity primary key,
    tenant text not null,
    -- No foreign key: its lock on the collection, taken under a document's, would deadlock with the collection's deletion.
    collection_id uuid not null,
    passages integer not null,
    lexemes text[] not null,
    counts integer[] not null
);
create index lexical_changes_by_collection on lexical_changes (collection_id, change_id);

-- Nothing is visible without a tenant; `*` is system work over all of them. The sub-select is evaluated once a
-- statement instead of once a row.
do $$
declare
    tenant_table text;
begin
    for tenant_table in
        select table_name from information_schema.columns
        where table_schema = current_schema() and column_name = 'tenant'
    loop
        execute format('alter table %I enable row level security', tenant_table);
        execute format('alter table %I force row level security', tenant_table);
        if tenant_table <> 'lexical_entries' then
            execute format(
                $policy$
                    create policy tenant_rows on %I
                    using ((select current_setting('sourcier.tenant', true)) in (tenant, '*'))
                $policy$,
                tenant_table
            );
        end if;
    end loop;
end
$$;

-- PostgreSQL uses no index for a condition behind row-level security unless its operator is marked leakproof, and `@@`
-- is not: a search would read every entry. A condition that is part of the policy may use the index, so the policy
-- itself names the candidates, in `sourcier.candidates`. Unset, it shows nothing.
create policy candidate_rows on lexical_entries for select
using (
    tenant = current_setting('sourcier.tenant', true)
    and lexemes @@ current_setting('sourcier.candidates', true)::tsquery
);
create policy inserted_rows on lexical_entries for insert
with check (tenant = (select current_setting('sourcier.tenant', true)));
create policy deleted_rows on lexical_entries for delete
using (tenant = (select current_setting('sourcier.tenant', true)));
