"""The domain objects of the service and what each is made of: one place, for the process and for its tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sourcier.services.chassis.errors import ModelInvalid
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.chassis.objects import ObjectStore
from sourcier.services.chassis.postgres.database import Database
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.ingest.buckets.collector import Collector
from sourcier.services.ingest.buckets.reconciler import Reconciler
from sourcier.services.ingest.buckets.rules import BucketRules
from sourcier.services.ingest.buckets.sources import SourceBuckets, check_watched
from sourcier.services.ingest.counted_spaces import CountedSpace, CountedSpaces
from sourcier.services.ingest.enriching.peers import EnrichingPeers
from sourcier.services.ingest.erasing.erasing import Erasing
from sourcier.services.ingest.erasing.traces import Traces
from sourcier.services.ingest.intake.intake import Intake
from sourcier.services.ingest.intake.members import Members
from sourcier.services.ingest.intake.recent import RecentOriginals
from sourcier.services.ingest.intake.removal import Removal
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.progress import Progress
from sourcier.services.ingest.relay import Relay
from sourcier.services.ingest.settings import IngestSettings
from sourcier.services.ingest.stages.by_parts.recognisers import PAGES_OF_CHILD, Recognisers
from sourcier.services.ingest.stages.by_parts.transcribers import EndpointTranscribers, SpeechModel, Transcribers
from sourcier.services.ingest.stages.sandbox import ParserPool
from sourcier.services.ingest.tokens import Tokens
from sourcier.services.ingest.upkeep.index_building import IndexBuilding
from sourcier.services.ingest.upkeep.space_builder import SpaceBuilder

if TYPE_CHECKING:
    from sourcier.services.ingest.stages.by_parts.vision_endpoint import VisionEndpoint


@dataclass(frozen=True, kw_only=True)
class Parts:
    """What the stages and the server share."""

    settings: IngestSettings
    database: Database
    jetstream: JetStream
    objects: ObjectStore
    parsers: ParserPool | None
    recognisers: Recognisers | None
    """Who reads pages by OCR; None where this process does not."""
    transcribers: Transcribers | None
    """Who hears recordings; None where this process does not."""
    vision: VisionEndpoint | None
    """Who describes pictures; None where nobody does."""
    drawers: ParserPool
    """Who draws pages: the parsers, where this process has some."""
    tokens: Tokens
    space_id: str
    dimension: int
    spaces: CountedSpaces
    """Every space that documents can be embedded into; `space_id` is that of new collections."""
    relay: Relay
    recent: RecentOriginals
    intake: Intake
    removal: Removal
    members: Members
    progress: Progress
    buckets: SourceBuckets
    collector: Collector
    reconciler: Reconciler
    index_building: IndexBuilding
    space_builder: SpaceBuilder
    erasing: Erasing
    enriching: EnrichingPeers | None
    """Who makes knowledge units; None where nobody does."""


def assemble(
    settings: IngestSettings,
    *,
    database: Database,
    jetstream: JetStream,
    objects: ObjectStore,
    parsers: ParserPool | None,
    drawers: ParserPool | None = None,
    tokens: Tokens,
    space_id: str,
    dimension: int,
    further_spaces: Sequence[CountedSpace] = (),
    enriching: EnrichingPeers | None = None,
    recognisers: Recognisers | None = None,
    transcribers: Transcribers | None = None,
    vision: VisionEndpoint | None = None,
) -> Parts:
    """Make the domain objects; no I/O but the reading of the rules' file."""
    spaces = CountedSpaces((CountedSpace(space_id, dimension, tokens), *further_spaces))
    relay = Relay(
        database, jetstream, in_flight_max=settings.in_flight_max, stalled_seconds=settings.stalled_seconds
    )
    recent = RecentOriginals()
    intake = Intake(
        database, objects, relay, recent, space_id=space_id, passage_limit=tokens.passage_limit,
        document_bytes_max=settings.document_bytes_max,
    )
    removal = Removal(
        database, objects, subject_prefix=jetstream.prefix, parts_kept_seconds=settings.parts_kept_seconds
    )
    rules = watched(settings)
    check_watched(rules, source_url=settings.source_s3_url, own_url=settings.s3_url, own_bucket=settings.s3_bucket)
    buckets = SourceBuckets(rules, lambda bucket: source_store(settings, bucket))
    collector = Collector(
        database, objects, buckets, intake, removal, relay, slots=settings.collect_slots
    )
    erasing = Erasing(database, objects, jetstream, removal, Traces(
        database, jetstream, rewrite_bytes_max=settings.erase_rewrite_bytes_max,
        compact_command=settings.compact_command,
    ))
    index_building = IndexBuilding(
        database, deferred_rows_max=settings.hnsw_deferred_rows_max, memory_bytes_max=settings.index_memory_bytes_max
    )
    return Parts(
        settings=settings, database=database, jetstream=jetstream, objects=objects, parsers=parsers,
        drawers=drawers or parsers or ParserPool(started=False), recognisers=recognisers, transcribers=transcribers,
        vision=vision, tokens=tokens, space_id=space_id, dimension=dimension, spaces=spaces, relay=relay, recent=recent,
        intake=intake, removal=removal, members=Members(database, objects, intake, removal, relay),
        progress=Progress(database, jetstream), buckets=buckets, collector=collector,
        reconciler=Reconciler(database, buckets, collector, relay, every_seconds=settings.reconcile_seconds),
        index_building=index_building, space_builder=SpaceBuilder(database, jetstream, spaces, index_building),
        erasing=erasing, enriching=enriching,
    )


def recogniser_pool(settings: IngestSettings) -> Recognisers:
    """Return the pool that reads pages by OCR, not yet open."""
    seconds = settings.ocr_page_seconds_max * PAGES_OF_CHILD
    limits = ParsingLimits(
        wall_seconds=seconds, cpu_seconds=int(seconds * settings.ocr_threads) + 1,
        memory_bytes=settings.ocr_memory_bytes_max, pages=settings.parse_pages_max,
        comments=settings.comments, struck=settings.struck, **settings.picture_limits,  # type: ignore[arg-type]
    )
    return Recognisers(concurrency=settings.ocr_slots, threads=settings.ocr_threads, limits=limits)


def vision_endpoint(settings: IngestSettings) -> VisionEndpoint | None:
    """Return who describes pictures, not yet open; None where nobody does."""
    if not (settings.vision and settings.recognises):
        return None
    # With it comes an HTTP client, which a service without an endpoint does not load.
    from sourcier.services.ingest.stages.by_parts.vision_endpoint import VisionEndpoint

    return VisionEndpoint(
        settings.vision_url, key=settings.vision_api_key.get_secret_value(), model=settings.vision_model,
        seconds_max=settings.vision_seconds_max, concurrency=settings.vision_concurrency,
    )


def transcriber_pool(settings: IngestSettings) -> Transcribers:
    """Return the pool that hears recordings, not yet open; raise ModelInvalid where its model is not there."""
    limits = ParsingLimits(
        wall_seconds=settings.speech_part_seconds_max,
        cpu_seconds=int(settings.speech_part_seconds_max * settings.speech_threads) + 1,
        memory_bytes=settings.speech_memory_bytes_max, comments=settings.comments, struck=settings.struck,
    )
    pool: dict[str, Any] = {
        "concurrency": settings.speech_slots, "threads": settings.speech_threads, "limits": limits,
        "languages": settings.spoken_languages, "seconds_max": settings.speech_minutes_max * 60,
    }
    if settings.speech_url:
        # With it comes an HTTP client, which a service without an endpoint does not load.
        from sourcier.services.ingest.stages.by_parts.speech_endpoint import SpeechEndpoint

        endpoint = SpeechEndpoint(
            settings.speech_url, key=settings.speech_api_key.get_secret_value(), model=settings.speech_endpoint_model,
            languages=settings.spoken_languages, seconds_max=settings.speech_endpoint_seconds_max,
        )
        return EndpointTranscribers(endpoint, **pool)
    return Transcribers(model=speech_model(settings.speech_model, settings.models_root), **pool)


def speech_model(name: str, root: Path) -> SpeechModel:
    """Return the model of the store, or of a folder; raise ModelInvalid where there is none."""
    folder = Path(name)
    if folder.is_absolute():
        if not (folder / "model.bin").is_file():
            raise ModelInvalid(
                f"SOURCIER_INGEST_SPEECH_MODEL names {folder}, which has no model.bin: name a folder with a Whisper "
                "model in the form of CTranslate2, or a model of the store"
            )
        return SpeechModel(str(folder), identity=folder.name)
    model = ModelStore(root).load(name)
    if model.manifest.kind != "speech":
        raise ModelInvalid(
            f"{name} is a model of kind {model.manifest.kind}; SOURCIER_INGEST_SPEECH_MODEL names one of kind speech"
        )
    return SpeechModel(str(model.path), identity=f"{name} {model.manifest.revision}")


def watched(settings: IngestSettings) -> BucketRules:
    """Return the rules of the file, the one rule of the bucket that is named, or none."""
    if settings.bucket_rules is not None:
        return BucketRules.read(settings.bucket_rules)
    return BucketRules.of_bucket(settings.source_bucket) if settings.source_bucket else BucketRules(())


def own_store(settings: IngestSettings) -> ObjectStore:
    """Open the service's own bucket."""
    return ObjectStore.open(
        url=settings.s3_url, bucket=settings.s3_bucket, access_key=settings.s3_access_key.get_secret_value(),
        secret_key=settings.s3_secret_key.get_secret_value(), region=settings.s3_region,
    )


def source_store(settings: IngestSettings, bucket: str) -> ObjectStore:
    """Open a watched bucket: of the store that the settings name for it, or of the service's own."""
    if not settings.source_s3_url:
        return ObjectStore.open(
            url=settings.s3_url, bucket=bucket, access_key=settings.s3_access_key.get_secret_value(),
            secret_key=settings.s3_secret_key.get_secret_value(), region=settings.s3_region,
        )
    return ObjectStore.open(
        url=settings.source_s3_url, bucket=bucket,
        access_key=settings.source_s3_access_key.get_secret_value(),
        secret_key=settings.source_s3_secret_key.get_secret_value(), region=settings.source_s3_region,
    )
