-- Who may reach what within a tenant: API keys, grants on collections, owners of conversations. What was there before
-- stays the tenant's: without accounts, transactions claim all of it, and no grant is needed.

create table api_keys (
    tenant text not null,
    key_id text not null,
    name text not null check (length(name) between 1 and 200),
    role text not null check (role in ('reader', 'writer', 'manager', 'operator')),
    -- Of 256 random bits: nothing slower is needed against guessing.
    secret_sha256 bytea not null,
    -- A UUIDv7: what lists are ordered by, and what their pages go on from.
    recency uuid not null,
    created_by text not null,
    created_at timestamptz not null default now(),
    -- Null for as long as nobody revokes it.
    expires_at timestamptz,
    revoked_at timestamptz,
    primary key (tenant, key_id)
);

create table grants (
    tenant text not null,
    -- A UUIDv7.
    grant_id uuid not null,
    -- `user:…`, `group:…`, `key:…`, or `everyone`.
    grantee text not null check (length(grantee) between 1 and 300),
    -- Null for all collections of the tenant, those to come included.
    collection_id uuid,
    access_right text not null check (access_right in ('read', 'write', 'manage', 'conversations')),
    granted_by text not null,
    granted_at timestamptz not null default now(),
    primary key (tenant, grant_id),
    foreign key (collection_id, tenant) references collections (collection_id, tenant) on delete cascade
);
-- Read by every transaction of a caller who needs grants.
create unique index grants_by_grantee on grants (tenant, grantee, collection_id, access_right) nulls not distinct;
create index grants_by_collection on grants (collection_id, tenant);

do $$
declare
    tenant_table text;
begin
    foreach tenant_table in array array['api_keys', 'grants'] loop
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

-- Whoever began it; empty where no account was asked for.
alter table conversations add column owner text not null default coalesce(current_setting('sourcier.name', true), '');
create index conversations_by_owner on conversations (tenant, owner, recency desc);

create policy owned_rows on conversations as restrictive
using (
    (select current_setting('sourcier.conversations', true)) = '*'
    or owner = (select nullif(current_setting('sourcier.name', true), ''))
);
create policy owned_rows on messages as restrictive
using (
    (select current_setting('sourcier.conversations', true)) = '*'
    or exists (
        select from conversations
        where conversations.conversation_id = messages.conversation_id and conversations.tenant = messages.tenant
    )
);
create policy owned_rows on ratings as restrictive
using (
    (select current_setting('sourcier.conversations', true)) = '*'
    or exists (
        select from messages where messages.message_id = ratings.message_id and messages.tenant = ratings.tenant
    )
);

-- What belongs to a collection is seen where the collection is claimed. Restrictive: both this and the tenant's policy
-- have to hold. The sub-selects are evaluated once a statement, and the second only where the first is not `*`.
do $$
declare
    collection_table text;
begin
    for collection_table in
        select relname
        from pg_class
        join pg_attribute as tenant on tenant.attrelid = pg_class.oid and tenant.attname = 'tenant'
        join pg_attribute as collection on collection.attrelid = pg_class.oid and collection.attname = 'collection_id'
        where relkind in ('r', 'p') and relnamespace = current_schema()::regnamespace
          and relname not in ('grants', 'objects')
    loop
        execute format(
            $policy$
                create policy granted_rows on %I as restrictive
                using (
                    (select current_setting('sourcier.collections', true)) = '*'
                    or collection_id = any (
                        (select nullif(nullif(current_setting('sourcier.collections', true), '*'), '')::uuid[])::uuid[]
                    )
                )
            $policy$,
            collection_table
        );
    end loop;
end
$$;
-- An object whose document was deleted belongs to no collection any more.
create policy granted_rows on objects as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*' or collection_id is null
    or collection_id = any (
        (select nullif(nullif(current_setting('sourcier.collections', true), '*'), '')::uuid[])::uuid[]
    )
);

-- What hangs on an agent or a unit is seen where that is. `in` is looked up in a set made once a statement: agents and
-- builds are few.
create policy granted_rows on deployments as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*' or agent_id in (select agent_id from agents)
);
create policy granted_rows on learned_responses as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*' or agent_id in (select agent_id from agents)
);
create policy granted_rows on learned_response_vectors as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*' or agent_id in (select agent_id from agents)
);
create policy granted_rows on learned_response_sources as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*'
    or exists (
        select from learned_responses as response
        where response.response_id = learned_response_sources.response_id
          and response.tenant = learned_response_sources.tenant
    )
);
create policy granted_rows on unit_points as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*' or build_id in (select build_id from unit_builds)
);
create policy granted_rows on unit_pairs as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*'
    or exists (select from units where units.unit_id = unit_pairs.unit_id and units.tenant = unit_pairs.tenant)
);
create policy granted_rows on unit_gaps as restrictive
using (
    (select current_setting('sourcier.collections', true)) = '*'
    or exists (select from units where units.unit_id = unit_gaps.unit_id and units.tenant = unit_gaps.tenant)
);
