"""What the planner knows of the tables, kept near the truth while they grow from nothing.

A table that was never analysed is planned for as if it had no more than a page or two: an index on the tenant looks as
good as one on the key, and a plan that is made once and kept reads all of a tenant's rows for each one it is after.
Autovacuum looks once a minute at most, and later where it is busy; a load of documents makes thousands of rows by then.
"""

from __future__ import annotations

from psycopg import sql

from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database

ROWS_MIN = 100
"""Smaller tables are read quickly in any way."""


async def refresh(database: Database, *, rows_min: int = ROWS_MIN) -> list[str]:
    """Analyse the tables that have more than doubled since they were last analysed; return their names.

    That is once for each doubling, a sample of 30,000 rows at most; what changes in tables that grow slower is
    autovacuum's to look at. A table that another process analyses or alters at the moment is left to it, and one that
    this role does not own to its owner.
    """
    async with database.autocommit(tenant=ALL_TENANTS, timeouts=False) as connection:
        cursor = await connection.execute(GROWN, {"rows_min": rows_min})
        names = [str(name) for (name,) in await cursor.fetchall()]
        for name in names:
            await connection.execute(sql.SQL("analyze (skip_locked) {}").format(sql.Identifier(name)))
    return names


GROWN = """
select seen.relname
from pg_stat_user_tables as seen
join pg_class as known on known.oid = seen.relid
where seen.schemaname = current_schema() and known.relkind = 'r' and pg_has_role(known.relowner, 'usage')
  and seen.n_mod_since_analyze >= %(rows_min)s
  and seen.n_live_tup >= greatest(%(rows_min)s, 2 * known.reltuples)
order by seen.relname
"""
