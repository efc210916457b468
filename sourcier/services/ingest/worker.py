"""The pipeline's tasks: which of them this process runs, and how they end."""

from __future__ import annotations

from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.lifecycle import Stopping, Worker
from sourcier.services.ingest.chunking.cutting import CuttingLimits
from sourcier.services.ingest.components import Parts
from sourcier.services.ingest.enriching.peers import EnrichingPeers
from sourcier.services.ingest.stages.by_parts.describing import Describing
from sourcier.services.ingest.stages.by_parts.ocr import OcrStage
from sourcier.services.ingest.stages.by_parts.recognisers import Recognisers
from sourcier.services.ingest.stages.by_parts.speech import SpeechStage
from sourcier.services.ingest.stages.chunk import ChunkStage
from sourcier.services.ingest.stages.enrich import EnrichStage
from sourcier.services.ingest.stages.failure import FailureStage
from sourcier.services.ingest.stages.index import IndexStage
from sourcier.services.ingest.stages.notification import NotificationStage
from sourcier.services.ingest.stages.parse import ParseStage
from sourcier.services.ingest.upkeep.acronyms import AcronymReading
from sourcier.services.ingest.upkeep.enrichment import Enrichment
from sourcier.services.ingest.upkeep.maintenance import Maintenance
from sourcier.services.ingest.upkeep.standings import Standings
from sourcier.services.ingest.upkeep.times import TimesReading


async def serve(server: Server, parts: Parts, stopping: Stopping) -> None:
    """Serve and work until told to stop, then note how far jobs came while the workers finished what they held."""
    await lifecycle.serve(server, pipeline(parts), stopping)
    await parts.progress.flush()


def pipeline(parts: Parts) -> list[Worker]:
    """Return the long-lived tasks of the stages that the settings name."""
    settings, jetstream, database = parts.settings, parts.jetstream, parts.database
    stages = settings.stage_names
    workers: list[Worker] = []
    if "accept" in stages:
        workers += [parts.relay, *FailureStage(jetstream, database, parts.progress, parts.relay).consumers()]
    if "collect" in stages and parts.buckets.rules.rules:
        notifications = NotificationStage(jetstream, database, parts.buckets.rules, parts.collector)
        workers += [
            notifications.consumer(slots=settings.collect_slots), parts.collector, parts.reconciler,
        ]
    chunk = None
    if "chunk" in stages:
        chunk = ChunkStage(jetstream, database, parts.objects, parts.progress, spaces=parts.spaces,
                           limits=CuttingLimits(settings.document_chunks_max))
        workers.append(chunk.consumer(slots=settings.chunk_slots))
    if parts.parsers is not None:
        stage = ParseStage(
            jetstream, parts.objects, parts.parsers, parts.progress, recent=parts.recent, members=parts.members,
            chunk=chunk, ocr=settings.ocr, ocr_pages_max=settings.ocr_pages_max, speech=settings.speech,
        )
        workers.append(stage.consumer(slots=settings.parse_slots))
    if parts.recognisers is not None:
        describing = _describing(parts, parts.recognisers)
        ocr = OcrStage(
            jetstream, database, parts.objects, parts.recognisers, parts.progress,
            picture_limits=settings.picture_limits, describing=describing,
        )
        workers.append(ocr.consumer(slots=settings.ocr_slots))
    if parts.transcribers is not None:
        speech = SpeechStage(jetstream, database, parts.objects, parts.transcribers, parts.progress)
        workers.append(speech.consumer(slots=settings.speech_slots))
    if stages & {"parse", "ocr", "speech", "chunk", "index"}:
        workers.append(parts.progress)
    if "index" in stages:
        index = IndexStage(jetstream, database, parts.progress, parts.relay)
        workers.append(index.consumer(slots=settings.index_slots))
        maintenance = Maintenance(database, parts.removal)
        workers += [
            maintenance, TimesReading(database), AcronymReading(database), parts.index_building, parts.space_builder,
            Standings(jetstream, database), parts.erasing,
        ]
    if "enrich" in stages and parts.enriching is not None:
        workers += _enriching(parts, parts.enriching)
    return workers


def _describing(parts: Parts, recognisers: Recognisers) -> Describing | None:
    return Describing(parts.vision, recognisers, parts.objects) if parts.vision is not None else None


def _enriching(parts: Parts, peers: EnrichingPeers) -> list[Worker]:
    settings = parts.settings
    enrichment = Enrichment(
        parts.database, parts.jetstream, parts.relay, peers, parts.spaces,
        in_flight_max=settings.enrich_in_flight_max, stalled_seconds=settings.stalled_seconds,
    )
    enrich = EnrichStage(
        parts.jetstream, parts.database, peers, settings.enrich_limits, settled=enrichment.wake
    )
    return [enrich.consumer(slots=settings.enrich_slots), enrichment]
