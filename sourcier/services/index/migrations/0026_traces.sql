-- The step of a trace that accepted a version: the pipeline begins outside of any call, and goes on with that trace.

alter table document_versions add column traceparent text not null default '';
