"""The reading of documents of an earlier release killed at each step: the next life reads all of them, once."""

from __future__ import annotations

import asyncio
import signal

from sourcier.services.chassis import failpoints
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.index.spaces import spaces
from tests.integration.index.writer import SPACE, Writer
from tests.integration.ingest.fix_lives import Life

KILLED_AT = tuple(name for name in failpoints.NAMES if name.startswith(("times.", "relations.", "acronyms.")))
REPLACING = "Elle annule et remplace la note du 3 mars 2020. Le comité social et économique (CSE) est consulté."
READ = """
select (select count(*) from documents where times_rules > 0 and dated_from is not null),
       (select count(*) from documents where relations_found), (select count(*) from document_times),
       (select count(*) from document_relations), (select count(*) from documents where acronym_rules > 0),
       (select count(*) from acronyms)
"""


async def test_what_kills_left_is_read_once(database_url: str, life: Life) -> None:
    async with Database(DatabaseSettings(url=database_url, connections_max=4)) as database:
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await spaces.ensure_space(connection, SPACE)
        writer = Writer(database)
        await writer.index("a.md", ["Rien."], title="Note du 3 mars 2020")
        await writer.index("b.md", [REPLACING], title="Note du 5 mai 2023")
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await connection.execute("delete from document_times")
            await connection.execute("delete from acronyms")
            await connection.execute(
                "update documents set times_rules = 0, acronym_rules = 0, dated_from = null, dated_to = null"
            )
        read = []
        for name in (*KILLED_AT, ""):
            async with life("times_process", {"database_url": database_url},
                            faults=f"{name}=kill:1" if name else "") as process:
                assert await asyncio.wait_for(process.wait(), 60) == (-signal.SIGKILL if name else 0)
            async with database.transaction(tenant=ALL_TENANTS) as connection:
                read.append(await (await connection.execute(READ)).fetchone())
    assert read == [
        (0, 0, 0, 0, 0, 0), (2, 0, 2, 0, 0, 0), (2, 2, 2, 1, 0, 0), (2, 2, 2, 1, 2, 1),
    ]
