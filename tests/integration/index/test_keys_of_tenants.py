"""Keys carry their tenant: two tenants use the same ids in every table there is, and neither sees or hinders the other.

Tables, columns and keys are read from the catalogue, so that a table that is added later is covered.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, LiteralString

import psycopg
import pytest
from psycopg import sql

from sourcier.services.chassis.ids import new_id
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Connection, Database
from sourcier.services.index.lexical.entries import SHOW_ALL_ENTRIES
from sourcier.services.index.spaces.partitions import ensure_partition
from sourcier.services.index.spaces.spaces import ensure_space, get_space
from tests.integration.index.writer import DIMENSION, SPACE

TENANTS = ("acme", "other")
BEFORE = "space-before"
"""A second space: a collection moves from one to another."""

NEVER_CHANGED = "lexical_entries"
"""Entries are inserted and deleted; their row security lets nobody change one."""

KEYS = """
select table_.relname, key.relname, array(
    select attname from pg_attribute where attrelid = table_.oid and attnum = any(indkey)
)
from pg_index
join pg_class as key on key.oid = indexrelid
join pg_class as table_ on table_.oid = indrelid
join pg_attribute on pg_attribute.attrelid = table_.oid and attname = 'tenant'
where indisunique and table_.relnamespace = current_schema()::regnamespace
"""

FOREIGN_KEYS = """
select child.relname, conname
from pg_constraint
join pg_class as child on child.oid = conrelid
join pg_class as parent on parent.oid = confrelid
join pg_attribute as own on own.attrelid = child.oid and own.attname = 'tenant'
join pg_attribute as referenced on referenced.attrelid = parent.oid and referenced.attname = 'tenant'
where contype = 'f' and child.relnamespace = current_schema()::regnamespace and confrelid <> 'tenants'::regclass
  and (not own.attnum = any(conkey) or not referenced.attnum = any(confkey) or not convalidated)
"""

COLUMNS = """
select attname, format_type(atttypid, -1), attidentity <> '', (
    select pg_get_constraintdef(pg_constraint.oid) from pg_constraint
    where conrelid = attrelid and contype = 'c' and conkey = array[attnum] limit 1
)
from pg_attribute
where attrelid = %s::regclass and attnum > 0 and not attisdropped and (attnotnull or attname = 'collection_id')
order by attnum
"""

TABLES = """
select relname, array(
    select confrelid::regclass::text from pg_constraint where conrelid = pg_class.oid and contype = 'f'
)
from pg_class
join pg_attribute on attrelid = pg_class.oid and attname = 'tenant'
where relkind in ('r', 'p') and not relispartition and relnamespace = current_schema()::regnamespace
  and relname not in ('tenants', %(other_spaces)s)
"""


@dataclass(frozen=True)
class _Table:
    name: str
    columns: dict[str, Any]
    """A value for each column that needs one; the same ids for every tenant."""
    identity: bool
    parents: set[str]

    def insertion(self, tenant: str) -> tuple[sql.Composed, Sequence[Any]]:
        values = self.columns | {"tenant": tenant}
        statement = sql.SQL("insert into {} ({}) {} values ({})").format(
            sql.Identifier(self.name), sql.SQL(", ").join(map(sql.Identifier, values)),
            sql.SQL("overriding system value" if self.identity else ""),
            sql.SQL(", ").join(sql.Placeholder() for _ in values),
        )
        return statement, list(values.values())


async def test_every_key_of_a_tenants_table_has_the_tenant(database: Database) -> None:
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        keys = await (await connection.execute(KEYS)).fetchall()
        foreign_keys = await (await connection.execute(FOREIGN_KEYS)).fetchall()
    assert len(keys) >= 40
    assert [key for table, key, columns in keys if "tenant" not in columns] == []
    assert foreign_keys == []


async def test_two_tenants_use_the_same_ids_in_every_table(database: Database) -> None:
    tables = await _tables(database)
    assert len(tables) >= 30
    for tenant in TENANTS:
        await _insert(database, tables, tenant=tenant)
    # Each reads its own row alone, and changes it; the other's is not there for it.
    for tenant in TENANTS:
        async with database.transaction(tenant=tenant) as connection:
            await connection.execute(SHOW_ALL_ENTRIES)
            for table in tables:
                assert await _tenants_found(connection, table) == [tenant], table.name
                if table.name != NEVER_CHANGED:
                    assert await _count(connection, table, "update {} set tenant = tenant") == 1, table.name


@pytest.mark.parametrize("children_first", [True, False])
async def test_what_a_tenant_deletes_takes_nothing_of_anothers_along(
    database: Database, children_first: bool
) -> None:
    """Parents first, cascades reach all that is below them; children first, each is deleted for itself."""
    tables = await _tables(database)
    for tenant in TENANTS:
        await _insert(database, tables, tenant=tenant)
    async with database.transaction(tenant="acme") as connection:
        await connection.execute(SHOW_ALL_ENTRIES)
        # What people validated outlives its collection: that deletion is refused.
        await connection.execute("delete from agents")
        for table in reversed(tables) if children_first else tables:
            await _count(connection, table, "delete from {}")
        for table in tables:
            assert await _tenants_found(connection, table) == [], table.name
    async with database.transaction(tenant="other") as connection:
        await connection.execute(SHOW_ALL_ENTRIES)
        for table in tables:
            assert await _tenants_found(connection, table) == ["other"], table.name


async def test_no_tenant_writes_rows_of_another(database: Database) -> None:
    tables = await _tables(database)
    async with database.transaction(tenant="other") as connection:
        for table in tables:
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                await _refused(connection, table, tenant="acme")


async def test_no_row_lies_below_another_tenants(database: Database) -> None:
    """A parent that only another tenant has is refused as one that nobody has is."""
    tables = await _tables(database)
    await _insert(database, tables, tenant="acme")
    below = [table for table in tables if table.parents & {each.name for each in tables}]
    assert len(below) >= 15
    async with database.transaction(tenant="other") as connection:
        for table in below:
            with pytest.raises(psycopg.errors.ForeignKeyViolation) as theirs:
                await _refused(connection, table, tenant="other")
            assert theirs.value.diag.message_detail is None or "acme" not in theirs.value.diag.message_detail


async def _insert(database: Database, tables: Sequence[_Table], *, tenant: str) -> None:
    async with database.transaction(tenant=tenant) as connection:
        for table in tables:
            await connection.execute(*table.insertion(tenant))
            if table.name == "erasures":  # an open one refuses what is new of its tenant
                await connection.execute("update erasures set finished_at = now()")


async def _refused(connection: Connection, table: _Table, *, tenant: str) -> None:
    async with connection.transaction():
        await connection.execute(*table.insertion(tenant))


async def _tables(database: Database) -> list[_Table]:
    """Return every table of tenants, parents first, with a row for each."""
    ids: dict[str, Any] = {}
    before = replace(SPACE, space_id=BEFORE)
    async with database.transaction(tenant=ALL_TENANTS) as connection:
        await ensure_space(connection, before)
        space = await ensure_space(connection, SPACE)
        for tenant in TENANTS:
            await connection.execute("insert into tenants (tenant) values (%s)", (tenant,))
            await ensure_partition(connection, vectors_table=space.vectors_table, tenant=tenant)
        cursor = await connection.execute(TABLES, {"other_spaces": (await get_space(connection, BEFORE)).vectors_table})
        found = {name: set(parents) - {name} for name, parents in await cursor.fetchall()}
        ordered: list[str] = []
        while len(ordered) < len(found):
            ordered += sorted(
                name for name, parents in found.items()
                if name not in ordered and not (parents & set(found)) - set(ordered)
            )
        return [await _table(connection, name, ids, parents=found[name]) for name in ordered]


async def _table(connection: Connection, name: str, ids: dict[str, Any], *, parents: set[str]) -> _Table:
    columns, identity = {}, False
    for column, kind, is_identity, check in await (await connection.execute(COLUMNS, (name,))).fetchall():
        identity = identity or is_identity
        if column == "space_id":
            value: Any = SPACE.space_id
        elif column == "from_space_id":
            value = BEFORE
        elif kind == "uuid":
            # Of a relation between two documents both may be the one that there is.
            value = ids.setdefault("document_id" if column == "other_id" else column, new_id())
        else:
            value = _value(kind, check)
        columns[column] = value
    return _Table(name, columns, identity, parents)


def _value(kind: str, check: str | None) -> Any:
    """Return what a column of a kind may hold; of a list of words that it may, the first."""
    if kind == "text" and check is not None and "'" in check:
        return check.split("'")[1]
    return {
        "text": "x", "integer": 7, "bigint": 987_654, "smallint": 1, "real": 0.5, "boolean": False, "bytea": b"x",
        "jsonb": "{}", "date": "2026-01-31", "timestamp with time zone": "2026-01-31T12:00:00+00:00",
        "text[]": ["x"], "integer[]": [1],
        "tsvector": "'x'", "sparsevec": "{1:1}/1000000", "halfvec": str([0.25] * DIMENSION),
    }[kind]


async def _tenants_found(connection: Connection, table: _Table) -> list[str]:
    cursor = await connection.execute(sql.SQL("select tenant from {}").format(sql.Identifier(table.name)))
    return [tenant for (tenant,) in await cursor.fetchall()]


async def _count(connection: Connection, table: _Table, statement: LiteralString) -> int:
    return (await connection.execute(sql.SQL(statement).format(sql.Identifier(table.name)))).rowcount
