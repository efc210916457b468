"""Compose the gateway and run it: `python -m services.gateway`."""

from __future__ import annotations

from services.chassis import lifecycle
from services.chassis.lifecycle import Stopping
from services.chassis.postgres import Database, DatabaseSettings
from services.chassis.serving import Server
from services.gateway.answering import Answerer
from services.gateway.knowledge_server import KnowledgeServer
from services.gateway.peers import Limits, Peers
from services.gateway.retrieval import Retriever
from services.gateway.server import AnswerServer
from services.gateway.settings import GatewaySettings
from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc

ANSWER_SERVICE_NAME = answer_pb2.DESCRIPTOR.services_by_name["AnswerService"].full_name
KNOWLEDGE_SERVICE_NAME = knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"].full_name


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
    ):
        retriever = Retriever(
            database, peers, result_threshold=settings.result_threshold,
            search_seconds_max=settings.search_seconds_max,
        )
        server.add(answer_pb2_grpc.add_AnswerServiceServicer_to_server,
                   AnswerServer(retriever, Answerer(retriever, peers), settings), ANSWER_SERVICE_NAME)
        server.add(knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server,
                   KnowledgeServer(database, peers), KNOWLEDGE_SERVICE_NAME)
        await lifecycle.serve(server, [], stopping)


if __name__ == "__main__":
    lifecycle.run("gateway", GatewaySettings, main)
