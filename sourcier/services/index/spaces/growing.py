"""Moves a tenant that has grown from the part that small tenants share to one of its own, while everything goes on."""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Sequence

from psycopg import sql

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.postgres.database import Connection, Database
from sourcier.services.index.spaces import partitions

LOCK_WAIT = "500ms"
"""How long a move waits for statements over the table; those that come later wait behind it meanwhile. Less than
PostgreSQL waits before it looks for a deadlock: of the two, the move gives way, and is tried again at the next look."""
HELD_BYTES_MAX = 64 * 2**20
"""What a move holds in memory of the rows that it moves; more lies in a file."""

logger = logging.getLogger(__name__)


async def move_grown(database: Database, connection: Connection, *, tables: Sequence[str], rows_min: int) -> list[str]:
    """Give a part of their own to tenants of more than `rows_min` passages, or `SHARED_ROWS_MAX`; return the new parts.

    `connection` sees all tenants, and reads alone. A move that could not get its lock in time is in the log, and is
    tried at the next call.
    """
    moved = []
    rows_max = min(rows_min, partitions.SHARED_ROWS_MAX)
    for table in tables:
        if await partitions.find_shared_part(connection, vectors_table=table) is None:
            continue
        cursor = await connection.execute(GROWN, {"table": table, "rows_max": rows_max})
        for (tenant,) in await cursor.fetchall():
            try:
                part = await move(database, vectors_table=table, tenant=tenant)
            except ServiceError as error:
                logger.warning("a tenant's vectors stay in the shared part until the next try: %s", error,
                               extra={"tenant": tenant})
                continue
            if part is not None:
                logger.info("vectors moved to a part of their own", extra={"tenant": tenant, "partition": part})
                moved.append(part)
    return moved


async def move(database: Database, *, vectors_table: str, tenant: str) -> str | None:
    """Move the tenant's rows to a part of its own in one transaction; return its name, None where it had no rows.

    The table is locked from the first row to the last: a statement that had looked up its parts before would otherwise
    look in the old one. Every statement locks the table first, so that its other parts need no lock of their own. The
    rows are written frozen, so that a search whose snapshot is older finds them, too.
    """
    async with database.transaction(tenant=tenant) as connection:
        await connection.execute("select set_config('lock_timeout', %s, true)", (LOCK_WAIT,))
        name = partitions.partition_name(vectors_table, tenant)
        await connection.execute(partitions.LOCK, (f"sourcier.partition.{name}",))
        shared = await partitions.find_shared_part(connection, vectors_table=vectors_table)
        if shared is None or await partitions.find_partition(
            connection, vectors_table=vectors_table, tenant=tenant) is not None:
            return None
        await connection.execute(sql.SQL("lock table only {table} in access exclusive mode").format(
            table=sql.Identifier(vectors_table)))
        part = await partitions.create_partition(connection, vectors_table=vectors_table, tenant=tenant)
        if not await _copy(connection, tenant=tenant, source=shared, target=part):
            await connection.execute(sql.SQL("drop table {part}").format(part=sql.Identifier(part)))
            return None
        await connection.execute(sql.SQL("delete from {shared} where tenant = %s").format(
            shared=sql.Identifier(shared)), (tenant,))
        await partitions.attach_partition(connection, vectors_table=vectors_table, tenant=tenant, partition=part)
    async with database.autocommit(tenant=tenant) as connection:
        # Its size decides when it gets an index.
        await connection.execute(sql.SQL("analyze {part}").format(part=sql.Identifier(part)))
    return part


async def _copy(connection: Connection, *, tenant: str, source: str, target: str) -> bool:
    """Copy the tenant's rows into a table of this transaction; return whether there were any."""
    reading = sql.SQL(READ).format(source=sql.Identifier(source), tenant=sql.Literal(tenant))
    writing = sql.SQL(WRITE).format(target=sql.Identifier(target))
    with tempfile.SpooledTemporaryFile(max_size=HELD_BYTES_MAX) as held:
        async with connection.cursor() as cursor:
            async with cursor.copy(reading) as copy:
                async for piece in copy:
                    held.write(piece)
            if cursor.rowcount == 0:
                return False
            held.seek(0)
            async with cursor.copy(writing) as copy:
                while piece := held.read(2**20):
                    await copy.write(piece)
    return True


# A part whose tenant has none of its own, by what the documents of the tenant hold: few rows are read for it.
OWN_PART = partitions.PARTITION.format(table="%(table)s", tenant="documents.tenant")
GROWN = f"""
select tenant
from documents
group by tenant
having sum(chunk_count) > %(rows_max)s and not exists ({OWN_PART})
"""  # noqa: S608
READ = """
copy (select chunk_id, tenant, collection_id, document_id, embedding, token_codes from {source} where tenant = {tenant})
to stdout (format binary)
"""
WRITE = """
copy {target} (chunk_id, tenant, collection_id, document_id, embedding, token_codes) from stdin (format binary, freeze)
"""
