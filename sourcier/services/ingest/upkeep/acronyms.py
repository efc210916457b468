"""Reads the acronyms that documents spell out and nobody read yet: beside all other upkeep.

A commit of one batch reads its own version. This is for those of several batches, and for documents of an earlier
release or earlier rules.
"""

from __future__ import annotations

import asyncio
import logging

from prometheus_client import Counter

from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.acronyms import storing
from sourcier.services.ingest.upkeep.reading import keep_reading

logger = logging.getLogger(__name__)

DOCUMENTS_MAX = 10
"""Documents of one transaction: a long one takes a second."""
PAUSE_SECONDS = 0.2
"""Between two of them, so that a large index that comes from an earlier release leaves room for what is ingested."""

documents_read_total = Counter(
    "sourcier_documents_read_for_acronyms_total", "Documents whose acronyms were read beside their commit."
)


class AcronymReading:
    """A step that another life begins anew: each is a transaction of its own."""

    name = "acronyms"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, stopping: asyncio.Event) -> None:
        """Read what there is to read until told to stop."""
        await keep_reading(self.read_all, what="acronyms", stopping=stopping)

    async def read_all(self, stopping: asyncio.Event) -> None:
        """Read all that there is to read."""
        while await self.read() == DOCUMENTS_MAX and not stopping.is_set():
            await first_of(stopping, seconds=PAUSE_SECONDS)

    async def read(self) -> int:
        """Read documents that these rules did not read yet; return how many, `DOCUMENTS_MAX` at most."""
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            count = await storing.read_more(connection, limit=DOCUMENTS_MAX)
            if count:
                await failpoint("acronyms.before-commit")
        if count:
            documents_read_total.inc(count)
            logger.info("read which acronyms documents spell out", extra={"documents": count})
        return count
