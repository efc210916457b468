"""A collection moves to another embedding space under a load of queries: none fails, none mixes the two.

The real gateway, ingest and two real embed services of different dimensions, in this process, over real NATS,
PostgreSQL and S3; only the models' graphs are arithmetic.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from sourcier import Client
from sourcier.embed.v1 import embed_pb2_grpc
from sourcier.errors import FailedPrecondition
from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc, curation_pb2_grpc, spaces_pb2, spaces_pb2_grpc
from sourcier.services.chassis.grpc.channels import open_channel
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.models.store import Model
from sourcier.services.chassis.queue import consuming
from sourcier.services.chassis.queue.jetstream import JetStream
from sourcier.services.embed.batcher import Batcher
from sourcier.services.embed.encoder import Encoder
from sourcier.services.embed.server import EmbedServer
from sourcier.services.embed.worker import embed_consumer
from sourcier.services.gateway.__main__ import open_answers
from sourcier.services.gateway.access.daily import DailyLimits, DailyUse
from sourcier.services.gateway.agents import Agents
from sourcier.services.gateway.answering.answerer import Answerer
from sourcier.services.gateway.api.answer import AnswerServer
from sourcier.services.gateway.api.curation import CurationServer
from sourcier.services.gateway.api.retrieval_options import RetrievalPlanner
from sourcier.services.gateway.api.space import SpaceServer
from sourcier.services.gateway.dialogue.dialogue import Dialogue
from sourcier.services.gateway.dialogue.rewriting import Rewriter
from sourcier.services.gateway.peers.services import Limits, Peers
from sourcier.services.gateway.prompting.marking import Marking
from sourcier.services.gateway.retrieval.retriever import Retriever
from sourcier.services.gateway.settings import GatewaySettings
from sourcier.services.gateway.validated.direct_answers import DirectAnswers
from sourcier.services.gateway.validated.learned_vectors import LearnedVectors
from sourcier.services.index.spaces.spaces import EmbeddingSpace
from sourcier.services.ingest import relay
from tests.fix_servers import S3Bucket
from tests.integration.gateway.fix_gateway import closed_port
from tests.integration.ingest.fix_pipeline import TENANT, Pipeline, ingesting
from tests.unit.embed.fix_embedding import ArithmeticEngine, text_of, write_model
from tests.unit.ingest.fix_words import WordCounter

WIDE_DIMENSION = 24
WORDS = ("chat", "chien", "dort", "mange", "télétravail", "congés", "jours", "mot")
QUESTIONS = ("le chat dort", "le chien mange", "télétravail jours", "la congés mot")
STATE = spaces_pb2.SpaceBuildState


def space_of(model: Model) -> EmbeddingSpace:
    manifest = model.manifest
    return EmbeddingSpace(
        space_id=manifest.space_id, model=manifest.label, revision=manifest.revision, dimension=manifest.dimension,
        query_prefix=manifest.query_prefix, passage_prefix=manifest.passage_prefix, pooling=manifest.pooling,
        token_mean_sha256=manifest.token_statistics, token_weights="test",
    )


@asynccontextmanager
async def embed_service(model: Model, jetstream: JetStream) -> AsyncIterator[str]:
    """Run an embed service, server and worker; yield its address."""
    encoder = Encoder(model, ArithmeticEngine(dimension=model.manifest.dimension))
    stopping = asyncio.Event()
    async with (
        Batcher(encoder, streams=1, queue_tokens_max=100_000, batch_tokens_max=512, batch_seconds_max=60,
                stopping=stopping) as batcher,
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=64) as server,
        asyncio.TaskGroup() as group,
    ):
        server.add(embed_pb2_grpc.add_EmbedServiceServicer_to_server,
                   EmbedServer(batcher, cache_size=0, cache_bytes_max=0), "sourcier.embed.v1.EmbedService")
        await server.start()
        group.create_task(embed_consumer(jetstream, batcher, interactive=2, bulk=2).run(stopping))
        try:
            yield f"127.0.0.1:{server.port}"
        finally:
            stopping.set()


@asynccontextmanager
async def gateway(pipeline: Pipeline, embed_url: str) -> AsyncIterator[str]:
    """Run the gateway's servers and its worker; yield their address."""
    settings = GatewaySettings(
        postgres_url="unused", ingest_url=pipeline.address, embed_url=embed_url, rerank_url=closed_port(),  # type: ignore[arg-type]
        generate_url=closed_port(), result_threshold=-1,
    )
    limits = Limits(embed_seconds=10, rerank_seconds=10, generate_seconds=10)
    async with (
        Peers(ingest_url=settings.ingest_url, embed_url=settings.embed_url, rerank_url=settings.rerank_url,
              generate_url=settings.generate_url, limits=limits) as peers,
        open_answers(settings) as answers,
        Server(listen="127.0.0.1:0", grace_seconds=1, concurrent_calls_max=64) as server,
        asyncio.TaskGroup() as group,
    ):
        direct = DirectAnswers(pipeline.database, peers, similarity_min=0.95, search_seconds_max=10)
        retriever = Retriever(pipeline.database, peers, result_threshold=-1, search_seconds_max=10)
        dialogue = Dialogue(
            Answerer(retriever, peers, Marking("secret"), direct), Rewriter(peers, seconds_max=30),
            pipeline.database, settings.dialogue,
        )
        server.add(answer_pb2_grpc.add_AnswerServiceServicer_to_server,
                   AnswerServer(retriever, dialogue, settings, answers, Agents(pipeline.database),
                                RetrievalPlanner(pipeline.database, settings),
                                DailyUse(pipeline.database, DailyLimits())),
                   "sourcier.gateway.v1.AnswerService")
        server.add(spaces_pb2_grpc.add_SpaceServiceServicer_to_server, SpaceServer(pipeline.database, peers),
                   "sourcier.gateway.v1.SpaceService")
        server.add(curation_pb2_grpc.add_CurationServiceServicer_to_server,
                   CurationServer(pipeline.database, peers, responses_max=10), "sourcier.gateway.v1.CurationService")
        await server.start()
        stopping = asyncio.Event()
        group.create_task(LearnedVectors(pipeline.database, peers.embed, interval_seconds=0.2).run(stopping))
        try:
            yield f"127.0.0.1:{server.port}"
        finally:
            stopping.set()


@dataclass
class Load:
    """Asks without a pause, and keeps every answer."""

    address: str
    answers: list[tuple[str, tuple[tuple[str, float], ...]]] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    dimension_seen: set[int] = field(default_factory=set)

    async def run(self, stopping: asyncio.Event, *, offset: int) -> None:
        """Ask one question after the other until told to stop."""
        channel = open_channel(self.address)
        stub: Any = answer_pb2_grpc.AnswerServiceStub(channel)
        number = offset
        while not stopping.is_set():
            question = QUESTIONS[number % len(QUESTIONS)]
            number += 1
            request = answer_pb2.SearchRequest(question=question, mode=answer_pb2.SEARCH_MODE_DENSE, limit=5)
            try:
                response = await stub.Search(request, timeout=20, metadata=(("sourcier-tenant", TENANT),))
            except Exception as error:  # counted: the test says which
                self.failures.append(str(error))
                continue
            self.answers.append((question, ranking(response)))
        await channel.close()

    async def more(self, count: int) -> None:
        """Wait until so many more questions were answered."""
        target = len(self.answers) + count
        async with asyncio.timeout(60):
            while len(self.answers) < target and not self.failures:
                await asyncio.sleep(0.02)


def ranking(response: answer_pb2.SearchResponse) -> tuple[tuple[str, float], ...]:
    """Return what was found with its similarity, which tells the space."""
    return tuple((passage.chunk_id, round(passage.similarity, 3)) for passage in response.passages)


async def reference(address: str) -> dict[str, tuple[tuple[str, float], ...]]:
    """Return the answers of the space that is live now."""
    load = Load(address)
    channel = open_channel(address)
    stub: Any = answer_pb2_grpc.AnswerServiceStub(channel)
    found = {}
    for question in QUESTIONS:
        request = answer_pb2.SearchRequest(question=question, mode=answer_pb2.SEARCH_MODE_DENSE, limit=5)
        found[question] = ranking(await stub.Search(request, timeout=20, metadata=(("sourcier-tenant", TENANT),)))
    await channel.close()
    assert not load.failures
    return found


@pytest.fixture
def serve(
    database_url: str, nats_url: str, subject_prefix: str, s3_bucket: S3Bucket, monkeypatch: pytest.MonkeyPatch
) -> Any:
    monkeypatch.setattr(consuming, "FETCH_SECONDS", 0.3)
    monkeypatch.setattr(relay, "LOOK_SECONDS", 0.2)
    return partial(ingesting, database_url=database_url, nats_url=nats_url, prefix=subject_prefix, bucket=s3_bucket)


async def test_a_move_under_load_fails_no_query_and_mixes_no_spaces(serve: Any, tmp_path: Path) -> None:
    narrow = write_model(tmp_path / "narrow", token_limit=512)
    wide = write_model(tmp_path / "wide", name="wide-model", dimension=WIDE_DIMENSION, token_limit=512)
    async with AsyncExitStack() as stack:
        pipeline: Pipeline = await stack.enter_async_context(serve(
            tokens=WordCounter(), default_space=space_of(narrow), further_spaces=[space_of(wide)],
        ))
        first, second = [
            await stack.enter_async_context(embed_service(model, pipeline.jetstream)) for model in (narrow, wide)
        ]
        address = await stack.enter_async_context(gateway(pipeline, f"{first},{second}"))
        client = await stack.enter_async_context(Client(address, tenant=TENANT))
        for number in range(24):
            body = "\n\n".join(
                f"# {WORDS[(number + part) % len(WORDS)]} {part}\n\n{text_of(9 + (number + 3 * part) % 7)} {number}"
                for part in range(3)
            )
            submitted = await pipeline.submit(body, filename=f"{number}.md")
            assert (await pipeline.finished(submitted.job.job_id)).stage == "done"
        before = await reference(address)

        load, stopping = Load(address), asyncio.Event()
        async with asyncio.TaskGroup() as group:
            for offset in range(3):
                group.create_task(load.run(stopping, offset=offset))
            try:
                await load.more(20)
                await client.build_space("default", space="wide-model")
                states = [build.state async for build in client.watch_space_build("default")]
                assert states[-1] == STATE.SPACE_BUILD_STATE_READY
                comparison = await client.compare_spaces("default", sample_size=10)
                assert comparison.question_count == 10
                assert comparison.answered_count == 10
                assert {comparison.current.space_id, comparison.other.space_id} == {narrow.space_id, wide.space_id}
                await load.more(20)
                switched_at = len(load.answers)
                await client.switch_space("default")
                in_new_from = len(load.answers)
                after = await reference(address)
                await load.more(40)
                in_new_until = len(load.answers)
                await client.rollback_space("default")
                returned_at = len(load.answers)
                await load.more(40)
                await client.drop_space("default")
                await load.more(40)
            finally:
                stopping.set()
        listed = await client.spaces()

    assert load.failures == []
    assert all(before[question] != after[question] for question in QUESTIONS)
    both = [{before[question], after[question]} for question, _ in load.answers]
    assert all(found in either for (_, found), either in zip(load.answers, both, strict=True))
    new = [found == after[question] for question, found in load.answers]
    # Only the questions in hand when a switch returns, one for each of the three who ask, may still be of the space
    # before.
    assert not any(new[:switched_at])
    assert new[in_new_from:in_new_until].count(False) <= 3
    assert sum(new[in_new_from:in_new_until]) >= 37
    assert sum(new[returned_at:]) <= 3
    assert {space.space_id: list(space.collections) for space in listed.spaces if space.served} == {
        narrow.space_id: ["default"], wide.space_id: [],
    }
    assert [build.state for build in listed.builds] == [STATE.SPACE_BUILD_STATE_DROPPED]


async def test_validated_answers_move_with_their_collection(serve: Any, tmp_path: Path) -> None:
    narrow = write_model(tmp_path / "narrow", token_limit=512)
    wide = write_model(tmp_path / "wide", name="wide-model", dimension=WIDE_DIMENSION, token_limit=512)
    async with AsyncExitStack() as stack:
        pipeline: Pipeline = await stack.enter_async_context(serve(
            tokens=WordCounter(), default_space=space_of(narrow), further_spaces=[space_of(wide)],
        ))
        services = [
            await stack.enter_async_context(embed_service(model, pipeline.jetstream)) for model in (narrow, wide)
        ]
        address = await stack.enter_async_context(gateway(pipeline, ",".join(services)))
        client = await stack.enter_async_context(Client(address, tenant=TENANT))
        submitted = await pipeline.submit(f"# chat\n\n{text_of(9)}", filename="chat.md")
        await pipeline.finished(submitted.job.job_id)
        await client.create_agent("support")
        for question in QUESTIONS:
            await client.add_faq_entry(question, f"Oui, {question}.", agent="support", validated_by="Ana")

        async def answers() -> list[tuple[str, int]]:
            found = [await client.answer(question, agent="support") for question in QUESTIONS]
            return [(answer.text.split("\n")[0], len(answer.degradations)) for answer in found]

        direct = [(f"Oui, {question}.", 0) for question in QUESTIONS]
        assert await answers() == direct
        await client.build_space("default", space="wide-model")
        async with asyncio.timeout(60):
            while True:
                try:
                    await client.switch_space("default")
                    break
                except FailedPrecondition:  # chunks or learned responses still lack vectors
                    await asyncio.sleep(0.1)
        assert await answers() == direct
        await client.rollback_space("default")
        assert await answers() == direct
