-- The language of most of a document's chunks, so that a filter need not look at them. Null until the document is
-- committed again: those of before are told by their chunks, document by document.
alter table documents add column language text;
