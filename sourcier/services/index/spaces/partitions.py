"""The parts of a vectors table: one that small tenants share, and one of its own for each tenant that has grown.

What anybody may create without end costs next to nothing until it is used: a part of its own is three relations, whose
locks every statement over the table takes (ADR 40). Where the table has no shared part, each tenant has its own from
its first vector: so did releases before, and a database keeps the parts that it has.

A tenant chooses its name, and PostgreSQL names what belongs to the table (`vectors_…_pkey`) in the same space of names.
Two underscores keep them apart: a tenant's name holds none, and no name that PostgreSQL makes of the table's has two.
"""

from __future__ import annotations

from psycopg import sql

from sourcier.services.chassis.postgres.database import Connection

SHARED_ROWS_MAX = 2_000
"""A tenant of more rows gets a part of its own: moved in a fraction of a second, while everybody else waits."""
SHARED = "shared_by_small_tenants"
"""No tenant's name: those hold no underscore."""


async def ensure_partition(connection: Connection, *, vectors_table: str, tenant: str, rows: int = 0) -> None:
    """Make sure that the table has a part for the tenant's rows; its own where `rows` are expected that need one.

    A tenant that has rows in the shared part stays there until it is moved (`growing.move_grown`).
    """
    if not await _lacks_place(connection, vectors_table=vectors_table, tenant=tenant, rows=rows):
        return
    await connection.execute(LOCK, (f"sourcier.partition.{partition_name(vectors_table, tenant)}",))
    if not await _lacks_place(connection, vectors_table=vectors_table, tenant=tenant, rows=rows):
        return
    partition = await create_partition(connection, vectors_table=vectors_table, tenant=tenant)
    await attach_partition(connection, vectors_table=vectors_table, tenant=tenant, partition=partition)


async def create_partition(connection: Connection, *, vectors_table: str, tenant: str) -> str:
    """Make a table that can become the tenant's part; return its name.

    Created apart and then attached: `partition of` would lock out every search of every tenant.
    """
    partition = partition_name(vectors_table, tenant)
    await connection.execute(sql.SQL(CREATE_PARTITION).format(
        table=sql.Identifier(vectors_table), partition=sql.Identifier(partition)))
    return partition


async def attach_partition(connection: Connection, *, vectors_table: str, tenant: str, partition: str) -> None:
    """Make a table the tenant's part, from which row security keeps everybody else."""
    await connection.execute(sql.SQL(ATTACH_PARTITION).format(
        table=sql.Identifier(vectors_table), partition=sql.Identifier(partition), tenant=sql.Literal(tenant)))
    await force_row_security(connection, partition)


async def ensure_shared_part(connection: Connection, *, vectors_table: str) -> None:
    """Give a vectors table the part that small tenants share, unless it has one."""
    if await find_shared_part(connection, vectors_table=vectors_table) is not None:
        return
    part = f"{vectors_table}__{SHARED}"
    await connection.execute(sql.SQL(CREATE_SHARED).format(
        table=sql.Identifier(vectors_table), part=sql.Identifier(part)))
    await force_row_security(connection, part)


async def find_shared_part(connection: Connection, *, vectors_table: str) -> str | None:
    """Return the name of the part that small tenants share; None where there is none."""
    cursor = await connection.execute(FIND_SHARED, {"table": vectors_table})
    row = await cursor.fetchone()
    return None if row is None else str(row[0])


async def _lacks_place(connection: Connection, *, vectors_table: str, tenant: str, rows: int) -> bool:
    if await find_partition(connection, vectors_table=vectors_table, tenant=tenant) is not None:
        return False
    shared = await find_shared_part(connection, vectors_table=vectors_table)
    if shared is None or rows <= SHARED_ROWS_MAX:
        return shared is None
    # A part of its own takes none of the rows that lie in the shared one already: they are moved by upkeep.
    cursor = await connection.execute(
        sql.SQL("select from {part} where tenant = %s limit 1").format(part=sql.Identifier(shared)), (tenant,))
    return await cursor.fetchone() is None


def partition_name(vectors_table: str, tenant: str) -> str:
    """Return what the tenant's part of a vectors table is called when it is made."""
    return f"{vectors_table}__{tenant}"


async def find_partition(connection: Connection, *, vectors_table: str, tenant: str) -> str | None:
    """Return the name of the tenant's own part of a vectors table; None where it has none."""
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

# Whether a tenant's rows have a place, by one condition of another statement.
HAS_PLACE = f"""
exists ({PARTITION}) or exists (
    select from pg_partitioned_table where partrelid = to_regclass(quote_ident({{table}})) and partdefid <> 0
)
"""

FIND_SHARED = """
select part.relname
from pg_partitioned_table
join pg_class as part on part.oid = partdefid
where partrelid = to_regclass(quote_ident(%(table)s))
"""

CREATE_PARTITION = "create table {partition} (like {table} including storage)"
ATTACH_PARTITION = "alter table {table} attach partition {partition} for values in ({tenant})"
CREATE_SHARED = """
create table {part} (like {table} including storage);
alter table {table} attach partition {part} default;
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
