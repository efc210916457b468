"""Databases that tests use one after the other, emptied behind each: a copy of the template costs ten times as much.

A database is used again only when it is as the template is, by its catalogue; whatever else was changed ends with it.
"""

from __future__ import annotations

import uuid
from typing import Any

import psycopg

from sourcier.services.stack.servers.postgres import PostgresServer

BYTES_MAX = 40_000_000
"""Of a database that is used again; the template has some 12 million, and what is deleted is not given back."""

_TABLES = """
select format('%I.%I', namespace.nspname, class.relname)
from pg_class as class join pg_namespace as namespace on namespace.oid = class.relnamespace
where class.relkind = 'r' and namespace.nspname not like 'pg\\_%' and namespace.nspname <> 'information_schema'
order by 1
"""
_ADDED_LATER = """
select format('%%I.%%I', namespace.nspname, class.relname)
from pg_class as class join pg_namespace as namespace on namespace.oid = class.relnamespace
where class.relkind in ('r', 'p') and namespace.nspname not like 'pg\\_%%' and namespace.nspname <> 'information_schema'
  and class.oid <> all(%s::oid[])
order by class.relkind
"""
_OIDS = """
select array_agg(class.oid)
from pg_class as class join pg_namespace as namespace on namespace.oid = class.relnamespace
where class.relkind in ('r', 'p') and namespace.nspname not like 'pg\\_%' and namespace.nspname <> 'information_schema'
"""
# What a change of the schema writes anew; truncation writes pg_class, so of that the columns that it leaves. And which
# tables the planner has statistics of: what it plans with some of another test's is no plan of an empty database.
_CATALOGUE = """
select concat_ws(
    ' ',
    (select md5(string_agg(concat_ws(' ', relname, relkind, relrowsecurity, relforcerowsecurity, reloptions), ','
                           order by oid))
     from pg_class where oid >= 16384),
    (select count(*) from pg_class where oid >= 16384 and relkind = 'r' and reltuples > 0),
    (select concat(count(*), ' ', sum(xmin::text::bigint)) from pg_attribute where attrelid >= 16384 and attnum > 0),
    (select concat(count(*), ' ', sum(xmin::text::bigint)) from pg_attrdef),
    (select concat(count(*), ' ', sum(xmin::text::bigint)) from pg_constraint where oid >= 16384),
    (select concat(count(*), ' ', sum(xmin::text::bigint)) from pg_policy),
    (select concat(count(*), ' ', sum(xmin::text::bigint)) from pg_proc where oid >= 16384),
    (select concat(count(*), ' ', sum(xmin::text::bigint)) from pg_trigger),
    (select concat(count(*), ' ', sum(xmin::text::bigint)) from pg_namespace where oid >= 16384),
    (select concat(count(*), ' ', sum(xmin::text::bigint)) from pg_db_role_setting)
)
"""
_SEQUENCES_BACK = """
select setval(format('%I.%I', schemaname, sequencename), start_value, false) from pg_sequences
where last_value is not null and schemaname not like 'pg\\_%'
"""
_BYTES = "select pg_database_size(current_database())"
_OTHERS_ENDED = """
select pg_terminate_backend(pid, 2000) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid()
"""


class CleanDatabases:
    """The databases of one server that no test uses now."""

    def __init__(self, server: PostgresServer, *, template: str) -> None:
        """Copy `template`, a database of this server, whenever none is free."""
        self._server = server
        self._template = template
        self._free: list[tuple[str, str]] = []
        self._like: dict[str, str] = {}
        """How each database was when it was new: its tables and what its catalogue came to."""
        self._tables: dict[str, list[int]] = {}
        self._kept_rows: dict[str, int] | None = None
        """Tables of the template that hold rows, and how many: what a test does to them ends its database."""

    async def take(self) -> tuple[str, str]:
        """Return the name and the URL of a database that is as the template."""
        if self._free:
            return self._free.pop()
        name = f"test_{uuid.uuid4().hex[:12]}"
        url = await self._server.create_database(name, template=self._template)
        async with await self._connect(name) as connection:
            self._like[name] = await _value(connection, _CATALOGUE)
            self._tables[name] = await _value(connection, _OIDS)
            if self._kept_rows is None:
                tables = [table for (table,) in await (await connection.execute(_TABLES.encode())).fetchall()]
                rows = {table: await _value(connection, f"select count(*) from {table}") for table in tables}
                self._kept_rows = {table: count for table, count in rows.items() if count}
        return name, url

    async def give_back(self, name: str, url: str) -> None:
        """Empty a database for the next test; drop it where it is not as it was."""
        async with await self._connect(name) as connection:
            clean = await self._cleaned(name, connection)
        if clean:
            self._free.append((name, url))
        else:
            await self._server.drop_database(name)

    async def _cleaned(self, name: str, connection: psycopg.AsyncConnection) -> bool:
        assert self._kept_rows is not None
        await connection.execute(_OTHERS_ENDED.encode())
        try:
            cursor = await connection.execute(_ADDED_LATER.encode(), (self._tables[name],))
            for (table,) in await cursor.fetchall():
                await connection.execute(f"drop table if exists {table} cascade".encode())
            tables = [table for (table,) in await (await connection.execute(_TABLES.encode())).fetchall()]
            looks = " union all ".join(
                f"select '{table}' where exists (select from {table})" for table in tables
                if table not in self._kept_rows
            )
            filled = [table for (table,) in await (await connection.execute(looks.encode())).fetchall()]
            for table in filled:
                # To truncate a few rows costs ten times as much; triggers and foreign keys sleep.
                await connection.execute(f"delete from {table}".encode())
            await connection.execute(_SEQUENCES_BACK.encode())
            if await _value(connection, _BYTES) > BYTES_MAX:
                return False
            for table, count in self._kept_rows.items():
                if await _value(connection, f"select count(*) from {table}") != count:
                    return False
            await connection.execute(b"select pg_stat_reset()")
            return bool(await _value(connection, _CATALOGUE) == self._like[name])
        except psycopg.Error:
            return False

    async def _connect(self, name: str) -> psycopg.AsyncConnection:
        connection = await psycopg.AsyncConnection.connect(self._server.superuser_url, dbname=name, autocommit=True)
        await connection.execute(b"set statement_timeout = '10s'; set session_replication_role = replica")
        return connection


async def _value(connection: psycopg.AsyncConnection, query: str) -> Any:
    row = await (await connection.execute(query.encode())).fetchone()
    assert row is not None
    return row[0]
