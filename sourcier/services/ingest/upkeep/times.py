"""Reads when documents hold that nobody read yet, and finds what documents do to one another: beside all other upkeep.

The index of an earlier release takes hours, in bounded steps, and nothing else is to wait for them. A commit reads its
own version. This is for documents of an earlier release or earlier rules, for those whose metadata changed, and for the
relations, which are among documents that came at different times.
"""

from __future__ import annotations

import asyncio
import logging

from prometheus_client import Counter

from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.lifecycle import first_of
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database
from sourcier.services.index.times import relations, storing
from sourcier.services.ingest.upkeep.reading import keep_reading

logger = logging.getLogger(__name__)

DOCUMENTS_MAX = 100
"""Documents of one transaction, about a fifth of a second."""
PAUSE_SECONDS = 0.5
"""Between two of them, so that a large index that comes from an earlier release leaves room for what is ingested."""

documents_dated_total = Counter(
    "sourcier_documents_dated_total", "Documents whose dates were read beside their commit: they were there before."
)


class TimesReading:
    """Two steps, each of which is a transaction of its own that another life begins anew."""

    name = "times"

    def __init__(self, database: Database) -> None:
        self._database = database

    async def run(self, stopping: asyncio.Event) -> None:
        """Do what there is to do until told to stop."""
        await keep_reading(self.read_all, what="dates", stopping=stopping)

    async def read_all(self, stopping: asyncio.Event) -> None:
        """Do all that there is to do."""
        while DOCUMENTS_MAX in (await self.read(), await self.relate()) and not stopping.is_set():
            await first_of(stopping, seconds=PAUSE_SECONDS)

    async def read(self) -> int:
        """Read documents that these rules did not read yet; return how many, `DOCUMENTS_MAX` at most."""
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            count = await storing.read_more(connection, limit=DOCUMENTS_MAX)
            if count:
                await failpoint("times.before-commit")
        if count:
            documents_dated_total.inc(count)
            logger.info("read when documents hold", extra={"documents": count})
        return count

    async def relate(self) -> int:
        """Find what documents that were read since do to others, and others to them; return how many."""
        async with self._database.transaction(tenant=ALL_TENANTS) as connection:
            count = await relations.find_more(connection, limit=DOCUMENTS_MAX)
            if count:
                await failpoint("relations.before-commit")
        return count
