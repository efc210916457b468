"""Compose the ingest service and run it: `python -m services.ingest`."""

from __future__ import annotations

from contextlib import AsyncExitStack

from services.chassis import lifecycle
from services.chassis.jetstream import JetStream
from services.chassis.lifecycle import Stopping
from services.chassis.models import ModelStore
from services.chassis.objects import ObjectStore
from services.chassis.postgres import ALL_TENANTS, Database, DatabaseSettings, migrate
from services.chassis.serving import Server
from services.index import migrations
from services.index.spaces import EmbeddingSpace, ensure_space
from services.ingest.intake import Intake
from services.ingest.parsing.limits import ParsingLimits
from services.ingest.relay import Relay
from services.ingest.sandbox import ParserPool
from services.ingest.server import IngestServer
from services.ingest.settings import IngestSettings
from services.ingest.tokens import TokenCounter
from services.ingest.worker import pipeline
from sourcier.ingest.v1 import ingest_pb2, ingest_pb2_grpc

WEIGHTS_ORIGIN = "tokenizer unigram scores"
SERVICE_NAME = ingest_pb2.DESCRIPTOR.services_by_name["IngestService"].full_name


async def main(settings: IngestSettings, stopping: Stopping) -> None:
    """Open what the service needs, in order, and serve until told to stop."""
    store = ModelStore(settings.models_root)
    manifest = store.describe(settings.embed_model)
    tokens = TokenCounter.load(
        store.root / settings.embed_model / "tokenizer.json", token_limit=manifest.token_limit,
        passage_prefix=manifest.passage_prefix,
    )
    objects = ObjectStore.open(
        url=settings.s3_url, bucket=settings.s3_bucket, access_key=settings.s3_access_key.get_secret_value(),
        secret_key=settings.s3_secret_key.get_secret_value(), region=settings.s3_region,
    )
    postgres_url = settings.postgres_url.get_secret_value()
    await migrate(postgres_url, migrations.FOLDER, schema=settings.schema_name)
    async with AsyncExitStack() as opened:
        database = await opened.enter_async_context(Database(DatabaseSettings(
            url=postgres_url, schema=settings.schema_name, connections_max=settings.connections_max
        )))
        async with database.transaction(tenant=ALL_TENANTS) as connection:
            await ensure_space(connection, EmbeddingSpace(
                space_id=manifest.space_id, model=manifest.name, revision=manifest.revision,
                dimension=manifest.dimension, query_prefix=manifest.query_prefix,
                passage_prefix=manifest.passage_prefix, pooling=manifest.pooling,
                token_mean_sha256=manifest.token_statistics, token_weights=WEIGHTS_ORIGIN,
            ))
        jetstream = await opened.enter_async_context(JetStream(
            url=settings.nats_url.get_secret_value(), prefix=settings.subject_prefix,
            replicas=settings.stream_replicas, name="ingest",
        ))
        parsers = None
        if "parse" in settings.stage_names:
            limits = ParsingLimits(
                wall_seconds=settings.parse_seconds_max, cpu_seconds=int(settings.parse_seconds_max) + 1,
                memory_bytes=settings.parse_memory_bytes_max, pages=settings.parse_pages_max,
            )
            parsers = await opened.enter_async_context(ParserPool(concurrency=settings.parse_slots, limits=limits))
        server = await opened.enter_async_context(Server(
            listen=settings.listen, grace_seconds=settings.grace_seconds,
            concurrent_calls_max=settings.concurrent_calls_max,
        ))
        relay = Relay(
            database, jetstream, in_flight_max=settings.in_flight_max, stalled_seconds=settings.stalled_seconds
        )
        intake = Intake(
            database, objects, relay, space_id=manifest.space_id, passage_limit=tokens.passage_limit,
            document_bytes_max=settings.document_bytes_max,
        )
        server.add(ingest_pb2_grpc.add_IngestServiceServicer_to_server,
                   IngestServer(intake, database, objects, jetstream), SERVICE_NAME)
        workers = pipeline(
            settings, database=database, jetstream=jetstream, objects=objects, relay=relay, parsers=parsers,
            tokens=tokens, space_id=manifest.space_id, dimension=manifest.dimension,
        )
        await lifecycle.serve(server, workers, stopping)


if __name__ == "__main__":
    lifecycle.run("ingest", IngestSettings, main)
