-- What was not read of a version's text, or was left out: [[code, count, [place, …], detail], …]; null where nothing is to
-- be told, and for what a service before this read.
alter table document_versions add column reading_warnings jsonb;
