"""How an HNSW index is built: with the memory that its graph takes, and by one process where shared memory is short."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import psycopg
from psycopg import sql
from psycopg.errors import DiskFull, OutOfMemory

from sourcier.services.chassis.postgres.database import Connection

logger = logging.getLogger(__name__)

BUILD_MEMORY_BYTES_MIN = 64 * 1024**2
ELEMENT_BYTES = 1_000
"""Of a graph in memory, beside the vector: links of two layers with their distances, and the element (pgvector 0.8)."""


async def build_index(
    connection: Connection, *, index: str, create: sql.Composed, rows: int, dimension: int, memory_bytes_max: int,
    of: Mapping[str, object],
) -> bool:
    """Build an index by a statement that makes it concurrently; return whether it is there now.

    The server is asked for as much memory as the graph of so many rows takes, up to `memory_bytes_max`. Why one was not
    built is in the log, with `of`, what it is an index of: one that fails each time keeps no other from being built.
    """
    memory = min(build_memory(rows=rows, dimension=dimension), memory_bytes_max)
    logger.info("building an HNSW index", extra={**of, "rows": rows, "memory_bytes": memory})
    try:
        await connection.execute(SET_BUILD_MEMORY, (f"{memory // 1024}kB",))
        await _build(connection, index, create)
    except psycopg.Error:
        if connection.closed:
            raise
        logger.exception("no HNSW index was built", extra=dict(of))
        return False
    finally:
        if not connection.closed:
            await connection.execute("reset maintenance_work_mem")
    return True


def build_memory(*, rows: int, dimension: int) -> int:
    """Return the bytes of memory that a graph over so many half-precision vectors is built in."""
    return max(rows * (2 * dimension + ELEMENT_BYTES), BUILD_MEMORY_BYTES_MIN)


async def _build(connection: Connection, index: str, create: sql.Composed) -> None:
    drop = sql.SQL(DROP_INDEX).format(index=sql.Identifier(index))
    # What a build that was cut off left behind is invalid, and would be kept up to date for nothing.
    await connection.execute(drop)
    try:
        await connection.execute(create)
    except (DiskFull, OutOfMemory) as error:
        # Workers share the graph in /dev/shm, of which containers often have 64 MB; one process needs none.
        logger.warning("index %s: built by one process, shared memory is short: %s", index, error)
        await connection.execute(drop)
        await connection.execute("set max_parallel_maintenance_workers = 0")
        try:
            await connection.execute(create)
        finally:
            await connection.execute("reset max_parallel_maintenance_workers")


SET_BUILD_MEMORY = "select set_config('maintenance_work_mem', %s, false)"
DROP_INDEX = "drop index concurrently if exists {index}"
