"""The enrich stage killed at every step: another life makes what is missing, and nothing twice."""

from __future__ import annotations

import asyncio
import signal

import pytest

from sourcier.embed.v1 import embed_pb2_grpc
from sourcier.services.chassis import failpoints
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.queue.subjects import QueueLimits
from sourcier.services.index.curation.agents import create_agent
from sourcier.services.index.spaces import spaces
from tests.integration.generate.fix_generate import serving
from tests.integration.index.writer import SPACE, Writer
from tests.integration.ingest.fix_enriching import (
    HOLIDAYS,
    HOLIDAYS_RULE,
    TELEWORK,
    TELEWORK_RULE,
    CountingEngine,
    TextEmbed,
)
from tests.integration.ingest.fix_lives import Life
from tests.integration.ingest.fix_pipeline import TENANT
from tests.waiting import eventually

KILLED_AT = tuple(name for name in failpoints.NAMES if name.startswith("enrich."))


@pytest.mark.parametrize("name", KILLED_AT)
async def test_what_a_kill_left_is_made_once(
    name: str, database_url: str, nats_url: str, subject_prefix: str, life: Life
) -> None:
    engine = CountingEngine(TELEWORK_RULE, HOLIDAYS_RULE)
    async with (
        Database(DatabaseSettings(url=database_url, connections_max=4)) as database,
        serving(engine) as generate,
        Server(listen="127.0.0.1:0", grace_seconds=0.5, concurrent_calls_max=16) as embed_server,
    ):
        embed_server.add(
            embed_pb2_grpc.add_EmbedServiceServicer_to_server, TextEmbed(), "sourcier.embed.v1.EmbedService"
        )
        await embed_server.start()
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await spaces.ensure_space(connection, SPACE)
        await Writer(database).index("guide.md", [TELEWORK, HOLIDAYS], title="Guide")
        async with database.transaction(tenant=TENANT) as connection:
            await create_agent(connection, tenant=TENANT, name="support", collection="default")
        given = {
            "database_url": database_url, "nats_url": nats_url, "prefix": subject_prefix,
            "generate_url": generate.target, "embed_url": f"127.0.0.1:{embed_server.port}",
        }
        async with life("enrich_process", given, faults=f"{name}=kill:1") as process:
            assert await asyncio.wait_for(process.wait(), 40) == -signal.SIGKILL

        async def whole() -> bool:
            async with database.transaction(tenant=TENANT) as connection:
                cursor = await connection.execute(
                    "select (select array_agg(state) from units), (select count(*) from unit_gaps)"
                )
                row = await cursor.fetchone()
            return row == (["enriched", "enriched"], 0)

        async with life("enrich_process", given):
            await eventually(whole, seconds=60)
        async with database.transaction(tenant=TENANT) as connection:
            cursor = await connection.execute("select kind, count(*) from unit_points group by kind order by kind")
            assert await cursor.fetchall() == [("qa_pair", 2), ("source_material", 2)]
            cursor = await connection.execute("select count(*) from unit_pairs")
            assert await cursor.fetchone() == (2,)
        async with JetStream(url=nats_url, prefix=subject_prefix, name="test", limits=QueueLimits()) as jetstream:
            for stream, _ in subjects.streams():
                await jetstream.context.delete_stream(subjects.stream_name(subject_prefix, stream))
