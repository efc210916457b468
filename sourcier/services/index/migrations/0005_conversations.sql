-- What people asked, what they were told, and how they rated it. The gateway's tables; a conversation that is deleted
-- takes all of it along.

create table conversations (
    conversation_id uuid primary key,
    tenant text not null,
    -- Empty until the first question gives it one.
    title text not null default '' check (length(title) <= 200),
    -- Null follows the service's setting.
    rerank boolean,
    message_count integer not null default 0,
    -- A UUIDv7 of the last use: what lists are ordered by, and what their pages go on from.
    recency uuid not null,
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
create unique index conversations_by_recency on conversations (tenant, recency desc);

create table messages (
    message_id uuid primary key,
    tenant text not null,
    conversation_id uuid not null references conversations on delete cascade,
    -- From 1. Ids of one millisecond do not tell which came first.
    position integer not null,
    role text not null check (role in ('user', 'assistant')),
    content text not null default '',
    -- An answer is unfinished from its question on: one whose gateway dies needs nobody to say that it was cut off.
    state text not null check (state in ('unfinished', 'finished', 'cut_off', 'failed')),
    outcome text not null default '',
    reason text not null default '',
    rewritten text not null default '',
    sources jsonb not null default '[]',
    model text not null default '',
    prompt_tokens integer not null default 0,
    cached_tokens integer not null default 0,
    completion_tokens integer not null default 0,
    answer_id uuid not null,
    created_at timestamptz not null default now(),
    finished_at timestamptz,
    unique (conversation_id, position)
);

create table ratings (
    message_id uuid primary key references messages on delete cascade,
    tenant text not null,
    rating text not null check (rating in ('up', 'down')),
    comment text not null default '' check (length(comment) <= 2000),
    rated_at timestamptz not null default now()
);

do $$
declare
    tenant_table text;
begin
    foreach tenant_table in array array['conversations', 'messages', 'ratings'] loop
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
