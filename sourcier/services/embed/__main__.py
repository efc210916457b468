"""Compose the embed service and run it: `python -m sourcier.services.embed`."""

from __future__ import annotations

from sourcier.embed.v1 import embed_pb2, embed_pb2_grpc
from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.lifecycle import Stopping
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.embed.batcher import Batcher
from sourcier.services.embed.encoder import Encoder
from sourcier.services.embed.engines import open_engine
from sourcier.services.embed.server import EmbedServer
from sourcier.services.embed.settings import EmbedSettings
from sourcier.services.embed.worker import embed_consumer

SERVICE_NAME = embed_pb2.DESCRIPTOR.services_by_name["EmbedService"].full_name


async def main(settings: EmbedSettings, stopping: Stopping) -> None:
    """Open what the service needs, in order, and serve until told to stop."""
    model = ModelStore(settings.models_root).load(settings.model)
    engine = open_engine(model, name=settings.engine, threads=settings.threads, streams=settings.streams,
                         fixed_lengths_max=settings.fixed_lengths_max)
    encoder = Encoder(model, engine)
    async with (
        Batcher(encoder, streams=encoder.streams, queue_tokens_max=settings.queue_tokens_max,
                batch_tokens_max=settings.batch_tokens_max or engine.batch_tokens,
                batch_seconds_max=settings.batch_seconds_max, stopping=stopping) as batcher,
        JetStream(url=settings.nats_url.get_secret_value(), prefix=settings.subject_prefix,
                  replicas=settings.stream_replicas, limits=settings.queue_limits, name="embed",
                  credentials=settings.nats_credentials_file, tls=settings.nats_tls,
                  wait_seconds=settings.start_wait_seconds) as jetstream,
        lifecycle.inner_server(settings) as server,
    ):
        await batcher.warm_up()
        server.add(embed_pb2_grpc.add_EmbedServiceServicer_to_server,
                   EmbedServer(batcher, cache_size=settings.query_cache_size,
                               cache_bytes_max=settings.query_cache_bytes_max), SERVICE_NAME)
        worker = embed_consumer(jetstream, batcher, interactive=settings.interactive_slots, bulk=settings.bulk_slots)
        await lifecycle.serve(server, [worker], stopping)
        if batcher.lost is not None:
            # Stopped in order, but nobody asked for it: with a code over 0 the service is started again.
            raise batcher.lost


if __name__ == "__main__":
    lifecycle.run("embed", EmbedSettings, main)
