"""The reading of dates and acronyms as a process, to be killed: `python -m tests.integration.ingest.times_process`."""

from __future__ import annotations

import asyncio
import json
import sys

from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.ingest.upkeep.acronyms import AcronymReading
from sourcier.services.ingest.upkeep.times import TimesReading


async def main(given: dict[str, str]) -> None:
    """Read what there is to read."""
    async with Database(DatabaseSettings(url=given["database_url"], connections_max=2)) as database:
        await TimesReading(database).read_all(asyncio.Event())
        await AcronymReading(database).read()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
