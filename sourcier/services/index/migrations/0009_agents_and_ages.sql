-- Who searches for an agent's answers, and agents for which the language model reads no chunk.

-- Null leaves it to the service.
alter table agents add column mode text check (mode in ('injection', 'tools'));

alter table agents drop constraint agents_indexing_method_check;
alter table agents add constraint agents_indexing_method_check
    check (indexing_method in ('qa_atomic', 'classic', 'none'));

-- What a filter by category looks for.
create index units_by_category on units (tenant, category) where category <> '';

-- Conversations that nobody has used for long are deleted, the oldest first.
create index conversations_by_use on conversations (updated_at);
