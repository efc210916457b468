-- What the end of a collection's deletion looks for. A foreign key to the collection looks by its id alone, without the
-- tenant that all other indexes begin with, and would read every document and object there is. About a second for a
-- million rows of each, in which searches go on and what is written waits.
create index documents_of_collection on documents (collection_id);
create index objects_by_collection on objects (collection_id);
