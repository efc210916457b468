-- Where a chunk's text stands in its file, as `index.places.encoding` writes it; null for what is not known, as of chunks
-- that an earlier release made.
alter table chunks add column place_map bytea;
alter table staged_chunks add column place_map bytea;
