-- Where a chunk's text stands in its file, as `index.places.encoding` writes it; null for what is not known, as of chunks
-- that an earlier release made.
alter table chunks add column place_map bytea;
alter table staged_chunks add column place_map bytea;

-- What an answer's citations rested on, so that a conversation read again shows it: the passages as they were, the
-- citations with their support, the sentences that were withheld; null for answers of before, and without any.
alter table messages add column evidence jsonb;
