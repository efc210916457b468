"""The parts of a vectors table, one for each tenant: made when a tenant first needs one, found by their parent.

A tenant chooses its name, and PostgreSQL names what belongs to the table (`vectors_…_pkey`) in the same space of names.
Two underscores keep them apart: a tenant's name holds none, and no name that PostgreSQL makes of the table's has two.
"""

from __future__ import annotations

from psycopg import sql

from sourcier.services.chassis.postgres.database import Connection


async def ensure_partition(connection: Connection, *, vectors_table: str, tenant: str) -> None:
    """Make the tenant's part of a vectors table unless it exists."""
    if await find_partition(connection, vectors_table=vectors_table, tenant=tenant) is not None:
        return
    partition = partition_name(vectors_table, tenant)
    await connection.execute(LOCK, (f"sourcier.partition.{partition}",))
    if await find_partition(connection, vectors_table=vectors_table, tenant=tenant) is not None:
        return
    # Created apart and then attached: `partition of` would lock out every search of every tenant.
    statements = sql.SQL(CREATE_PARTITION).format(
        table=sql.Identifier(vectors_table), partition=sql.Identifier(partition), tenant=sql.Literal(tenant)
    )
    await connection.execute(statements)
    await force_row_security(connection, partition)


def partition_name(vectors_table: str, tenant: str) -> str:
    """Return what the tenant's part of a vectors table is called when it is made."""
    return f"{vectors_table}__{tenant}"


async def find_partition(connection: Connection, *, vectors_table: str, tenant: str) -> str | None:
    """Return the name of the tenant's part of a vectors table; None where it has none."""
    cursor = await connection.execute(FIND, {"table": vectors_table, "tenant": tenant})
    row = await cursor.fetchone()
    return None if row is None else str(row[0])


async def force_row_security(connection: Connection, table: str) -> None:
    """Show the rows of a vectors table to their tenant alone, and there to who may see their collection."""
    await connection.execute(sql.SQL(FORCE_ROW_SECURITY).format(table=sql.Identifier(table)))


LOCK = "select pg_advisory_xact_lock(hashtext(current_schema() || %s))"

# The second is what parts were called before: a database keeps those it has.
PARTITION_NAMES = "(({table} || '__' || {tenant})::name, ({table} || '_' || {tenant})::name)"

PARTITION = f"""
select part.relname
from pg_class as part
join pg_inherits on inhrelid = part.oid and inhparent = to_regclass(quote_ident({{table}}))
where part.relname in {PARTITION_NAMES}
"""  # noqa: S608

FIND = PARTITION.format(table="%(table)s", tenant="%(tenant)s")

CREATE_PARTITION = """
create table {partition} (like {table} including storage);
alter table {table} attach partition {partition} for values in ({tenant});
"""

FORCE_ROW_SECURITY = """
alter table {table} enable row level security;
alter table {table} force row level security;
create policy tenant_rows on {table} using (tenant = (select current_setting('sourcier.tenant', true)));
create policy granted_rows on {table} as restrictive using (
    (select current_setting('sourcier.collections', true)) = '*'
    or collection_id = any (
        (select nullif(nullif(current_setting('sourcier.collections', true), '*'), '')::uuid[])::uuid[]
    )
);
"""
