-- What was used in a day, where the gateway has limits for it: a row for each person of a tenant, and one for all of it.

create table daily_use (
    tenant text not null,
    -- `user:…` or `key:…`; empty for the tenant as a whole.
    person text not null check (length(person) <= 300),
    -- By universal time.
    day date not null,
    -- Of the language model: read and written.
    tokens bigint not null default 0 check (tokens >= 0),
    upload_bytes bigint not null default 0 check (upload_bytes >= 0),
    primary key (tenant, person, day)
);

alter table daily_use enable row level security;
alter table daily_use force row level security;
create policy tenant_rows on daily_use
using ((select current_setting('sourcier.tenant', true)) in (tenant, '*'));
