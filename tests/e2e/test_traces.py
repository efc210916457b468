"""Traces of a whole stack: an ingestion and a question are one trace each, through every process that works on them."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator

import grpc.aio
import httpx
import pytest
import pytest_asyncio

from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from tests.fix_stack import SECRET_HEADER, RunningStack, traces_of
from tests.fix_traces import Collector, ReceivedSpan
from tests.waiting import eventually, until
from tests.walking import paths_below

SECONDS = 60


@pytest.fixture
def traced(scripted_stack: RunningStack) -> Collector:
    """Return where the stack sends its traces to."""
    return traces_of(scripted_stack)


@pytest_asyncio.fixture(loop_scope="session")
async def channel(scripted_stack: RunningStack) -> AsyncIterator[grpc.aio.Channel]:
    async with grpc.aio.insecure_channel(scripted_stack.gateway) as opened:
        yield opened


def new_trace() -> tuple[str, str, tuple[tuple[str, str], ...]]:
    """Return a trace's id, that of the step that asks, and the metadata that says so."""
    trace_id, span_id = secrets.token_hex(16), secrets.token_hex(8)
    return trace_id, span_id, (("traceparent", f"00-{trace_id}-{span_id}-01"),)


def chain(span: ReceivedSpan, spans: list[ReceivedSpan]) -> list[str]:
    """Return the names of a span and of what it is part of, transactions apart, up to what the client sent."""
    by_id = {each.span_id: each for each in spans}
    names = [span.name]
    while span.parent_id in by_id:
        span = by_id[span.parent_id]
        names.append(span.name)
    return [*(name for name in names if name != "transaction"), span.parent_id]


def whole(spans: list[ReceivedSpan], client: str) -> bool:
    """Return whether each span is part of one that came: processes send theirs when it suits them."""
    return {span.parent_id for span in spans} <= {client, *(span.span_id for span in spans)}


def logs_of(stack: RunningStack) -> str:
    """Return what all processes of a stack have logged."""
    return "".join(path.read_text("utf-8", "replace") for path in paths_below(stack.folder) if path.suffix == ".log")


async def test_an_ingestion_is_one_trace(traced: Collector, channel: grpc.aio.Channel) -> None:
    trace_id, client, metadata = new_trace()
    stub = knowledge_pb2_grpc.KnowledgeServiceStub(channel)

    async def pieces() -> AsyncIterator[knowledge_pb2.UploadDocumentRequest]:
        yield knowledge_pb2.UploadDocumentRequest(header=knowledge_pb2.DocumentHeader(filename="primes.md"))
        yield knowledge_pb2.UploadDocumentRequest(data="# Primes\n\nLa prime de Zoé est de 321 €.\n".encode())

    await stub.UploadDocument(pieces(), metadata=metadata, timeout=SECONDS)
    await until(lambda: traced.named("process index", trace_id) and whole(traced.of(trace_id), client), seconds=SECONDS)
    spans = traced.of(trace_id)
    upload = "sourcier.gateway.v1.KnowledgeService/UploadDocument"
    submit = "sourcier.ingest.v1.IngestService/Submit"
    for stage, sender in (("chunk", "process parse"), ("embed", "process chunk"), ("index", "process embed")):
        [span] = traced.named(f"process {stage}", trace_id)
        names = chain(span, spans)
        assert names[1] in {"send document.parsed", "send chunks.ready", "send chunks.told", "send chunks.embedded"}
        assert names[2] == sender
        # From the relay's message on, which no call publishes, to the step that the client named.
        assert names[-5:] == ["process parse", submit, submit, upload, client]
        assert span.attributes["sourcier.version_id"]
    [embedded] = [span for span in spans if span.name.startswith("embeddings ")]
    assert chain(embedded, spans)[1] == "process embed"
    assert {span.service for span in spans} >= {"sourcier-gateway", "sourcier-ingest", "sourcier-embed"}
    [commit] = [span for span in spans if span.name == "process index"]
    assert any(span.parent_id == commit.span_id and span.name == "transaction" for span in spans)
    assert not [span for span in spans if span.failed]
    assert "Zoé" not in repr([(span.name, span.attributes) for span in spans])


async def test_a_question_is_one_trace(
    traced: Collector, channel: grpc.aio.Channel, scripted_stack: RunningStack
) -> None:
    trace_id, client, metadata = new_trace()
    stub = answer_pb2_grpc.AnswerServiceStub(channel)
    question = "Quelle est la prime de Zoé ?"
    async for _ in stub.Ask(answer_pb2.AskRequest(question=question), metadata=metadata, timeout=SECONDS):
        pass
    ask = "sourcier.gateway.v1.AnswerService/Ask"

    def all_came() -> bool:
        names = {span.name.partition(" ")[0] for span in traced.of(trace_id)}
        return {ask, "embeddings", "retrieval", "chat"} <= names and whole(traced.of(trace_id), client)

    await until(all_came, seconds=SECONDS)
    spans = traced.of(trace_id)
    [asked] = traced.named(ask, trace_id)
    assert asked.parent_id == client
    assert asked.attributes["rpc.response.status_code"] == "OK"
    # The question, and the sentences of the answer.
    embed = "sourcier.embed.v1.EmbedService/Embed"
    for span in (span for span in spans if span.name.startswith("embeddings ")):
        assert chain(span, spans)[1:3] == [embed, embed]
        assert chain(span, spans)[-2:] == [ask, client]
    selected = [span for span in spans if span.name.startswith("select ")]
    assert selected
    assert all(chain(span, spans)[-2:] == [ask, client] for span in selected)
    for span in (span for span in spans if span.name.startswith("chat ")):
        assert chain(span, spans)[1:3] == ["sourcier.generate.v1.GenerateService/Generate"] * 2
        assert chain(span, spans)[-2:] == [ask, client]
    assert "Zoé" not in repr([(span.name, span.attributes) for span in spans])
    assert SECRET_HEADER not in logs_of(scripted_stack)
    assert all(headers["authorization"] == SECRET_HEADER for headers in traced.headers)


async def test_a_question_that_names_no_trace_is_none_here(traced: Collector, channel: grpc.aio.Channel) -> None:
    before = {span.trace_id for span in traced.spans}
    stub = answer_pb2_grpc.AnswerServiceStub(channel)
    _, _, metadata = new_trace()
    not_kept = ((metadata[0][0], metadata[0][1].removesuffix("-01") + "-00"),)
    for sent in ((), not_kept):
        await stub.Search(answer_pb2.SearchRequest(question="primes"), metadata=sent, timeout=SECONDS)
    other, _, metadata = new_trace()
    await stub.Search(answer_pb2.SearchRequest(question="primes"), metadata=metadata, timeout=SECONDS)

    async def seen() -> bool:
        return bool(traced.of(other))

    await eventually(seen, seconds=SECONDS)
    assert {span.trace_id for span in traced.spans} - before == {other}


async def test_a_request_over_http_is_one_trace(traced: Collector, scripted_stack: RunningStack) -> None:
    trace_id, client, [(name, value)] = new_trace()
    async with httpx.AsyncClient(trust_env=False, timeout=SECONDS) as http:
        answer = await http.get(f"{scripted_stack.page}/v1/models", headers={name: value})
        assert answer.is_success, answer.text
    await until(lambda: any(span.service == "sourcier-gateway" for span in traced.of(trace_id))
                and whole(traced.of(trace_id), client), seconds=SECONDS)
    spans = traced.of(trace_id)
    [asked] = [span for span in spans if span.parent_id == client]
    assert asked.service == "sourcier-web"
    assert asked.attributes["http.response.status_code"] == 200
    assert asked.name.startswith("GET ")
    for span in spans:
        assert chain(span, spans)[-2:] == [asked.name, client]
