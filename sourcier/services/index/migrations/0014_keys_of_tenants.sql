-- Keys of the tenants' tables get their tenant, so that an id that one tenant uses is nothing to any other: indexes first,
-- which reading does not wait for. The id stays the first column: most statements look for ids, and the row security,
-- which knows the tenant, is no condition that an index is searched by.

create unique index agents_key_of_tenant on agents (agent_id, tenant);
create unique index build_manifests_key_of_tenant on build_manifests (collection_id, tenant);
create unique index chunks_key_of_tenant on chunks (chunk_id, tenant);
create unique index collection_statistics_key_of_tenant on collection_statistics (collection_id, tenant);
create unique index collections_key_of_tenant on collections (collection_id, tenant);
create unique index conversations_key_of_tenant on conversations (conversation_id, tenant);
create unique index dead_letters_key_of_tenant on dead_letters (dead_letter_id, tenant);
create unique index deployments_key_of_tenant on deployments (deployment_id, tenant);
create unique index document_versions_key_of_tenant on document_versions (version_id, tenant);
create unique index documents_key_of_tenant on documents (document_id, tenant);
create unique index file_removals_key_of_tenant on file_removals (removal_id, tenant);
create unique index jobs_key_of_tenant on jobs (job_id, tenant);
create unique index learned_response_sources_key_of_tenant on learned_response_sources (response_id, document_id, tenant);
create unique index learned_response_vectors_key_of_tenant on learned_response_vectors (agent_id, space_id, response_id, tenant);
create unique index learned_responses_key_of_tenant on learned_responses (response_id, tenant);
create unique index lexeme_frequencies_key_of_tenant on lexeme_frequencies (collection_id, lexeme, tenant);
create unique index lexical_changes_key_of_tenant on lexical_changes (change_id, tenant);
create unique index lexical_entries_key_of_tenant on lexical_entries (chunk_id, tenant);
create unique index listed_objects_key_of_tenant on listed_objects (reconciliation_id, key, tenant);
create unique index messages_key_of_tenant on messages (message_id, tenant);
create unique index outbox_key_of_tenant on outbox (outbox_id, tenant);
create unique index ratings_key_of_tenant on ratings (message_id, tenant);
create unique index reconciliations_key_of_tenant on reconciliations (reconciliation_id, tenant);
create unique index space_builds_key_of_tenant on space_builds (build_id, tenant);
create unique index space_gaps_key_of_tenant on space_gaps (document_id, tenant);
create unique index staged_batches_key_of_tenant on staged_batches (version_id, batch_no, tenant);
create unique index unit_builds_key_of_tenant on unit_builds (build_id, tenant);
create unique index unit_gaps_key_of_tenant on unit_gaps (unit_id, space_id, tenant);
create unique index unit_pairs_key_of_tenant on unit_pairs (pair_id, tenant);
create unique index unit_points_key_of_tenant on unit_points (space_id, kind, subject_id, tenant);
create unique index units_key_of_tenant on units (unit_id, tenant);

create unique index collections_number_key_of_tenant on collections (number, tenant);
create unique index document_versions_document_id_generation_key_of_tenant on document_versions (document_id, generation, tenant);
create unique index messages_conversation_id_position_key_of_tenant on messages (conversation_id, position, tenant);
create unique index chunks_by_document_of_tenant on chunks (document_id, chunk_index, tenant);
create unique index dead_letters_open_of_tenant on dead_letters (version_id, stage, sha256(payload), tenant)
    where state = 'open';
create unique index learned_responses_by_question_of_tenant on learned_responses (agent_id, question_key, tenant)
    where state <> 'retired';
create unique index space_builds_open_of_tenant on space_builds (collection_id, tenant)
    where state in ('building', 'ready', 'live', 'failed');
create unique index unit_builds_building_of_tenant on unit_builds (collection_id, tenant)
    where state = 'building';
create unique index unit_builds_live_of_tenant on unit_builds (collection_id, tenant)
    where state = 'live';
