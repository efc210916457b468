-- A collection moves to another embedding space: its stored chunks get vectors there beside those they have, the two are
-- compared, and one row of `collections` decides which of them a search reads.

alter table embedding_spaces add column retired_at timestamptz;

create table space_builds (
    build_id uuid primary key,
    tenant text not null,
    collection_id uuid not null references collections on delete cascade,
    from_space_id text not null references embedding_spaces,
    space_id text not null references embedding_spaces,
    -- building → ready ⇄ live; live → retired once the space before is dropped; the others → dropped. Failed waits for
    -- a person, who drops it or has it built again.
    state text not null default 'building'
        check (state in ('building', 'ready', 'live', 'retired', 'dropped', 'failed')),
    chunks_total bigint not null default 0,
    chunks_done bigint not null default 0,
    error text not null default '',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    ready_at timestamptz,
    switched_at timestamptz,
    finished_at timestamptz,
    -- When the vectors that were given up had been deleted.
    cleared_at timestamptz,
    check (space_id <> from_space_id)
);
-- A collection is in at most two spaces: one that answers, and one beside it.
create unique index space_builds_open on space_builds (collection_id)
    where state in ('building', 'ready', 'live', 'failed');
create index space_builds_by_collection on space_builds (tenant, collection_id, created_at desc);

-- Documents whose version was committed with the vectors of one space while their collection needs those of another,
-- too: noted in the commit, forgotten once the vectors are there.
create table space_gaps (
    document_id uuid primary key references documents on delete cascade,
    tenant text not null,
    collection_id uuid not null,
    noted_at timestamptz not null default clock_timestamp()
);
create index space_gaps_by_age on space_gaps (noted_at);

do $$
declare
    tenant_table text;
begin
    foreach tenant_table in array array['space_builds', 'space_gaps'] loop
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
