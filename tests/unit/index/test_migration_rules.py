"""Each migration leaves the release before it working, or is listed with the reason why that is no matter."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from sourcier.services.chassis.postgres.migrating import read_migrations
from sourcier.services.index.migrations import FOLDER
from tests.unit.index.migration_rules import breaches

DYNAMIC = "runs statements that nobody can read here"
SMALL_THEN = "before the first release: no installation had many rows by then"
NOT_BESIDE = "before the first release: nobody upgraded with both versions running"
OWN_TABLES = "the block makes policies for tables that the migration itself made"
LISTED: Mapping[int, Mapping[str, str]] = {
    1: {DYNAMIC: OWN_TABLES},
    2: {
        "holds up writers of a large table": SMALL_THEN, "adds a constraint": NOT_BESIDE,
        "narrows a column": NOT_BESIDE, "drops a constraint": NOT_BESIDE, DYNAMIC: OWN_TABLES,
    },
    3: {DYNAMIC: OWN_TABLES},
    5: {DYNAMIC: OWN_TABLES},
    6: {DYNAMIC: OWN_TABLES},
    7: {DYNAMIC: OWN_TABLES},
    9: {
        "drops a constraint": "a wider one takes its place", "adds a constraint": "wider than the one before",
        "holds up writers of a large table": SMALL_THEN,
    },
    10: {"drops a table": "nothing used it: ADR 18"},
    11: {"holds up writers of a large table": SMALL_THEN},
    14: {"adds a constraint": "each has the columns of a key that was there, and one more"},
    15: {
        "drops a constraint": "keys and references made anew with the tenant, in the same transaction",
        "adds a constraint": "the indexes of 14, whose columns no statement contradicts",
        "drops an index": "one with the tenant takes its place; inference finds it by the columns that it shares",
    },
    18: {
        "changes who sees what": "without the claims, which the release before does not make, all is seen as before",
        DYNAMIC: "the same policies for each table that a collection owns",
    },
    23: {DYNAMIC: "triggers that refuse what is written for a tenant under erasure, which nothing before begins"},
    27: {"acts on what is written": "it forgets what the release before would leave behind, outdated"},
    28: {DYNAMIC: "a database that holds a space is left as it is; a new one has no release before it"},
}


def test_no_migration_breaks_the_release_before_it_unless_it_is_listed() -> None:
    found = {
        migration.number: {each.rule: each.subject for each in breaches(migration.text)}
        for migration in read_migrations(FOLDER)
    }
    unlisted = {
        number: {rule: subject for rule, subject in rules.items() if rule not in LISTED.get(number, {})}
        for number, rules in found.items()
    }
    assert not {number: rules for number, rules in unlisted.items() if rules}, (
        "add first, and take away a release later (docs/running/upgrading.md); or list it here with its reason"
    )
    stale = {number: rules.keys() - found[number].keys() for number, rules in LISTED.items()}
    assert not {number: rules for number, rules in stale.items() if rules}


@pytest.mark.parametrize(("statement", "rule"), [
    ("drop table agents", "drops a table"),
    ("DROP INDEX CONCURRENTLY IF EXISTS chunks_by_document", "drops an index"),
    ("alter table only documents drop column title", "drops a column"),
    ("alter table documents\n  add column a int, -- harmless\n  drop title", "drops a column"),
    ("alter table documents rename column title to name", "renames"),
    ("alter table documents rename to papers", "renames"),
    ("alter view found rename to seen", "renames"),
    ("alter table documents alter column title set not null", "narrows a column"),
    ("alter table documents alter title type varchar(20)", "narrows a column"),
    ("alter table documents alter column title drop default", "narrows a column"),
    ("alter table documents add column title text not null", "adds a column that has to be given"),
    ("alter table documents add title text primary key", "adds a column that has to be given"),
    ("alter table documents add constraint long check (length(title) > 3) not valid", "adds a constraint"),
    ("alter table documents add unique (title, tenant)", "adds a constraint"),
    ("alter table documents add column a numeric(3, 2), add unique (title)", "adds a constraint"),
    ("create unique index titles on documents (title)", "adds a constraint"),
    ("create unique index concurrently if not exists titles on sourcier.documents (title)", "adds a constraint"),
    ("alter table documents drop constraint documents_pkey", "drops a constraint"),
    ("create index texts on chunks (text)", "holds up writers of a large table"),
    ("create trigger t before insert on documents for each row execute function f()", "acts on what is written"),
    ("create policy p on documents using (false)", "changes who sees what"),
    ("alter table documents force row level security", "changes who sees what"),
    ("delete from jobs where status = 'failed;'", "deletes rows"),
    ("truncate table outbox", "deletes rows"),
    ("do $body$ begin drop table agents; end $body$", DYNAMIC),
    ("alter type kinds rename value 'a' to 'b'", "changes what is used"),
    ("create or replace function f() returns int language sql as $$ select 1 $$", "changes what is used"),
])
def test_what_breaks_the_release_before_is_told(statement: str, rule: str) -> None:
    assert [each.rule for each in breaches(f"-- why\n{statement};")] == [rule]


@pytest.mark.parametrize("statement", [
    "alter table documents add column language text",
    "alter table documents add column rules smallint not null default 0, add column day date",
    "alter table documents add column hash text generated always as (md5(title)) stored not null",
    "create index titles on documents (title) where title <> 'drop table agents;'",
    "create table things (id uuid primary key); create unique index u on things (id); "
    "alter table things add constraint c check (id is not null); create policy p on things using (true); "
    "alter table things enable row level security",
    "create function f() returns trigger language plpgsql as $$ begin delete from acronyms; end $$",
    "alter table documents alter column title set default '', alter column title drop not null",
    "alter table documents validate constraint c",
    "alter index a rename to b",
    "-- drop table agents;\nselect set_config('a', 'b', true)",
    "/* drop table agents; */ select 1",
])
def test_what_only_adds_is_no_breach(statement: str) -> None:
    assert breaches(statement) == []
