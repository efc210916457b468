"""Compose the ingest service and run it: `python -m sourcier.services.ingest`."""

from __future__ import annotations

from contextlib import AsyncExitStack

from sourcier.ingest.v1 import (
    ingest_pb2,
    ingest_pb2_grpc,
    originals_pb2,
    originals_pb2_grpc,
    spaces_pb2,
    spaces_pb2_grpc,
    transfer_pb2,
    transfer_pb2_grpc,
)
from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.lifecycle import Stopping
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.chassis.postgres.migrating import migrate
from sourcier.services.chassis.postgres.migration_wait import wait_until_migrated
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.index import migrations
from sourcier.services.index.spaces.spaces import ensure_space
from sourcier.services.ingest import counted_spaces
from sourcier.services.ingest.api.documents import IngestServer
from sourcier.services.ingest.api.originals import OriginalServer
from sourcier.services.ingest.api.spaces import SpaceServer
from sourcier.services.ingest.api.transfer import TransferServer
from sourcier.services.ingest.components import (
    assemble,
    own_store,
    recogniser_pool,
    transcriber_pool,
    vision_endpoint,
)
from sourcier.services.ingest.enriching.peers import EnrichingPeers
from sourcier.services.ingest.parsing.limits import ParsingLimits
from sourcier.services.ingest.settings import IngestSettings
from sourcier.services.ingest.stages.sandbox import ParserPool
from sourcier.services.ingest.worker import serve

SERVICE_NAME = ingest_pb2.DESCRIPTOR.services_by_name["IngestService"].full_name
ORIGINAL_SERVICE_NAME = originals_pb2.DESCRIPTOR.services_by_name["OriginalService"].full_name
SPACE_SERVICE_NAME = spaces_pb2.DESCRIPTOR.services_by_name["SpaceService"].full_name
TRANSFER_SERVICE_NAME = transfer_pb2.DESCRIPTOR.services_by_name["TransferService"].full_name


async def main(settings: IngestSettings, stopping: Stopping) -> None:
    """Open what the service needs, in order, and serve until told to stop."""
    loaded = counted_spaces.load(ModelStore(settings.models_root), settings.embed_model_names)
    default, *further = (counted for _, counted in loaded)
    objects = own_store(settings)
    postgres_url = settings.postgres_url.get_secret_value()
    if settings.migrate:
        await migrate(postgres_url, migrations.FOLDER, schema=settings.schema_name,
                      start_wait_seconds=settings.start_wait_seconds,
                      migration_wait_seconds=settings.migration_wait_seconds)
    async with AsyncExitStack() as opened:
        database = await opened.enter_async_context(Database(DatabaseSettings(
            url=postgres_url, schema=settings.schema_name, connections_max=settings.connections_max,
            start_wait_seconds=settings.start_wait_seconds,
        )))
        await wait_until_migrated(database, migrations.FOLDER, seconds_max=settings.migration_wait_seconds)
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            for space, _ in loaded:
                await ensure_space(connection, space)
            await counted_spaces.tell_not_loaded(connection, [space.space_id for space, _ in loaded])
        jetstream = await opened.enter_async_context(JetStream(
            url=settings.nats_url.get_secret_value(), prefix=settings.subject_prefix,
            replicas=settings.stream_replicas, limits=settings.queue_limits, name="ingest",
            credentials=settings.nats_credentials_file, tls=settings.nats_tls,
            wait_seconds=settings.start_wait_seconds,
        ))
        parses = "parse" in settings.stage_names
        limits = ParsingLimits(
            wall_seconds=settings.parse_seconds_max, cpu_seconds=int(settings.parse_seconds_max) + 1,
            memory_bytes=settings.parse_memory_bytes_max, pages=settings.parse_pages_max,
            member_bytes=settings.document_bytes_max,
            comments=settings.comments, struck=settings.struck, **settings.picture_limits,  # type: ignore[arg-type]
        )
        # Where nothing is parsed, pages are drawn all the same, and the pool starts with the first one.
        pool = await opened.enter_async_context(
            ParserPool(concurrency=settings.parse_slots, limits=limits, started=parses)
        )
        recognisers = await opened.enter_async_context(recogniser_pool(settings)) if settings.recognises else None
        transcribers = await opened.enter_async_context(transcriber_pool(settings)) if settings.transcribes else None
        endpoint = vision_endpoint(settings)
        vision = await opened.enter_async_context(endpoint) if endpoint else None
        server = await opened.enter_async_context(lifecycle.inner_server(settings))
        enriching = await opened.enter_async_context(EnrichingPeers(
            generate_url=settings.generate_url, embed_url=settings.embed_url,
            generate_seconds_max=settings.enrich_seconds_max, wait_seconds_max=settings.enrich_wait_seconds_max,
            identity=settings.identity,
        )) if settings.enriches else None
        parts = assemble(
            settings, database=database, jetstream=jetstream, objects=objects,
            parsers=pool if parses else None, drawers=pool,
            tokens=default.tokens, space_id=default.space_id, dimension=default.dimension, further_spaces=further,
            enriching=enriching, recognisers=recognisers, transcribers=transcribers, vision=vision,
        )
        server.add(ingest_pb2_grpc.add_IngestServiceServicer_to_server, IngestServer(parts), SERVICE_NAME)
        server.add(originals_pb2_grpc.add_OriginalServiceServicer_to_server, OriginalServer(parts),
                   ORIGINAL_SERVICE_NAME)
        server.add(spaces_pb2_grpc.add_SpaceServiceServicer_to_server, SpaceServer(parts), SPACE_SERVICE_NAME)
        server.add(transfer_pb2_grpc.add_TransferServiceServicer_to_server, TransferServer(parts),
                   TRANSFER_SERVICE_NAME)
        await serve(server, parts, stopping)


if __name__ == "__main__":
    lifecycle.run("ingest", IngestSettings, main)
