"""What a client sees when a service dies, when input is bad, and when it goes away itself."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from contextlib import aclosing
from pathlib import Path

import grpc
import grpc.aio
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from sourcier import errors
from sourcier.client import Client
from sourcier.gateway.v1 import knowledge_pb2, knowledge_pb2_grpc
from tests.fix_stack import RunningStack, recovered
from tests.waiting import until

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(300)]

DOCUMENTS = Path(__file__).parents[2] / "demo" / "documents"
QUESTION = "Combien de jours de télétravail par semaine ?"


@pytest.fixture(scope="module")
def indexed(scripted_stack: RunningStack) -> RunningStack:
    """Ingest one document of the handbook."""
    ingested = scripted_stack.run("ingest", str(DOCUMENTS / "teletravail.pdf"), "--wait")
    assert ingested.returncode == 0, ingested.stdout + ingested.stderr
    return scripted_stack


async def test_reflection_lists_the_public_services(indexed: RunningStack) -> None:
    async with grpc.aio.insecure_channel(indexed.gateway) as channel:
        stub = reflection_pb2_grpc.ServerReflectionStub(channel)
        request = reflection_pb2.ServerReflectionRequest(list_services="")
        async for response in stub.ServerReflectionInfo(iter([request]), timeout=10):
            names = {service.name for service in response.list_services_response.service}
            break
    assert {"sourcier.gateway.v1.AnswerService", "sourcier.gateway.v1.KnowledgeService",
            "grpc.health.v1.Health"} <= names


@pytest.mark.parametrize("service", ["embed", "generate", "ingest", "gateway"])
async def test_a_killed_service_is_unavailable_then_back(
    indexed: RunningStack, scripted_client: Client, service: str
) -> None:
    killed = indexed.pid(service)
    os.kill(killed, signal.SIGKILL)

    async def use() -> None:
        if service == "gateway":
            await without_retries(indexed.gateway)
            return
        # A new question each time: the embedding of an old one is remembered nowhere but in the embed service.
        if service == "ingest":
            await scripted_client.upload(f"Note {time.monotonic_ns()}".encode(), filename="note.txt", attempts=1,
                                         timeout_seconds=10)
        else:
            await scripted_client.answer(f"{QUESTION} {time.monotonic_ns()}", timeout_seconds=10)

    if service == "gateway":
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await use()
        assert refused.value.code() is grpc.StatusCode.UNAVAILABLE
    else:
        [refusal] = await asyncio.gather(use(), return_exceptions=True)
        # One that starts in a second may be back before it is asked, and answers.
        if refusal is not None:
            assert isinstance(refusal, errors.Unavailable | errors.AnswerFailed)
            assert "UNAVAILABLE" in (refusal.code, refusal.reason)
            assert "Traceback" not in refusal.message
    await until(lambda: indexed.ready_again(service, ended=killed), seconds=90)
    if service == "gateway":
        await recovered(lambda: scripted_client.answer(QUESTION, timeout_seconds=10))
    else:
        await recovered(use)


async def without_retries(gateway: str) -> None:
    """Call the gateway as a client of another kind: ours outlasts a restart that is quick enough."""
    async with grpc.aio.insecure_channel(gateway, options=[("grpc.enable_retries", 0)]) as channel:
        stub = knowledge_pb2_grpc.KnowledgeServiceStub(channel)
        await stub.ListCollections(knowledge_pb2.ListCollectionsRequest(), timeout=10)


async def test_an_answer_is_reranked_while_the_rerank_service_is_away(
    indexed: RunningStack, scripted_client: Client
) -> None:
    # The gateway ranks by late interaction itself, once it was told that nothing else ranks (ADR 19).
    await recovered(lambda: scripted_client.answer(QUESTION, timeout_seconds=20))
    killed = indexed.pid("rerank")
    os.kill(killed, signal.SIGKILL)
    answer = await scripted_client.answer(QUESTION, timeout_seconds=20)
    assert answer.sources
    assert not answer.degradations
    found = await scripted_client.search(QUESTION, mode="reranked")
    assert found.passages[0].HasField("rerank_score")
    await until(lambda: indexed.ready_again("rerank", ended=killed), seconds=60)


async def test_a_client_that_leaves_stops_the_generation(indexed: RunningStack, scripted_client: Client) -> None:
    async with aclosing(scripted_client.ask(f"{QUESTION} lentement")) as events:
        async for event in events:
            if event.WhichOneof("event") == "token":
                break
    started = time.monotonic()
    answer = await scripted_client.answer(QUESTION, timeout_seconds=20)
    assert answer.outcome == "answered"
    assert time.monotonic() - started < 10


async def test_health_flips_on_sigterm_while_calls_finish(indexed: RunningStack) -> None:
    pid = indexed.pid("gateway")
    async with Client(indexed.gateway) as client, grpc.aio.insecure_channel(indexed.gateway) as channel:
        health = health_pb2_grpc.HealthStub(channel)
        watched = health.Watch(health_pb2.HealthCheckRequest(), timeout=60)
        assert (await watched.read()).status == health_pb2.HealthCheckResponse.SERVING
        async with aclosing(client.ask(f"{QUESTION} encore")) as events:
            first = await anext(events)
            os.kill(pid, signal.SIGTERM)
            kinds = [first.WhichOneof("event"), *[event.WhichOneof("event") async for event in events]]
        assert kinds[-1] == "finished"
        assert (await watched.read()).status == health_pb2.HealthCheckResponse.NOT_SERVING
        watched.cancel()
    await until(lambda: indexed.ready_again("gateway", ended=pid), seconds=60)


@pytest.mark.parametrize(("question", "said"), [("", "empty"), ("   ", "empty"), ("a" * 100_000, "100,000")])
async def test_a_bad_question_is_refused(
    indexed: RunningStack, scripted_client: Client, question: str, said: str
) -> None:
    for call in (scripted_client.search(question), scripted_client.answer(question)):
        with pytest.raises(errors.SourcierError) as caught:
            await call
        assert (caught.value.code, caught.value.field) == ("INVALID_ARGUMENT", "question")
        assert said in caught.value.message


async def test_bad_documents_are_refused_by_name(indexed: RunningStack, scripted_client: Client) -> None:
    with pytest.raises(errors.SourcierError) as caught:
        await scripted_client.upload(b"", filename="rien.txt")
    assert "rien.txt" in caught.value.message
    bad = {
        "image.pdf": b"\x89PNG\r\n\x1a\n" + bytes(64), "casse.pdf": b"%PDF-1.7\nrien", "son.mp3": b"ID3" + bytes(99),
    }
    for filename, content in bad.items():
        uploaded = await scripted_client.upload(content, filename=filename)
        with pytest.raises(errors.JobFailed) as refused:
            await scripted_client.wait_for_job(uploaded.job_id)
        assert refused.value.reason.startswith("DOCUMENT_"), filename
        assert filename in refused.value.message


async def test_two_hundred_megabytes_are_refused_while_sent(indexed: RunningStack, scripted_client: Client) -> None:
    class Endless:
        """Zeros, 200 MB of them."""

        left = 200_000_000

        def read(self, size: int = -1) -> bytes:
            size = min(self.left, size if size > 0 else self.left)
            self.left -= size
            return bytes(size)

        def seekable(self) -> bool:
            return False

    with pytest.raises(errors.SourcierError) as caught:
        await scripted_client.upload(Endless(), filename="gros.txt", timeout_seconds=120)  # type: ignore[arg-type]
    assert "100 MiB" in caught.value.message


async def test_interactive_documents_overtake_a_bulk_load(indexed: RunningStack, scripted_client: Client) -> None:
    bulk = await asyncio.gather(*(
        scripted_client.upload(f"Fiche {number}. ".encode() * 200, filename=f"bulk-{number}.txt", lane="bulk")
        for number in range(20)
    ))
    urgent = await scripted_client.upload(b"La note urgente de midi.", filename="urgent.txt")
    job = await scripted_client.wait_for_job(urgent.job_id)
    waiting = [await scripted_client.get_job(entry.job_id) for entry in bulk]
    assert job.percentage == 100
    assert any(entry.percentage < 100 for entry in waiting)
    for entry in bulk:
        assert (await scripted_client.wait_for_job(entry.job_id)).percentage == 100
