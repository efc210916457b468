-- Which root a document's source is a path from, as its sender says: who meets a file that is not known can tell a renamed
-- one from another sender's. A release that knows nothing of it leaves it empty: nothing is then taken for renamed.

alter table documents add column source_root text not null default '';
