-- What acronyms stand for, as each document spells it out: read by rule from the version that answers now.

create table acronyms (
    document_id uuid not null,
    tenant text not null,
    collection_id uuid not null,
    -- In lower case, without accents and dots.
    short_key text not null,
    -- The stems of the long form's words that carry meaning.
    long_key text not null,
    -- The first of these stems, by which a question that has the long form looks for it.
    long_head text not null,
    -- As the document has them; `spelled` is false where it has the long form for its title and no acronym beside it.
    short text not null,
    long text not null,
    spelled boolean not null,
    primary key (document_id, short_key, long_key, tenant),
    foreign key (document_id, tenant) references documents (document_id, tenant) on delete cascade
);
create index acronyms_by_short on acronyms (collection_id, short_key, long_key);
create index acronyms_by_long on acronyms (collection_id, long_head, long_key, short_key);

-- The rules that read the version that answers now; 0 where none did yet.
alter table documents add column acronym_rules smallint not null default 0;
create index documents_by_acronym_rules on documents (acronym_rules) where current_version is not null;

alter table acronyms enable row level security;
alter table acronyms force row level security;
create policy tenant_rows on acronyms
using ((select current_setting('sourcier.tenant', true)) in (tenant, '*'));
create policy granted_rows on acronyms as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*'
    or collection_id = any (
        (select nullif(nullif(current_setting('sourcier.collections', true), '*'), '')::uuid[])::uuid[]
    )
);
