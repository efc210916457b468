-- When what a document says holds, as it was read by rule from each version's text, title, name and metadata.

create table document_times (
    version_id uuid not null,
    tenant text not null,
    collection_id uuid not null,
    document_id uuid not null,
    -- [[kind, first day, last day, origin, words], …]
    dates jsonb not null,
    -- What it says that it replaces or amends, as it names it: [[kind, words, dates, version, everything, part, quote], …]
    relations jsonb not null,
    -- The words of its title, without dates and numbers: editions of one document share them.
    family text[] not null,
    -- Of « version 2.1 »; empty for none.
    edition integer[] not null,
    read_at timestamptz not null default now(),
    primary key (version_id, tenant),
    foreign key (version_id, tenant) references document_versions (version_id, tenant) on delete cascade
);
create index document_times_with_relations on document_times (collection_id, document_id) where relations <> '[]';

alter table documents
    -- The rules that read the version that answers now; 0 where none did yet.
    add column times_rules smallint not null default 0,
    -- Dates that somebody set, in the place of those read, of this version and later ones: {kind: [first day, last day]}.
    add column set_dates jsonb,
    -- Its own date, and since when and until when it holds, both days included; null where nothing tells.
    add column dated_from date,
    add column dated_to date,
    add column holds_from date,
    add column holds_until date;
create index documents_by_times_rules on documents (times_rules) where current_version is not null;

alter table document_times enable row level security;
alter table document_times force row level security;
create policy tenant_rows on document_times
using ((select current_setting('sourcier.tenant', true)) in (tenant, '*'));
create policy granted_rows on document_times as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*'
    or collection_id = any (
        (select nullif(nullif(current_setting('sourcier.collections', true), '*'), '')::uuid[])::uuid[]
    )
);
