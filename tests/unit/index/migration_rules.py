"""What a migration may do to the release before it, whose services go on reading and writing while it is applied."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

LARGE = frozenset({
    "chunks", "lexical_entries", "staged_chunks", "document_versions", "jobs", "messages", "units", "unit_pairs",
})
"""Tables with rows by passage, by version or by message: an index on them is made while nobody can write."""

_COMMENT = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_TEXT = re.compile(r"'(?:[^']|'')*'")
_BODY = re.compile(r"(\$\w*\$).*?\1", re.DOTALL)
_CREATED = re.compile(r"create (?:unlogged )?table (?:if not exists )?(\S+)")
_ALTERED = re.compile(r"alter table (?:if exists )?(?:only )?(\S+) (.*)")
_ON = re.compile(r" on (?:only )?([^\s(]+)")
_CONSTRAINT = re.compile(r"add (?:constraint|check|unique|primary key|foreign key|exclude)\b")
_COLUMN = re.compile(r"add (?:column )?(?:if not exists )?(\S+) (.*)")
_ALTER_COLUMN = re.compile(r"alter (?:column )?(\S+) (.*)")
_NARROWS = re.compile(r"(?:set data )?type |set not null|drop default")
_DROP = re.compile(r"drop (table|materialized view|view|function|procedure|type|domain|schema|sequence|extension|index)"
                   r" (?:concurrently )?(?:if exists )?(.+)")
_ROWS = re.compile(r"(?:delete from|truncate(?: table)?) (?:only )?(\S+)")


@dataclass(frozen=True, slots=True)
class Breach:
    """A statement that the services of the release before may not survive, or would have to wait for."""

    rule: str
    subject: str


def breaches(migration: str) -> list[Breach]:
    """Return what a migration does that breaks the release before it."""
    made: set[str] = set()
    found: list[Breach] = []
    for statement in _statements(migration):
        if created := _CREATED.match(statement):
            made.add(_name(created[1]))
            continue
        found += [each for each in _breaches_of(statement) if _table_of(each.subject) not in made]
    return found


def _statements(migration: str) -> Iterator[str]:
    """Yield statements in one line each and in small letters, without comments, texts and bodies of functions."""
    text = _TEXT.sub("''", _BODY.sub("$$", _COMMENT.sub(" ", migration)))
    for statement in text.lower().split(";"):
        if words := " ".join(statement.split()):
            yield words


def _breaches_of(statement: str) -> Iterator[Breach]:
    if altered := _ALTERED.match(statement):
        for action in _top_level(altered[2]):
            if rule := _rule_of_action(action):
                yield Breach(rule, f"{_name(altered[1])}: {action}")
    elif dropped := _DROP.match(statement):
        yield Breach(f"drops a{'n' if dropped[1][0] in 'aei' else ''} {dropped[1]}", dropped[2])
    elif rows := _ROWS.match(statement):
        yield Breach("deletes rows", _name(rows[1]))
    elif statement.startswith(("do ", "execute ")):
        yield Breach("runs statements that nobody can read here", statement)
    elif statement.startswith(("revoke ", "alter type ", "alter domain ", "alter policy ", "create or replace ")):
        yield Breach("changes what is used", statement)
    elif statement.startswith("alter ") and " rename " in statement and not statement.startswith("alter index "):
        yield Breach("renames", statement)
    elif (on := _ON.search(statement)) and (rule := _rule_of_creation(statement, _name(on[1]))):
        yield Breach(rule, f"{_name(on[1])}: {statement}")


def _rule_of_action(action: str) -> str:
    """Return which rule an action of `alter table` breaks; empty for none."""
    if action.startswith(("rename", "set schema")):
        return "renames"
    if action.startswith("drop"):
        return "drops a constraint" if action.startswith("drop constraint") else "drops a column"
    if _CONSTRAINT.match(action):
        return "adds a constraint"
    if action.startswith(("enable row", "force row", "enable trigger", "attach ", "detach ")):
        return "changes who sees what"
    if column := _COLUMN.match(action):
        constrained = re.search(r"\bnot null\b|\bprimary key\b", column[2])
        return "adds a column that has to be given" if constrained and not re.search(
            r"\bdefault\b|\bgenerated\b", column[2]
        ) else ""
    if (column := _ALTER_COLUMN.match(action)) and _NARROWS.match(column[2]):
        return "narrows a column"
    return ""


def _rule_of_creation(statement: str, table: str) -> str:
    """Return which rule something that is created on a table breaks; empty for none."""
    if statement.startswith("create unique index"):
        return "adds a constraint"
    if statement.startswith("create index") and table in LARGE:
        return "holds up writers of a large table"
    if statement.startswith(("create trigger", "create constraint trigger", "create rule")):
        return "acts on what is written"
    if statement.startswith("create policy"):
        return "changes who sees what"
    return ""


def _top_level(actions: str) -> Iterator[str]:
    """Yield actions that commas outside of parentheses part."""
    depth, begun = 0, 0
    for place, letter in enumerate(actions):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            yield actions[begun:place].strip()
            begun = place + 1
    yield actions[begun:].strip()


def _table_of(subject: str) -> str:
    return subject.partition(":")[0]


def _name(written: str) -> str:
    return written.partition("(")[0].strip('"').rpartition(".")[2]
