-- Small tenants share one part of each vectors table, its default partition; a tenant that grows gets its own (ADR 40).
--
-- A release that does not know this makes a part for each tenant that it writes for, which fails where the tenant's rows
-- lie in the shared one. So a new database shares from its beginning, and such a release refuses to start on it; an
-- existing one goes on as it was, beside the release before, until an operator says `select sourcier.share_parts()`.

alter table embedding_spaces add column shares_parts boolean not null default false;

create function share_parts() returns void language plpgsql set search_path from current as $$
begin
    -- The shared parts themselves are made by the next start of an ingest service.
    update embedding_spaces set shares_parts = true;
    alter table embedding_spaces alter column shares_parts set default true;
    -- What a service has to know from now on: this migration.
    update migrations set requires = (select number from migrations where name like '%\_shared_parts')
    where name like '%\_shared_parts';
end
$$;

do $$
begin
    if not exists (select from embedding_spaces) then
        alter table embedding_spaces alter column shares_parts set default true;
        -- This migration's own row is not there yet; the one before it stands for both.
        update migrations set requires = number + 1 where number = (select max(number) from migrations);
    end if;
end
$$;
