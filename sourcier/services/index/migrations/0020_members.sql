-- A document that came inside another one, a mail or an archive, and goes with it.
alter table documents add column part_of uuid;
-- The generation whose members were recorded: an older one never takes their place.
alter table documents add column members_generation bigint not null default 0;
create index documents_part_of on documents (tenant, part_of) where part_of is not null;

-- What a document says of itself: the sender of a mail, the front matter of a text. A sender's own metadata goes before it.
alter table document_versions add column found_metadata jsonb;
