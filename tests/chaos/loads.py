"""F-R23: what is large passes through the services, and their event loops stay free."""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator
from typing import Any

from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from tests.chaos.checker import Finding
from tests.chaos.cluster import COLLECTION, Cluster, Servers
from tests.chaos.generator import WORDS
from tests.chaos.keeper import Plan
from tests.chaos.trial import Outcome

PIECE_BYTES = 64 * 1024
PARAGRAPHS = 512
FINISHED = (ingest_pb2.JOB_STATUS_COMPLETED, ingest_pb2.JOB_STATUS_FAILED)
JOB_SECONDS_MAX = 120.0
LAG_SECONDS_MAX = 1.0
"""Over this the loop was blocked, whatever else the machine did."""


async def loop_lag(servers: Servers, seed: int, size: int) -> Outcome:
    """Send a document of so many megabytes, mostly mark-up, and one of 512 passages; read how late the loops were."""
    began = time.monotonic()
    options = {"hurried": 3.0, "plain_reader": True, "arithmetic_model": True, "lag_folder": str(servers.folder)}
    cluster = Cluster(servers, plans=(Plan(), Plan(service="embed")), options=options, seed=seed)
    long = "\n\n".join(f"mk00001p{place:03}of{PARAGRAPHS} " + " ".join(WORDS * 2)[:80] for place in range(PARAGRAPHS))
    large = b"mk00002p000of001 le chat dort <" + b"-" * size * 1024 * 1024 + b">"
    async with cluster.running():
        channel = open_channel(cluster.entrance)
        try:
            stub = ingest_pb2_grpc.IngestServiceStub(channel)
            statuses = await asyncio.gather(
                _through(stub, "long.txt", long.encode()), _through(stub, "large.txt", large)
            )
        finally:
            await channel.close()
        lags = {
            service: json.loads(await asyncio.to_thread((servers.folder / f"{service}-lag.json").read_text))
            for service in ("ingest", "embed")
        }
    findings = [
        Finding("F-I6", "unfinished", f"the loop of {service} stood still for {lag['most']:.1f} s")
        for service, lag in lags.items() if lag["most"] > LAG_SECONDS_MAX
    ]
    if any(status != ingest_pb2.JOB_STATUS_COMPLETED for status in statuses):
        findings.append(Finding("F-I1", "lost", f"the jobs ended with {statuses}"))
    return Outcome(
        scenario="loop-lag", seed=seed, events=2, faults=Counter(), findings=tuple(findings), recovery_seconds=0.0,
        figures={
            f"loop lag of {service}": f"p99 {lag['p99'] * 1000:.0f} ms, most {lag['most'] * 1000:.0f} ms"
            for service, lag in lags.items()
        } | {"seconds": f"{time.monotonic() - began:.0f}"},
    )


async def _through(stub: Any, filename: str, body: bytes) -> int:
    """Upload a document and return how its job ended."""
    async def requests() -> AsyncIterator[ingest_pb2.SubmitRequest]:
        yield ingest_pb2.SubmitRequest(header=ingest_pb2.DocumentHeader(filename=filename, collection=COLLECTION))
        for start in range(0, len(body), PIECE_BYTES):
            yield ingest_pb2.SubmitRequest(data=body[start : start + PIECE_BYTES])

    metadata = (("sourcier-tenant", "acme"),)
    submitted = await stub.Submit(requests(), timeout=JOB_SECONDS_MAX, metadata=metadata)
    watching = stub.WatchJob(
        ingest_pb2.WatchJobRequest(job_id=submitted.job.job_id), timeout=JOB_SECONDS_MAX, metadata=metadata
    )
    status = 0
    async for response in watching:
        status = response.job.status
    return status
