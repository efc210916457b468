-- What is read by rule from a document's version stands in its row, and a release that knows nothing of it switches to
-- another version all the same: beside a newer one while an upgrade lasts, or after it was taken back. What was read of
-- the version before is then forgotten, so that it says nothing of this one, and read again beside the index.

alter table documents add column derived_version uuid;
-- The version that these columns were read from, set with them:
-- times_rules, relations_found, dated_from, dated_to, holds_from, holds_until, acronym_rules, language.

create function forget_derived() returns trigger language plpgsql as $$
begin
    new.times_rules := 0;
    new.relations_found := false;
    new.dated_from := null;
    new.dated_to := null;
    new.holds_from := null;
    new.holds_until := null;
    new.acronym_rules := 0;
    new.language := null;
    delete from acronyms where document_id = new.document_id and tenant = new.tenant;
    return new;
end
$$;

create trigger forgotten_derived before update of current_version on documents for each row
when (new.current_version is distinct from old.current_version
      and new.derived_version is distinct from new.current_version)
execute function forget_derived();
