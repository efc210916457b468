-- The manifest of the buckets in use. A notification or a listing only marks a row as changed; the collector asks the
-- store what is there. A row outlives its document: what a person deleted stays deleted until the object changes.

alter table objects
    -- The order of bytes, in which S3 lists.
    alter column key type text collate "C",
    alter column collection_id drop not null,
    alter column etag set default '',
    alter column size_bytes set default 0,
    alter column last_modified drop not null,
    alter column generation set default 0,
    alter column state set default 'changed',
    add constraint objects_state check (state in ('changed', 'current', 'refused')),
    drop constraint objects_collection_id_fkey,
    add constraint objects_collection_id_fkey foreign key (collection_id) references collections on delete set null,
    add column lane text not null default 'bulk' check (lane in ('interactive', 'bulk')),
    -- Grows with every hint: one that comes while the store is being asked is not lost.
    add column hint_no bigint not null default 1,
    add column hinted_at timestamptz not null default now(),
    -- Whoever asks the store holds the claim until `not_before`, and renews it; a lost claim cannot settle the row.
    add column claim uuid,
    add column not_before timestamptz not null default now(),
    add column attempts integer not null default 0,
    add column error text not null default '';

create index objects_due on objects (lane desc, not_before) where state = 'changed';
create index objects_by_document on objects (document_id);

-- A comparison of a bucket with its manifest: how far it is, so that the next process goes on from there.
create table reconciliations (
    reconciliation_id uuid primary key,
    tenant text not null,
    bucket text not null,
    prefix text not null,
    state text not null default 'running' check (state in ('running', 'finished', 'abandoned')),
    dry_run boolean not null default false,
    -- The last key listed, in the store's own order.
    position text not null default '',
    listed bigint not null default 0,
    missing bigint not null default 0,
    changed bigint not null default 0,
    gone bigint not null default 0,
    started_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    finished_at timestamptz
);
create index reconciliations_by_bucket on reconciliations (tenant, bucket, prefix, started_at desc);

-- What a comparison has listed. Stores differ in the order they list in, so what is gone is what is not here at the
-- end. Unlogged: lost in a crash, it costs a few questions to the store, never a document.
create unlogged table listed_objects (
    reconciliation_id uuid not null,
    tenant text not null,
    key text collate "C" not null,
    primary key (reconciliation_id, key)
);

-- The broker's streams as they were last seen. One that was made anew, or that counts less than it did, has lost
-- messages; what was under way is then released again.
create table broker_streams (
    stream text primary key,
    created text not null,
    last_sequence bigint not null,
    seen_at timestamptz not null default now()
);

-- A version enters the pipeline at a stage; the earlier ones have left what it needs.
alter table document_versions
    add column start_stage text not null default 'parse' check (start_stage in ('parse', 'chunk', 'embed')),
    -- Set when what an earlier parser made of the content must not be used again.
    add column parse_again boolean not null default false;

-- Whether a content is still somebody's is asked at every deletion, and by the sweep of what nobody needs any more.
create index document_versions_by_content on document_versions (tenant, content_sha256);
create index document_versions_by_original on document_versions (tenant, original_key);
create index document_versions_over on document_versions (finished_at) where state in ('superseded', 'failed');

create index dead_letters_by_document on dead_letters (document_id) where state = 'open';

-- 0 keeps documents until they are deleted.
alter table collections add column retention_days integer not null default 0 check (retention_days between 0 and 36500);

do $$
declare
    tenant_table text;
begin
    foreach tenant_table in array array['reconciliations', 'listed_objects'] loop
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
