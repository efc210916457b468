-- What each collection was built of and with, to be shown, exported, and compared with what is loaded at run time.

create table build_manifests (
    collection_id uuid primary key references collections on delete cascade,
    tenant text not null,
    built_at timestamptz not null default now(),
    parser_version text not null,
    chunking_method text not null,
    chunking_unit text not null,
    chunking_target integer not null,
    chunking_overlap integer not null,
    chunking_maximum integer not null,
    space_id text not null,
    model text not null,
    revision text not null,
    dimension integer not null,
    document_count bigint not null,
    chunk_count bigint not null,
    -- Of sources, contents and how they were cut: the same for the same corpus and settings, whatever the ids.
    corpus_sha256 text not null,
    -- When the newest document had changed; null for an empty corpus.
    corpus_updated_at timestamptz
);

alter table build_manifests enable row level security;
alter table build_manifests force row level security;
create policy tenant_rows on build_manifests
using ((select current_setting('sourcier.tenant', true)) in (tenant, '*'));
