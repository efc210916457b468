-- How a collection's passages are searched for, where a request does not say; what is absent is left to the service.
alter table collections add column retrieval jsonb not null default '{}';
