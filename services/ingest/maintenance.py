"""What the index needs beside the commit path: document frequencies added up, HNSW built where scans get long."""

from __future__ import annotations

import asyncio
import logging
import time

from services.chassis.errors import ServiceError
from services.chassis.postgres import ALL_TENANTS, Database
from services.index import frequencies, spaces

logger = logging.getLogger(__name__)

REFRESH_SECONDS = 1.0
INDEX_SECONDS = 60.0


class Maintenance:
    """Runs in every process that indexes; each step is done by whoever gets to it first."""

    name = "maintenance"

    def __init__(self, database: Database) -> None:
        self._database = database
        self._indexed_at = time.monotonic()

    async def run(self, stopping: asyncio.Event) -> None:
        """Maintain until told to stop."""
        while not stopping.is_set():
            try:
                while await self._refresh() and not stopping.is_set():
                    pass
                await self._build_indexes()
            except ServiceError as error:
                logger.warning("maintenance: %s", error)
            try:
                async with asyncio.timeout(REFRESH_SECONDS):
                    await stopping.wait()
            except TimeoutError:
                continue

    async def _refresh(self) -> int:
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            return await frequencies.refresh(connection)

    async def _build_indexes(self) -> None:
        if time.monotonic() - self._indexed_at < INDEX_SECONDS:
            return
        self._indexed_at = time.monotonic()
        for partition in await spaces.build_indexes(self._database):
            logger.info("HNSW index built", extra={"partition": partition})
