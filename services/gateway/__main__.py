"""Compose the gateway and run it: `python -m services.gateway`."""

from __future__ import annotations

from contextlib import AsyncExitStack

from services.chassis import channels, lifecycle
from services.chassis.jetstream import JetStream
from services.chassis.lifecycle import Stopping, Worker
from services.chassis.postgres import Database, DatabaseSettings
from services.chassis.serving import Server
from services.gateway.agents import Agents
from services.gateway.answering import Answerer
from services.gateway.curation_server import CurationServer
from services.gateway.direct_answers import DirectAnswers
from services.gateway.knowledge_server import KnowledgeServer
from services.gateway.learned_vectors import LearnedVectors
from services.gateway.operations_server import OperationsServer
from services.gateway.peers import Limits, Peers
from services.gateway.retrieval import Retriever
from services.gateway.server import AnswerServer
from services.gateway.settings import GatewaySettings
from services.gateway.space_server import SpaceServer
from services.gateway.transfer_server import TransferServer
from services.gateway.webhook import Webhook
from sourcier.gateway.v1 import (
    answer_pb2,
    answer_pb2_grpc,
    curation_pb2,
    curation_pb2_grpc,
    knowledge_pb2,
    knowledge_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    spaces_pb2,
    spaces_pb2_grpc,
    transfer_pb2,
    transfer_pb2_grpc,
)
from sourcier.ingest.v1 import transfer_pb2_grpc as internal_transfer_grpc

ANSWER_SERVICE_NAME = answer_pb2.DESCRIPTOR.services_by_name["AnswerService"].full_name
CURATION_SERVICE_NAME = curation_pb2.DESCRIPTOR.services_by_name["CurationService"].full_name
KNOWLEDGE_SERVICE_NAME = knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"].full_name
OPERATIONS_SERVICE_NAME = operations_pb2.DESCRIPTOR.services_by_name["OperationsService"].full_name
SPACE_SERVICE_NAME = spaces_pb2.DESCRIPTOR.services_by_name["SpaceService"].full_name
TRANSFER_SERVICE_NAME = transfer_pb2.DESCRIPTOR.services_by_name["TransferService"].full_name


async def main(settings: GatewaySettings, stopping: Stopping) -> None:
    """Open what the service needs, in order, and serve until told to stop."""
    async with (
        Database(DatabaseSettings(
            url=settings.postgres_url.get_secret_value(), schema=settings.schema_name,
            connections_max=settings.connections_max, statement_timeout_seconds=settings.search_seconds_max,
        )) as database,
        Peers(
            ingest_url=settings.ingest_url, embed_url=settings.embed_url, rerank_url=settings.rerank_url,
            generate_url=settings.generate_url,
            limits=Limits(
                embed_seconds=settings.embed_seconds_max, rerank_seconds=settings.rerank_seconds_max,
                generate_seconds=settings.generate_seconds_max,
            ),
        ) as peers,
        Server(listen=settings.listen, grace_seconds=settings.grace_seconds,
               concurrent_calls_max=settings.concurrent_calls_max) as server,
        AsyncExitStack() as opened,
    ):
        retriever = Retriever(
            database, peers, result_threshold=settings.result_threshold,
            search_seconds_max=settings.search_seconds_max,
        )
        direct = DirectAnswers(
            database, peers, similarity_min=settings.direct_similarity, search_seconds_max=settings.search_seconds_max
        )
        answers = AnswerServer(retriever, Answerer(retriever, peers, direct), settings, Agents(database))
        server.add(answer_pb2_grpc.add_AnswerServiceServicer_to_server, answers, ANSWER_SERVICE_NAME)
        server.add(curation_pb2_grpc.add_CurationServiceServicer_to_server,
                   CurationServer(database, peers, responses_max=settings.learned_responses_max),
                   CURATION_SERVICE_NAME)
        server.add(knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server,
                   KnowledgeServer(database, peers), KNOWLEDGE_SERVICE_NAME)
        server.add(operations_pb2_grpc.add_OperationsServiceServicer_to_server, OperationsServer(peers),
                   OPERATIONS_SERVICE_NAME)
        server.add(spaces_pb2_grpc.add_SpaceServiceServicer_to_server, SpaceServer(database, peers), SPACE_SERVICE_NAME)
        # A connection of its own: an import fills it for minutes, and questions of jobs must not wait behind it.
        imports = channels.open_channel(settings.ingest_url)
        opened.push_async_callback(imports.close)
        server.add(transfer_pb2_grpc.add_TransferServiceServicer_to_server,
                   TransferServer(database, internal_transfer_grpc.TransferServiceStub(imports)),
                   TRANSFER_SERVICE_NAME)
        vectors = LearnedVectors(database, peers.embed, interval_seconds=settings.learned_vectors_seconds)
        await lifecycle.serve(server, [vectors, *await _workers(settings, opened)], stopping)


async def _workers(settings: GatewaySettings, opened: AsyncExitStack) -> list[Worker]:
    """Open the webhook where one is asked for; questions need no queue."""
    if not settings.http_listen:
        return []
    jetstream = await opened.enter_async_context(JetStream(
        url=settings.nats_url.get_secret_value(), prefix=settings.subject_prefix, replicas=settings.stream_replicas,
        limits=settings.queue_limits, name="gateway",
    ))
    return [await opened.enter_async_context(Webhook(
        jetstream, listen=settings.http_listen, token=settings.webhook_token.get_secret_value(),
        in_hand_max=settings.webhook_in_hand_max, grace_seconds=settings.grace_seconds,
    ))]


if __name__ == "__main__":
    lifecycle.run("gateway", GatewaySettings, main)
