"""Compose the rerank service and run it: `python -m sourcier.services.rerank`."""

from __future__ import annotations

from contextlib import AsyncExitStack

from sourcier.rerank.v1 import rerank_pb2, rerank_pb2_grpc
from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.lifecycle import Stopping
from sourcier.services.chassis.models.processor import usable_cores
from sourcier.services.chassis.models.store import ModelStore
from sourcier.services.rerank.entailment import EntailmentModel
from sourcier.services.rerank.executor import EntailmentExecutor, RankExecutor
from sourcier.services.rerank.late_interaction import LateInteractionRanker
from sourcier.services.rerank.ranker import Ranker
from sourcier.services.rerank.server import RerankServer
from sourcier.services.rerank.settings import RerankSettings

SERVICE_NAME = rerank_pb2.DESCRIPTOR.services_by_name["RerankService"].full_name


def open_ranker(settings: RerankSettings, *, threads: int) -> Ranker:
    """Return late interaction, or the cross-encoder that the settings name."""
    if not settings.model:
        return LateInteractionRanker()
    from sourcier.services.rerank.cross_encoder import CrossEncoderRanker

    model = ModelStore(settings.models_root).load(settings.model)
    return CrossEncoderRanker(model, threads=threads, batch_texts_max=settings.batch_texts_max)


async def open_entailment(
    settings: RerankSettings, opened: AsyncExitStack, *, threads: int
) -> EntailmentExecutor | None:
    """Open the entailment model that the settings name, or none."""
    if not settings.entailment_model:
        return None
    model = ModelStore(settings.models_root).load(settings.entailment_model)
    return await opened.enter_async_context(EntailmentExecutor(
        EntailmentModel(model, threads=threads, batch_texts_max=settings.batch_texts_max),
        waiting_max=settings.waiting_max, seconds_max=settings.seconds_max,
    ))


async def main(settings: RerankSettings, stopping: Stopping) -> None:
    """Open what the service needs, in order, and serve until told to stop."""
    threads = settings.threads or usable_cores()
    ranker = open_ranker(settings, threads=threads)
    async with (
        RankExecutor(ranker, threads=1 if settings.model else threads, waiting_max=settings.waiting_max,
                     seconds_max=settings.seconds_max) as executor,
        lifecycle.inner_server(settings) as server,
        AsyncExitStack() as opened,
    ):
        entailment = await open_entailment(settings, opened, threads=threads)
        server.add(rerank_pb2_grpc.add_RerankServiceServicer_to_server,
                   RerankServer(executor, candidates_max=settings.candidates_max, entailment=entailment),
                   SERVICE_NAME)
        await lifecycle.serve(server, [], stopping)


if __name__ == "__main__":
    lifecycle.run("rerank", RerankSettings, main)
