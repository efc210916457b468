-- Which document of a collection does what to which: found among the documents that there are, or said by people.

create table document_relations (
    tenant text not null,
    collection_id uuid not null,
    -- The one that replaces, amends, or is a rider to the other.
    document_id uuid not null,
    other_id uuid not null,
    kind text not null check (kind in ('replaces', 'amends', 'rider')),
    origin text not null check (origin in ('text', 'user')),
    -- Somebody says that it is not so, whatever the text says.
    denied boolean not null default false,
    part text not null default '',
    words text not null default '',
    noted_at timestamptz not null default now(),
    primary key (document_id, other_id, kind, tenant),
    foreign key (document_id, tenant) references documents (document_id, tenant) on delete cascade,
    foreign key (other_id, tenant) references documents (document_id, tenant) on delete cascade
);
create index document_relations_by_other on document_relations (other_id, tenant);

-- False until the document's relations, and those of others to it, were looked for among those that there are now.
alter table documents add column relations_found boolean not null default false;
create index documents_without_relations on documents (collection_id)
    where not relations_found and current_version is not null;

alter table document_relations enable row level security;
alter table document_relations force row level security;
create policy tenant_rows on document_relations
using ((select current_setting('sourcier.tenant', true)) in (tenant, '*'));
create policy granted_rows on document_relations as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*'
    or collection_id = any (
        (select nullif(nullif(current_setting('sourcier.collections', true), '*'), '')::uuid[])::uuid[]
    )
);
