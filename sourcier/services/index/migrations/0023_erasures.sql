-- Erasures of whole tenants: what was asked for, how far it is, and the report. No contents: these rows are what is left.
create table erasures (
    tenant text not null,
    -- A UUIDv7.
    erasure_id uuid not null,
    -- What is being deleted now; `done` once all is.
    step text not null default 'curation',
    -- By kind, how many there were when it began.
    counts jsonb not null default '{}',
    -- Where deleted bytes stay, and until when.
    traces jsonb not null default '[]',
    asked_by text not null default '',
    asked_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    -- When all was deleted.
    finished_at timestamptz,
    -- When the service had overwritten the last trace that is its own to overwrite.
    settled_at timestamptz,
    primary key (tenant, erasure_id)
);
create unique index erasures_open on erasures (tenant) where finished_at is null;
create index erasures_unsettled on erasures (asked_at) where settled_at is null;

alter table erasures enable row level security;
alter table erasures force row level security;
create policy tenant_rows on erasures
using ((select current_setting('sourcier.tenant', true)) in (tenant, '*'));

-- Nothing new begins while a tenant is being erased, whichever door it comes through. What began before is found by the
-- next pass over the tables.
create function refuse_while_erased() returns trigger language plpgsql as $$
begin
    if exists (select from erasures where tenant = new.tenant and finished_at is null) then
        raise exception 'the tenant is being erased' using errcode = 'object_not_in_prerequisite_state';
    end if;
    return new;
end
$$;

do $$
declare
    root text;
begin
    foreach root in array array[
        'collections', 'documents', 'document_versions', 'conversations', 'messages', 'agents', 'learned_responses'
    ] loop
        execute format(
            'create trigger refused_while_erased before insert on %I for each row execute function refuse_while_erased()',
            root
        );
    end loop;
end
$$;
