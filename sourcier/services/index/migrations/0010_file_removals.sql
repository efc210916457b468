-- Files in the object store of what was deleted: noted in the transaction that deletes the rows, forgotten once the files
-- are gone, or somebody needs them again.
create table file_removals (
    removal_id bigint generated always as identity primary key,
    tenant text not null,
    original_key text not null,
    content_sha256 bytea not null,
    not_before timestamptz not null default now()
);
create index file_removals_due on file_removals (not_before);

alter table file_removals enable row level security;
alter table file_removals force row level security;
create policy tenant_rows on file_removals
using ((select current_setting('sourcier.tenant', true)) in (tenant, '*'));

-- Nothing was ever written into it: staged keys and states tell what comes twice (ADR 18).
drop table inbox;
