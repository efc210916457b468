"""HNSW indexes built where scans get long, beside all other upkeep: one of a million vectors takes half an hour."""

from __future__ import annotations

import asyncio
import logging

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.index.spaces import spaces
from sourcier.services.index.units import indexes as unit_indexes

logger = logging.getLogger(__name__)

LOOK_SECONDS = 60.0


class IndexBuilding:
    """Runs in every process that indexes; one of them builds at a time."""

    name = "index-building"

    def __init__(
        self, database: Database, *, deferred_rows_max: int = spaces.DEFERRED_ROWS_MAX,
        memory_bytes_max: int = spaces.BUILD_MEMORY_BYTES_MAX, look_seconds: float = LOOK_SECONDS,
    ) -> None:
        self._database = database
        self._deferred_rows_max = deferred_rows_max
        self._memory_bytes_max = memory_bytes_max
        self._look_seconds = look_seconds
        self._asked = asyncio.Event()

    def ask(self) -> None:
        """Have what lacks an index get it now, even if it is being loaded."""
        self._asked.set()

    async def run(self, stopping: asyncio.Event) -> None:
        """Build until told to stop, then give up what is half built: no grace is long enough for it."""
        building = asyncio.create_task(self._build_for_ever(), name=self.name)
        told = asyncio.create_task(stopping.wait())
        try:
            await asyncio.wait((building, told), return_when=asyncio.FIRST_COMPLETED)
        finally:
            told.cancel()
            building.cancel()
            await asyncio.wait((building,))
        if not building.cancelled():
            building.result()

    async def _build_for_ever(self) -> None:
        while True:
            await first_of(self._asked, seconds=self._look_seconds)
            deferred_rows_max = 0 if self._asked.is_set() else self._deferred_rows_max
            self._asked.clear()
            try:
                await self._build(deferred_rows_max=deferred_rows_max)
            except ServiceError as error:
                logger.warning("index building: %s", error)

    async def _build(self, *, deferred_rows_max: int) -> None:
        for partition in await spaces.build_indexes(
            self._database, rows_min=spaces.EXACT_ROWS_MAX, deferred_rows_max=deferred_rows_max,
            memory_bytes_max=self._memory_bytes_max,
        ):
            logger.info("HNSW index built", extra={"partition": partition})
        for name in await unit_indexes.build_unit_indexes(self._database, memory_bytes_max=self._memory_bytes_max):
            logger.info("HNSW index of knowledge units built", extra={"index": name})
