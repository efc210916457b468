-- The indexes of the migration before become the keys. Nothing is read here but the catalogue: it takes milliseconds.

alter table agents drop constraint agents_collection_id_fkey;
alter table build_manifests drop constraint build_manifests_collection_id_fkey;
alter table collection_statistics drop constraint collection_statistics_collection_id_fkey;
alter table deployments drop constraint deployments_agent_id_fkey;
alter table document_versions drop constraint document_versions_document_id_fkey;
alter table documents drop constraint documents_collection_id_fkey;
alter table learned_response_sources drop constraint learned_response_sources_response_id_fkey;
alter table learned_response_vectors drop constraint learned_response_vectors_agent_id_fkey;
alter table learned_response_vectors drop constraint learned_response_vectors_response_id_fkey;
alter table learned_responses drop constraint learned_responses_agent_id_fkey;
alter table lexeme_frequencies drop constraint lexeme_frequencies_collection_id_fkey;
alter table messages drop constraint messages_conversation_id_fkey;
alter table objects drop constraint objects_collection_id_fkey;
alter table ratings drop constraint ratings_message_id_fkey;
alter table space_builds drop constraint space_builds_collection_id_fkey;
alter table space_gaps drop constraint space_gaps_document_id_fkey;
alter table staged_batches drop constraint staged_batches_version_id_fkey;
alter table unit_builds drop constraint unit_builds_collection_id_fkey;
alter table unit_gaps drop constraint unit_gaps_unit_id_fkey;
alter table unit_pairs drop constraint unit_pairs_unit_id_fkey;
alter table unit_points drop constraint unit_points_unit_id_fkey;
alter table units drop constraint units_build_id_fkey;

alter table agents
    drop constraint agents_pkey,
    add constraint agents_pkey primary key using index agents_key_of_tenant;
alter table build_manifests
    drop constraint build_manifests_pkey,
    add constraint build_manifests_pkey primary key using index build_manifests_key_of_tenant;
alter table chunks
    drop constraint chunks_pkey,
    add constraint chunks_pkey primary key using index chunks_key_of_tenant;
alter table collection_statistics
    drop constraint collection_statistics_pkey,
    add constraint collection_statistics_pkey primary key using index collection_statistics_key_of_tenant;
alter table collections
    drop constraint collections_pkey,
    add constraint collections_pkey primary key using index collections_key_of_tenant;
alter table conversations
    drop constraint conversations_pkey,
    add constraint conversations_pkey primary key using index conversations_key_of_tenant;
alter table dead_letters
    drop constraint dead_letters_pkey,
    add constraint dead_letters_pkey primary key using index dead_letters_key_of_tenant;
alter table deployments
    drop constraint deployments_pkey,
    add constraint deployments_pkey primary key using index deployments_key_of_tenant;
alter table document_versions
    drop constraint document_versions_pkey,
    add constraint document_versions_pkey primary key using index document_versions_key_of_tenant;
alter table documents
    drop constraint documents_pkey,
    add constraint documents_pkey primary key using index documents_key_of_tenant;
alter table file_removals
    drop constraint file_removals_pkey,
    add constraint file_removals_pkey primary key using index file_removals_key_of_tenant;
alter table jobs
    drop constraint jobs_pkey,
    add constraint jobs_pkey primary key using index jobs_key_of_tenant;
alter table learned_response_sources
    drop constraint learned_response_sources_pkey,
    add constraint learned_response_sources_pkey primary key using index learned_response_sources_key_of_tenant;
alter table learned_response_vectors
    drop constraint learned_response_vectors_pkey,
    add constraint learned_response_vectors_pkey primary key using index learned_response_vectors_key_of_tenant;
alter table learned_responses
    drop constraint learned_responses_pkey,
    add constraint learned_responses_pkey primary key using index learned_responses_key_of_tenant;
alter table lexeme_frequencies
    drop constraint lexeme_frequencies_pkey,
    add constraint lexeme_frequencies_pkey primary key using index lexeme_frequencies_key_of_tenant;
alter table lexical_changes
    drop constraint lexical_changes_pkey,
    add constraint lexical_changes_pkey primary key using index lexical_changes_key_of_tenant;
alter table lexical_entries
    drop constraint lexical_entries_pkey,
    add constraint lexical_entries_pkey primary key using index lexical_entries_key_of_tenant;
alter table listed_objects
    drop constraint listed_objects_pkey,
    add constraint listed_objects_pkey primary key using index listed_objects_key_of_tenant;
alter table messages
    drop constraint messages_pkey,
    add constraint messages_pkey primary key using index messages_key_of_tenant;
alter table outbox
    drop constraint outbox_pkey,
    add constraint outbox_pkey primary key using index outbox_key_of_tenant;
alter table ratings
    drop constraint ratings_pkey,
    add constraint ratings_pkey primary key using index ratings_key_of_tenant;
alter table reconciliations
    drop constraint reconciliations_pkey,
    add constraint reconciliations_pkey primary key using index reconciliations_key_of_tenant;
alter table space_builds
    drop constraint space_builds_pkey,
    add constraint space_builds_pkey primary key using index space_builds_key_of_tenant;
alter table space_gaps
    drop constraint space_gaps_pkey,
    add constraint space_gaps_pkey primary key using index space_gaps_key_of_tenant;
alter table staged_batches
    drop constraint staged_batches_pkey,
    add constraint staged_batches_pkey primary key using index staged_batches_key_of_tenant;
alter table unit_builds
    drop constraint unit_builds_pkey,
    add constraint unit_builds_pkey primary key using index unit_builds_key_of_tenant;
alter table unit_gaps
    drop constraint unit_gaps_pkey,
    add constraint unit_gaps_pkey primary key using index unit_gaps_key_of_tenant;
alter table unit_pairs
    drop constraint unit_pairs_pkey,
    add constraint unit_pairs_pkey primary key using index unit_pairs_key_of_tenant;
alter table unit_points
    drop constraint unit_points_pkey,
    add constraint unit_points_pkey primary key using index unit_points_key_of_tenant;
alter table units
    drop constraint units_pkey,
    add constraint units_pkey primary key using index units_key_of_tenant;

alter table collections
    drop constraint collections_number_key,
    add constraint collections_number_key unique using index collections_number_key_of_tenant;
alter table document_versions
    drop constraint document_versions_document_id_generation_key,
    add constraint document_versions_document_id_generation_key unique using index document_versions_document_id_generation_key_of_tenant;
alter table messages
    drop constraint messages_conversation_id_position_key,
    add constraint messages_conversation_id_position_key unique using index messages_conversation_id_position_key_of_tenant;

drop index chunks_by_document;
alter index chunks_by_document_of_tenant rename to chunks_by_document;
drop index dead_letters_open;
alter index dead_letters_open_of_tenant rename to dead_letters_open;
drop index learned_responses_by_question;
alter index learned_responses_by_question_of_tenant rename to learned_responses_by_question;
drop index space_builds_open;
alter index space_builds_open_of_tenant rename to space_builds_open;
drop index unit_builds_building;
alter index unit_builds_building_of_tenant rename to unit_builds_building;
drop index unit_builds_live;
alter index unit_builds_live_of_tenant rename to unit_builds_live;

-- Not valid: the rows that are there are looked at by the migration after, while all goes on.
alter table agents add constraint agents_collection_id_fkey foreign key (collection_id, tenant)
    references collections (collection_id, tenant) not valid;
alter table build_manifests add constraint build_manifests_collection_id_fkey foreign key (collection_id, tenant)
    references collections (collection_id, tenant) on delete cascade not valid;
alter table collection_statistics add constraint collection_statistics_collection_id_fkey foreign key (collection_id, tenant)
    references collections (collection_id, tenant) on delete cascade not valid;
alter table deployments add constraint deployments_agent_id_fkey foreign key (agent_id, tenant)
    references agents (agent_id, tenant) on delete cascade not valid;
alter table document_versions add constraint document_versions_document_id_fkey foreign key (document_id, tenant)
    references documents (document_id, tenant) on delete cascade not valid;
alter table documents add constraint documents_collection_id_fkey foreign key (collection_id, tenant)
    references collections (collection_id, tenant) on delete cascade not valid;
alter table learned_response_sources add constraint learned_response_sources_response_id_fkey foreign key (response_id, tenant)
    references learned_responses (response_id, tenant) on delete cascade not valid;
alter table learned_response_vectors add constraint learned_response_vectors_agent_id_fkey foreign key (agent_id, tenant)
    references agents (agent_id, tenant) on delete cascade not valid;
alter table learned_response_vectors add constraint learned_response_vectors_response_id_fkey foreign key (response_id, tenant)
    references learned_responses (response_id, tenant) on delete cascade not valid;
alter table learned_responses add constraint learned_responses_agent_id_fkey foreign key (agent_id, tenant)
    references agents (agent_id, tenant) on delete cascade not valid;
alter table lexeme_frequencies add constraint lexeme_frequencies_collection_id_fkey foreign key (collection_id, tenant)
    references collections (collection_id, tenant) on delete cascade not valid;
alter table messages add constraint messages_conversation_id_fkey foreign key (conversation_id, tenant)
    references conversations (conversation_id, tenant) on delete cascade not valid;
alter table objects add constraint objects_collection_id_fkey foreign key (collection_id, tenant)
    references collections (collection_id, tenant) on delete set null (collection_id) not valid;
alter table ratings add constraint ratings_message_id_fkey foreign key (message_id, tenant)
    references messages (message_id, tenant) on delete cascade not valid;
alter table space_builds add constraint space_builds_collection_id_fkey foreign key (collection_id, tenant)
    references collections (collection_id, tenant) on delete cascade not valid;
alter table space_gaps add constraint space_gaps_document_id_fkey foreign key (document_id, tenant)
    references documents (document_id, tenant) on delete cascade not valid;
alter table staged_batches add constraint staged_batches_version_id_fkey foreign key (version_id, tenant)
    references document_versions (version_id, tenant) on delete cascade not valid;
alter table unit_builds add constraint unit_builds_collection_id_fkey foreign key (collection_id, tenant)
    references collections (collection_id, tenant) on delete cascade not valid;
alter table unit_gaps add constraint unit_gaps_unit_id_fkey foreign key (unit_id, tenant)
    references units (unit_id, tenant) on delete cascade not valid;
alter table unit_pairs add constraint unit_pairs_unit_id_fkey foreign key (unit_id, tenant)
    references units (unit_id, tenant) on delete cascade not valid;
alter table unit_points add constraint unit_points_unit_id_fkey foreign key (unit_id, tenant)
    references units (unit_id, tenant) on delete cascade not valid;
alter table units add constraint units_build_id_fkey foreign key (build_id, tenant)
    references unit_builds (build_id, tenant) on delete cascade not valid;
