-- What sweeps look for, so that none of them reads a table that grows with the corpus.

-- Jobs that ended, the oldest first.
create index jobs_by_end on jobs (finished_at, job_id) where status in ('completed', 'failed');

create index dead_letters_closed on dead_letters (failed_at) where state <> 'open';
