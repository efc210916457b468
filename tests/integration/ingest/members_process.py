"""The ingest service as a process of its own, to be killed: `python -m tests.integration.ingest.members_process`.

Its settings come as one JSON object on the command line: the URLs, the subject prefix and the bucket.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from sourcier.services.chassis.queue import consuming
from sourcier.services.ingest import relay
from tests.fix_servers import S3Bucket
from tests.integration.ingest.fix_pipeline import ingesting

ACK_WAIT_SECONDS = 2


async def main(given: dict[str, Any]) -> None:
    """Ingest until told to stop, by being killed."""
    consuming.FETCH_SECONDS, relay.LOOK_SECONDS = 0.3, 0.2
    async with ingesting(
        database_url=given["database_url"], nats_url=given["nats_url"], prefix=given["prefix"],
        bucket=S3Bucket(**given["bucket"]), ack_wait_seconds=ACK_WAIT_SECONDS,
    ):
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
