-- Agents, where each is deployed, and the questions whose answers a person has validated for it.

create table agents (
    agent_id uuid primary key,
    tenant text not null,
    name text not null check (length(name) between 1 and 200),
    description text not null default '',
    -- Without a cascade: deleting a collection must not take what people have validated with it.
    collection_id uuid not null references collections,
    indexing_method text not null default 'qa_atomic' check (indexing_method in ('qa_atomic', 'classic')),
    -- What becomes of an answer whose document changed.
    on_document_change text not null default 'flag' check (on_document_change in ('flag', 'retire')),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (tenant, name)
);
create index agents_by_collection on agents (collection_id);

create table deployments (
    deployment_id uuid primary key,
    tenant text not null,
    name text not null check (length(name) between 1 and 200),
    agent_id uuid not null references agents on delete cascade,
    -- Settings that win over the agent's, as they were given: what is not understood is shown, not lost.
    overlay jsonb not null default '{}',
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now(),
    unique (tenant, name)
);
create index deployments_by_agent on deployments (agent_id);

create table learned_responses (
    response_id uuid primary key,
    tenant text not null,
    agent_id uuid not null references agents on delete cascade,
    question text not null,
    -- The question as it is compared for being asked twice: lower case, words alone.
    question_key text not null,
    answer text not null,
    category text not null,
    source text not null,
    heading_path jsonb not null default '[]',
    origin text not null check (origin in ('added', 'approved')),
    -- The answer that was approved; empty where it was written by hand.
    answer_id text not null default '',
    -- active → flagged → active, and anything → retired. Only what is active answers.
    state text not null default 'active' check (state in ('active', 'flagged', 'retired')),
    state_reason text not null default '',
    validated_by text not null,
    validated_at timestamptz not null default now(),
    created_at timestamptz not null default now(),
    updated_at timestamptz not null default now()
);
create unique index learned_responses_by_question on learned_responses (agent_id, question_key)
    where state <> 'retired';
create index learned_responses_by_agent on learned_responses (tenant, agent_id, response_id);

-- What an answer rests on. Without a foreign key to the document: that it was deleted is worth knowing.
create table learned_response_sources (
    response_id uuid not null references learned_responses on delete cascade,
    tenant text not null,
    document_id uuid not null,
    version_id uuid not null,
    -- A document that is cut or read anew keeps its content, and the answer stays right.
    content_sha256 bytea not null,
    title text not null,
    primary key (response_id, document_id)
);
create index learned_response_sources_by_document on learned_response_sources (document_id);

-- The vector of the question in each space that the agent's collection is in. By agent and space: they are scanned
-- exactly, and there are few.
create table learned_response_vectors (
    agent_id uuid not null references agents on delete cascade,
    space_id text not null references embedding_spaces,
    response_id uuid not null references learned_responses on delete cascade,
    tenant text not null,
    embedding halfvec not null,
    primary key (agent_id, space_id, response_id)
);
create index learned_response_vectors_by_response on learned_response_vectors (response_id);
-- A toasted vector scans five times slower.
alter table learned_response_vectors alter column embedding set storage plain;

do $$
declare
    tenant_table text;
begin
    foreach tenant_table in array array[
        'agents', 'deployments', 'learned_responses', 'learned_response_sources', 'learned_response_vectors'
    ] loop
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
