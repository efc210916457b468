"""Compose the gateway and run it: `python -m sourcier.services.gateway`."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from sourcier.gateway.v1 import (
    access_pb2,
    access_pb2_grpc,
    answer_pb2,
    answer_pb2_grpc,
    conversation_pb2,
    conversation_pb2_grpc,
    curation_pb2,
    curation_pb2_grpc,
    knowledge_pb2,
    knowledge_pb2_grpc,
    models_pb2,
    models_pb2_grpc,
    operations_pb2,
    operations_pb2_grpc,
    spaces_pb2,
    spaces_pb2_grpc,
    transfer_pb2,
    transfer_pb2_grpc,
)
from sourcier.ingest.v1 import transfer_pb2_grpc as internal_transfer_grpc
from sourcier.services.chassis import lifecycle
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.lifecycle import Stopping, Worker
from sourcier.services.chassis.postgres.database import Database, DatabaseSettings
from sourcier.services.chassis.postgres.migration_wait import wait_until_migrated
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.chassis.tls.serving import TlsFiles
from sourcier.services.gateway.access.api_keys import ApiKeys
from sourcier.services.gateway.access.daily import DailyUse
from sourcier.services.gateway.access.gate import audit_log, make_gate
from sourcier.services.gateway.access.settings import AccessSettings
from sourcier.services.gateway.agents import Agents
from sourcier.services.gateway.answering.analysing import Analyser
from sourcier.services.gateway.answering.answerer import Answerer
from sourcier.services.gateway.answering.assessing import Assessor
from sourcier.services.gateway.answering.baseline import Backgrounds
from sourcier.services.gateway.answering.by_tools.tools import ToolAnswerer
from sourcier.services.gateway.api.access import AccessServer
from sourcier.services.gateway.api.answer import AnswerServer
from sourcier.services.gateway.api.conversation import ConversationServer
from sourcier.services.gateway.api.curation import CurationServer
from sourcier.services.gateway.api.diagnosis import Diagnosis
from sourcier.services.gateway.api.knowledge import KnowledgeServer
from sourcier.services.gateway.api.model import ModelServer
from sourcier.services.gateway.api.operations import OperationsServer
from sourcier.services.gateway.api.retrieval_options import RetrievalPlanner
from sourcier.services.gateway.api.space import SpaceServer
from sourcier.services.gateway.api.transfer import TransferServer
from sourcier.services.gateway.dialogue.dialogue import Dialogue
from sourcier.services.gateway.dialogue.expiring import ExpiringConversations
from sourcier.services.gateway.dialogue.rewriting import Rewriter
from sourcier.services.gateway.evidence.entailment import Entailment
from sourcier.services.gateway.evidence.judge import Judge
from sourcier.services.gateway.evidence.second_opinion import Opinions
from sourcier.services.gateway.live.answers import Answers
from sourcier.services.gateway.live.log import AnswerLog
from sourcier.services.gateway.live.warming import Reading, Warming
from sourcier.services.gateway.peers.services import Limits, Peers
from sourcier.services.gateway.phrases import messages_in
from sourcier.services.gateway.points.importing import PointImporter
from sourcier.services.gateway.prompting.marking import open_marking
from sourcier.services.gateway.retrieval.lent_models import LentModels
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.gateway.validated.direct_answers import DirectAnswers
from sourcier.services.gateway.validated.learned_vectors import LearnedVectors
from sourcier.services.index import migrations

logger = logging.getLogger(__name__)

ACCESS_SERVICE_NAME = access_pb2.DESCRIPTOR.services_by_name["AccessService"].full_name
ANSWER_SERVICE_NAME = answer_pb2.DESCRIPTOR.services_by_name["AnswerService"].full_name
CONVERSATION_SERVICE_NAME = conversation_pb2.DESCRIPTOR.services_by_name["ConversationService"].full_name
CURATION_SERVICE_NAME = curation_pb2.DESCRIPTOR.services_by_name["CurationService"].full_name
KNOWLEDGE_SERVICE_NAME = knowledge_pb2.DESCRIPTOR.services_by_name["KnowledgeService"].full_name
MODEL_SERVICE_NAME = models_pb2.DESCRIPTOR.services_by_name["ModelService"].full_name
OPERATIONS_SERVICE_NAME = operations_pb2.DESCRIPTOR.services_by_name["OperationsService"].full_name
SPACE_SERVICE_NAME = spaces_pb2.DESCRIPTOR.services_by_name["SpaceService"].full_name
TRANSFER_SERVICE_NAME = transfer_pb2.DESCRIPTOR.services_by_name["TransferService"].full_name


async def main(settings: GatewaySettings, stopping: Stopping) -> None:
    """Open what the service needs, in order, and serve until told to stop."""
    async with (
        open_database(settings) as database,
        Peers(
            ingest_url=settings.ingest_url, embed_url=settings.embed_url, rerank_url=settings.rerank_url,
            generate_url=settings.generate_url,
            limits=Limits(
                embed_seconds=settings.embed_seconds_max, rerank_seconds=settings.rerank_seconds_max,
                generate_seconds=settings.generate_seconds_max,
            ),
            ranks_here=settings.ranking == "auto", identity=settings.identity,
        ) as peers,
        open_answers(settings) as answers,
        open_server(settings, ApiKeys(database), database) as server,
        AsyncExitStack() as opened,
    ):
        retriever = Retriever(
            database, peers, result_threshold=settings.result_threshold,
            search_seconds_max=settings.search_seconds_max,
            closeness=settings.closeness, places=settings.search_places, title_weight=settings.title_weight,
        )
        daily = DailyUse(database, settings.daily_limits)
        backgrounds = Backgrounds(peers)
        dialogue = _dialogue(settings, database, peers, retriever, backgrounds)
        server.add(answer_pb2_grpc.add_AnswerServiceServicer_to_server,
                   AnswerServer(retriever, dialogue, settings, answers, Agents(database),
                                RetrievalPlanner(database, settings), daily), ANSWER_SERVICE_NAME)
        server.add(conversation_pb2_grpc.add_ConversationServiceServicer_to_server, ConversationServer(database),
                   CONVERSATION_SERVICE_NAME)
        server.add(curation_pb2_grpc.add_CurationServiceServicer_to_server,
                   CurationServer(database, peers, responses_max=settings.learned_responses_max),
                   CURATION_SERVICE_NAME)
        server.add(knowledge_pb2_grpc.add_KnowledgeServiceServicer_to_server,
                   KnowledgeServer(database, peers, daily), KNOWLEDGE_SERVICE_NAME)
        server.add(models_pb2_grpc.add_ModelServiceServicer_to_server, ModelServer(LentModels(database, peers)),
                   MODEL_SERVICE_NAME)
        server.add(operations_pb2_grpc.add_OperationsServiceServicer_to_server,
                   OperationsServer(peers, Diagnosis(
                       database, peers, broker=answers.broker_room, certificate=settings.tls_certificate)),
                   OPERATIONS_SERVICE_NAME)
        server.add(spaces_pb2_grpc.add_SpaceServiceServicer_to_server, SpaceServer(database, peers), SPACE_SERVICE_NAME)
        # A connection of its own: an import fills it for minutes, and questions of jobs must not wait behind it.
        imports = channels.open_channel(settings.ingest_url, identity=settings.identity)
        opened.push_async_callback(imports.close)
        transfers = internal_transfer_grpc.TransferServiceStub(imports)
        server.add(transfer_pb2_grpc.add_TransferServiceServicer_to_server,
                   TransferServer(database, transfers, PointImporter(database, peers, transfers)),
                   TRANSFER_SERVICE_NAME)
        vectors = LearnedVectors(database, peers.embed, interval_seconds=settings.learned_vectors_seconds)
        warming = Warming(peers, backgrounds, reading=_reading(settings))
        kept = settings.conversation_retention_days, settings.answer_retention_days
        expiring: list[Worker] = [] if kept == (None, None) else [
            ExpiringConversations(database, retention_days=kept[0], answer_retention_days=kept[1])
        ]
        workers: list[Worker] = [answers, vectors, warming, *expiring, *await _workers(settings, opened)]
        await lifecycle.serve(server, workers, stopping)


def _dialogue(
    settings: GatewaySettings, database: Database, peers: Peers, retriever: Retriever, backgrounds: Backgrounds
) -> Dialogue:
    """Put together what answers a question of a conversation."""
    marking = open_marking(settings.prompt_secret.get_secret_value())
    direct = DirectAnswers(
        database, peers, similarity_min=settings.direct_similarity,
        search_seconds_max=settings.search_seconds_max, sources=settings.validated_sources,
    )
    opinions = Opinions(Judge(peers, settings.judging), Entailment(peers, settings.entailing))
    assessor = Assessor(database, backgrounds, seconds_max=settings.search_seconds_max)
    answerer = Answerer(
        retriever, peers, marking, direct, opinions,
        by_tools=ToolAnswerer(retriever, peers, marking, opinions, assessor),
        analyser=Analyser(peers, database, seconds_max=settings.analyse_seconds_max),
        assessor=assessor, prefers_in_force=settings.prefer_in_force, extracts=settings.extracts,
        in_parts=settings.answer_in_parts,
    )
    return Dialogue(answerer, Rewriter(peers, seconds_max=settings.rewrite_seconds_max), database, settings.dialogue)


def _reading(settings: GatewaySettings) -> Reading | None:
    """Return what the model may read ahead, where it is one that reads slowly."""
    if not settings.sources_characters_max:
        return None
    messages = messages_in(settings.default_language)
    return Reading(messages, settings.refusal_text or messages.refusal)


@asynccontextmanager
async def open_server(settings: GatewaySettings, keys: ApiKeys, database: Database) -> AsyncIterator[Server]:
    """Open the server behind its gate, with the service that tells how to pass it."""
    gate = await make_gate(settings, keys, listen=settings.listen)
    with audit_log(settings, gate):
        async with Server(
            listen=settings.listen, health_listen=settings.health_listen,
            grace_seconds=settings.grace_seconds, gate=gate, tls=tls_files(settings),
            concurrent_calls_max=settings.concurrent_calls_max, limits=settings.serving_limits,
        ) as server:
            server.add(access_pb2_grpc.add_AccessServiceServicer_to_server,
                       AccessServer(database, keys, settings, required=not gate.names_tenant), ACCESS_SERVICE_NAME)
            yield server


def tls_files(settings: AccessSettings) -> TlsFiles | None:
    """Return where the certificate is; None without TLS."""
    if settings.tls_certificate is None or settings.tls_key is None:
        return None
    return TlsFiles(certificate=settings.tls_certificate, key=settings.tls_key, client_ca=settings.tls_client_ca)


@asynccontextmanager
async def open_database(settings: GatewaySettings) -> AsyncIterator[Database]:
    """Open the database, once it is migrated: nothing listens before, whichever of the services starts first."""
    async with Database(DatabaseSettings(
        url=settings.postgres_url.get_secret_value(), schema=settings.schema_name,
        connections_max=settings.connections_max, statement_timeout_seconds=settings.search_seconds_max,
        start_wait_seconds=settings.start_wait_seconds,
    )) as database:
        await wait_until_migrated(database, migrations.FOLDER, seconds_max=settings.migration_wait_seconds)
        yield database


@asynccontextmanager
async def open_answers(settings: GatewaySettings) -> AsyncIterator[Answers]:
    """Open the answers in the making, and their copies where NATS is known."""
    async with AsyncExitStack() as opened:
        log = None
        if url := settings.nats_url.get_secret_value():
            log = await opened.enter_async_context(AnswerLog(
                url=url, prefix=settings.subject_prefix, replicas=settings.stream_replicas,
                limits=settings.queue_limits, credentials=settings.nats_credentials_file, tls=settings.nats_tls,
            ))
        else:
            logger.info("SOURCIER_NATS_URL is not set: answers can be resumed at the gateway that makes them alone")
        yield await opened.enter_async_context(Answers(
            log, linger_seconds=settings.answer_linger_seconds, answers_max=settings.answers_max,
            grace_seconds=settings.grace_seconds,
        ))


async def _workers(settings: GatewaySettings, opened: AsyncExitStack) -> list[Worker]:
    """Open the webhook where one is asked for."""
    if not settings.http_listen:
        return []
    # With an HTTP server of its own, a quarter of a second to import, and few ask for it.
    from sourcier.services.gateway.api.webhook import Webhook

    jetstream = await opened.enter_async_context(JetStream(
        url=settings.nats_url.get_secret_value(), prefix=settings.subject_prefix, replicas=settings.stream_replicas,
        limits=settings.queue_limits, name="gateway", credentials=settings.nats_credentials_file,
        tls=settings.nats_tls, wait_seconds=settings.start_wait_seconds,
    ))
    return [await opened.enter_async_context(Webhook(
        jetstream, listen=settings.http_listen, token=settings.webhook_token.get_secret_value(),
        in_hand_max=settings.webhook_in_hand_max, grace_seconds=settings.grace_seconds,
    ))]


if __name__ == "__main__":
    lifecycle.run("gateway", GatewaySettings, main)
