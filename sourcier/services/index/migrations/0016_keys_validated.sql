-- The rows that were there before the keys had their tenant are checked; reading and writing go on.
select set_config('sourcier.tenant', '*', true);

alter table agents validate constraint agents_collection_id_fkey;
alter table build_manifests validate constraint build_manifests_collection_id_fkey;
alter table collection_statistics validate constraint collection_statistics_collection_id_fkey;
alter table deployments validate constraint deployments_agent_id_fkey;
alter table document_versions validate constraint document_versions_document_id_fkey;
alter table documents validate constraint documents_collection_id_fkey;
alter table learned_response_sources validate constraint learned_response_sources_response_id_fkey;
alter table learned_response_vectors validate constraint learned_response_vectors_agent_id_fkey;
alter table learned_response_vectors validate constraint learned_response_vectors_response_id_fkey;
alter table learned_responses validate constraint learned_responses_agent_id_fkey;
alter table lexeme_frequencies validate constraint lexeme_frequencies_collection_id_fkey;
alter table messages validate constraint messages_conversation_id_fkey;
alter table objects validate constraint objects_collection_id_fkey;
alter table ratings validate constraint ratings_message_id_fkey;
alter table space_builds validate constraint space_builds_collection_id_fkey;
alter table space_gaps validate constraint space_gaps_document_id_fkey;
alter table staged_batches validate constraint staged_batches_version_id_fkey;
alter table unit_builds validate constraint unit_builds_collection_id_fkey;
alter table unit_gaps validate constraint unit_gaps_unit_id_fkey;
alter table unit_pairs validate constraint unit_pairs_unit_id_fkey;
alter table unit_points validate constraint unit_points_unit_id_fkey;
alter table units validate constraint units_build_id_fkey;
