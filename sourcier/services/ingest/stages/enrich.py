"""`chunks.enrich` → the language model reads the chunk → its knowledge unit, in one transaction, then acknowledged."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable

from prometheus_client import Counter, Histogram

from sourcier.events.v1 import events_pb2
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import DeadlineExceeded, ServiceError
from sourcier.services.chassis.failpoints import failpoint
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.consuming import Consumer, Delivery
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index.units import work as unit_work
from sourcier.services.index.units.work import Settlement, UnitTask
from sourcier.services.ingest.enriching.limits import EnrichLimits
from sourcier.services.ingest.enriching.output import BadOutput, Truncated, Usage, read_output
from sourcier.services.ingest.enriching.peers import EnrichingPeers, Sampling
from sourcier.services.ingest.enriching.prompt import unit_prompt

logger = logging.getLogger(__name__)

STAGE = "enrich"
AGAIN_TEMPERATURE = 0.4
"""Of a second attempt: what the likeliest tokens spoilt once they would spoil again."""

units_total = Counter(
    "sourcier_units_total", "Knowledge units that were settled, by state and why.", ["state", "reason"]
)
unit_seconds = Histogram(
    "sourcier_unit_seconds", "Time of the language model for a chunk, all attempts.", buckets=telemetry.DURATION_BUCKETS
)
unit_tokens_total = Counter(
    "sourcier_unit_tokens_total", "Tokens that knowledge units cost, by side: prompt or completion.", ["side"]
)


class EnrichStage:
    """Makes knowledge units; a unit that was settled, or whose chunk has gone, is left as it is."""

    def __init__(
        self, jetstream: JetStream, database: Database, peers: EnrichingPeers, limits: EnrichLimits,
        settled: Callable[[], None],
    ) -> None:
        """Take what is to be called once a unit is settled: its vectors are to be made."""
        self._jetstream = jetstream
        self._database = database
        self._peers = peers
        self._limits = limits
        self._settled = settled

    def consumer(self, *, slots: int) -> Consumer[events_pb2.ChunkToEnrich]:
        """Return the consumer, with slots for each lane."""
        return Consumer(
            self._jetstream, subjects.CHUNKS_ENRICH, stage=STAGE, concurrency=dict.fromkeys(subjects.LANES, slots),
            handle=self.handle,
        )

    async def handle(self, message: events_pb2.ChunkToEnrich, delivery: Delivery) -> None:
        """Make one unit."""
        tenant = message.version.tenant
        async with self._database.transaction(tenant=tenant, read_only=True) as connection:
            task = await unit_work.load(connection, tenant=tenant, unit_id=message.unit_id)
        if task is None:
            return
        settlement = self._over_limits(task) or await self._make(task, tenant=tenant)
        await failpoint("enrich.after-work")
        async with self._database.transaction(tenant=tenant) as connection:
            written = await unit_work.settle(
                connection, tenant=tenant, document_id=task.document_id, unit_id=task.unit_id,
                fingerprint=task.fingerprint, settlement=settlement,
            )
            await failpoint("enrich.before-commit")
        await failpoint("enrich.after-commit")
        if written:
            units_total.labels(settlement.state, settlement.reason).inc()
            log = logger.info if settlement.state == "enriched" else logger.warning
            log("unit %s", settlement.state, extra={
                "document_id": task.document_id, "unit_id": task.unit_id, "reason": settlement.reason,
                "pairs": len(settlement.pairs), "tokens": settlement.prompt_tokens + settlement.completion_tokens,
            })
            self._settled()

    def _over_limits(self, task: UnitTask) -> Settlement | None:
        """Return what becomes of a chunk whose document has used up what it may cost."""
        limits = self._limits
        if task.chunks_made >= limits.chunks_max:
            return Settlement(state="failed", reason="CHUNKS_MAX", message=(
                f"{task.chunks_made} chunks of the document were enriched, which is the most "
                f"(SOURCIER_INGEST_ENRICH_CHUNKS_MAX is {limits.chunks_max})"
            ))
        if task.tokens_used >= limits.tokens_max:
            return Settlement(state="failed", reason="TOKENS_MAX", message=(
                f"{task.tokens_used:,} tokens were used for the document, which is the most "
                f"(SOURCIER_INGEST_ENRICH_TOKENS_MAX is {limits.tokens_max:,})"
            ))
        return None

    async def _make(self, task: UnitTask, *, tenant: str) -> Settlement:
        """Ask the model, again where its output cannot be read; what it cost is kept either way."""
        limits, usage = self._limits, Usage()
        prompt = unit_prompt(task, pairs_max=limits.pairs_max)
        spoilt: ServiceError = BadOutput()
        with unit_seconds.time():
            for attempt in range(1, limits.attempts_max + 1):
                started_at = time.perf_counter()
                try:
                    generated = await self._peers.generate(
                        prompt, Sampling(limits.output_tokens_max, AGAIN_TEMPERATURE if attempt > 1 else 0.0, attempt),
                        tenant=tenant, generation_id=f"{task.unit_id}-enrich-{attempt}",
                    )
                except DeadlineExceeded as error:
                    # Counted here: given back to the queue, a chunk that takes too long would take it eight times.
                    spoilt = error
                    logger.warning("no output for a chunk in time", extra={"unit_id": task.unit_id, "attempt": attempt})
                    continue
                usage += generated.usage
                unit_tokens_total.labels("prompt").inc(generated.usage.prompt_tokens)
                unit_tokens_total.labels("completion").inc(generated.usage.completion_tokens)
                try:
                    if generated.cut:
                        raise Truncated(f"the output was cut off at {limits.output_tokens_max} tokens "
                                        "(SOURCIER_INGEST_ENRICH_OUTPUT_TOKENS_MAX)")
                    return await asyncio.to_thread(
                        read_output, generated.output, task, usage, pairs_max=limits.pairs_max,
                        usefulness_min=limits.usefulness_min,
                    )
                except BadOutput as error:
                    spoilt = error
                    logger.warning("the output for a chunk cannot be used: %s", error, extra={
                        "unit_id": task.unit_id, "attempt": attempt, "seconds": time.perf_counter() - started_at,
                    })
        return Settlement(
            state="failed", reason=spoilt.reason, message=spoilt.message, model=usage.model,
            prompt_tokens=usage.prompt_tokens, completion_tokens=usage.completion_tokens,
        )
