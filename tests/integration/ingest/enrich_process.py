"""The enrich stage as a process of its own, to be killed: `python -m tests.integration.ingest.enrich_process`.

Its settings come as one JSON object on the command line: the URLs and the subject prefix.
"""

from __future__ import annotations

import asyncio
import json
import sys

from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.chassis.queue import consuming
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.ingest import relay
from sourcier.services.ingest.counted_spaces import CountedSpace, CountedSpaces
from sourcier.services.ingest.enriching.peers import EnrichingPeers
from sourcier.services.ingest.relay import Relay
from sourcier.services.ingest.settings import IngestSettings
from sourcier.services.ingest.stages.enrich import EnrichStage
from sourcier.services.ingest.upkeep import enrichment
from sourcier.services.ingest.upkeep.enrichment import Enrichment
from tests.integration.index.writer import SPACE
from tests.unit.ingest.fix_words import WordCounter


async def main(given: dict[str, str]) -> None:
    """Enrich until told to stop, by being killed."""
    consuming.FETCH_SECONDS, enrichment.LOOK_SECONDS, relay.LOOK_SECONDS = 0.3, 0.05, 0.2
    settings = IngestSettings(
        nats_url=given["nats_url"], postgres_url=given["database_url"], subject_prefix=given["prefix"],
        s3_url="unused", generate_url=given["generate_url"], embed_url=given["embed_url"], ack_wait_seconds=1,
    )
    async with (
        Database(DatabaseSettings(url=given["database_url"], connections_max=8)) as database,
        JetStream(
            url=given["nats_url"], prefix=given["prefix"], name="enrich", limits=settings.queue_limits
        ) as jetstream,
        EnrichingPeers(
            generate_url=settings.generate_url, embed_url=settings.embed_url, generate_seconds_max=20
        ) as peers,
    ):
        passing_on = Relay(database, jetstream, in_flight_max=4, stalled_seconds=60)
        keeper = Enrichment(
            database, jetstream, passing_on, peers,
            CountedSpaces([CountedSpace(SPACE.space_id, SPACE.dimension, WordCounter())]),
            in_flight_max=8, stalled_seconds=2,
        )
        stage = EnrichStage(jetstream, database, peers, settings.enrich_limits, settled=keeper.wake)
        stopping = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for worker in (passing_on, keeper, stage.consumer(slots=1)):
                group.create_task(worker.run(stopping), name=worker.name)


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
