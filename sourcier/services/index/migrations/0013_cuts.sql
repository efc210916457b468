-- What a version is made with, kept with it: what its collection or the services are changed to is for later ones.

-- How it is cut, from its release on: {"method": "hybrid", "unit": "tokens", "target": 256, …}; null before.
alter table document_versions add column chunking jsonb;
-- Which cut its staged batches are of, and when that was made; null where none is staged, or of a service before this.
alter table document_versions add column cut text;
alter table document_versions add column cut_at timestamptz;
-- What read the text that answers; null for what a service before this committed, and for what was imported.
alter table document_versions add column parser_version text;

-- What a manifest was written by and of, so that it is known when it has to be written anew: the parsers' version of the
-- service, and the sum of the documents' generations, which grows with every commit.
alter table build_manifests add column recorded_by text;
alter table build_manifests add column generations bigint;
