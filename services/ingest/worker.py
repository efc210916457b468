"""The pipeline's tasks: which of them this process runs."""

from __future__ import annotations

from services.chassis.jetstream import JetStream
from services.chassis.lifecycle import Worker
from services.chassis.objects import ObjectStore
from services.chassis.postgres import Database
from services.ingest.chunk_stage import ChunkStage
from services.ingest.failure_stage import FailureStage
from services.ingest.index_stage import IndexStage
from services.ingest.maintenance import Maintenance
from services.ingest.parse_stage import ParseStage
from services.ingest.progress import Progress
from services.ingest.relay import Relay
from services.ingest.sandbox import ParserPool
from services.ingest.settings import IngestSettings
from services.ingest.tokens import TokenCounter


def pipeline(
    settings: IngestSettings,
    *,
    database: Database,
    jetstream: JetStream,
    objects: ObjectStore,
    relay: Relay,
    parsers: ParserPool | None,
    tokens: TokenCounter,
    space_id: str,
    dimension: int,
) -> list[Worker]:
    """Return the long-lived tasks of the stages that the settings name."""
    progress = Progress(database, jetstream)
    stages = settings.stage_names
    workers: list[Worker] = []
    if "accept" in stages:
        workers += [relay, *FailureStage(jetstream, database, progress, relay).consumers()]
    if parsers is not None:
        workers.append(ParseStage(jetstream, objects, parsers, progress).consumer(slots=settings.parse_slots))
    if "chunk" in stages:
        stage = ChunkStage(jetstream, objects, tokens, progress, space_id=space_id, dimension=dimension)
        workers.append(stage.consumer(slots=settings.chunk_slots))
    if "index" in stages:
        workers.append(IndexStage(jetstream, database, progress, relay).consumer(slots=settings.index_slots))
        workers.append(Maintenance(database))
    return workers
