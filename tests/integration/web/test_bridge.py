"""The Connect protocol over real HTTP and gRPC: JSON, binary, streams, errors, deadlines, clients that leave."""

from __future__ import annotations

import asyncio
import base64
import json
import struct
from typing import Any

import httpx
import pytest
from google.rpc import error_details_pb2

from sourcier.gateway.v1 import answer_pb2, knowledge_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import ResourceExhausted
from sourcier.services.web.contract import METHODS
from tests.integration.web.fix_web import TENANT, Web, served

ASK = "/sourcier.gateway.v1.AnswerService/Ask"
WATCH = "/sourcier.gateway.v1.KnowledgeService/WatchJob"
PENDING = ingest_pb2.Job(job_id="job-1", status=ingest_pb2.JOB_STATUS_PENDING, stage="located", percentage=10)


def wrapped(body: bytes, flags: int = 0) -> bytes:
    return struct.pack(">BI", flags, len(body)) + body


def envelopes(body: bytes) -> list[tuple[int, bytes]]:
    found = []
    while body:
        flags, size = struct.unpack_from(">BI", body)
        found.append((flags, body[5:5 + size]))
        body = body[5 + size:]
    return found


async def stream(http: httpx.AsyncClient, path: str, message: Any, *, kind: str = "json", **headers: str) -> Any:
    body = json.dumps(message).encode() if kind == "json" else message.SerializeToString()
    answer = await http.post(path, content=wrapped(body), headers={
        **TENANT, "content-type": f"application/connect+{kind}", **headers,
    })
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == f"application/connect+{kind}"
    assert answer.headers["x-accel-buffering"] == "no"
    *messages, (flags, end) = envelopes(answer.content)
    assert flags == 2
    assert all(each == 0 for each, _ in messages)
    return [each for _, each in messages], json.loads(end)


async def test_a_unary_call_in_json_and_in_binary(site: Web) -> None:
    answer = await site.connect("KnowledgeService/ListDocuments", {"collection": "default", "pageSize": 1})
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "application/json"
    [document] = answer.json()["documents"]
    assert document["title"] in {"Télétravail", "Frais"}
    assert document["chunkCount"] >= 1
    binary = await site.http.post(
        "/sourcier.gateway.v1.KnowledgeService/ListDocuments", headers={**TENANT, "content-type": "application/proto"},
        content=knowledge_pb2.ListDocumentsRequest(page_size=1).SerializeToString(),
    )
    assert binary.headers["content-type"] == "application/proto"
    found = knowledge_pb2.ListDocumentsResponse.FromString(binary.content)
    assert found.documents[0].document_id == document["documentId"]
    # Without a tenant it is another one's, which has nothing.
    other = await site.http.post("/sourcier.gateway.v1.KnowledgeService/ListDocuments", json={})
    assert other.json() == {}


async def test_an_answer_streams_in_envelopes(site: Web) -> None:
    messages, end = await stream(site.http, ASK, {"question": "Combien de jours de télétravail par semaine ?"})
    events = [json.loads(message)["event"] for message in messages]
    assert end == {}
    assert "started" in events[0]
    assert "finished" in events[-1]
    assert "deux jours" in "".join(event["token"]["text"] for event in events if "token" in event)
    binary, _ = await stream(site.http, ASK, answer_pb2.AskRequest(question="Combien ?"), kind="proto")
    assert answer_pb2.AskResponse.FromString(binary[0]).event.WhichOneof("event") == "started"


async def test_errors_come_with_code_and_details(site: Web) -> None:
    unknown = await site.connect("KnowledgeService/GetDocument", {"documentId": "nothing"})
    assert unknown.status_code == 404
    assert unknown.json()["code"] == "not_found"
    refused = await site.connect("AnswerService/Search", {"question": ""})
    assert refused.status_code == 400
    told = refused.json()
    assert told["code"] == "invalid_argument"
    details = {each["type"]: base64.b64decode(each["value"] + "==") for each in told["details"]}
    violation = error_details_pb2.BadRequest.FromString(details["google.rpc.BadRequest"])
    assert violation.field_violations[0].field == "question"
    _, end = await stream(site.http, ASK, {"question": ""})
    assert end["error"]["code"] == "invalid_argument"
    _, end = await stream(site.http, "/sourcier.gateway.v1.AnswerService/Resume", {"answerId": "nothing"})
    assert end["error"]["code"] in {"not_found", "invalid_argument"}


async def test_a_full_peer_is_told_with_when_to_come_back(site: Web) -> None:
    site.scenario.operation_error = ResourceExhausted("full", retry_after_seconds=7)
    answer = await site.connect("OperationsService/ListFailures")
    assert answer.status_code == 429
    assert answer.json()["code"] == "resource_exhausted"
    assert answer.headers["retry-after"] == "7"


@pytest.mark.parametrize(("body", "wrong"), [
    (b"{", "JSON"), (b"[]", ""), (b'{"question": 3}', "question"), (b'{"questoin": "x"}', "questoin"),
    (b"[" * 5000 + b"]" * 5000, ""), (b'{"question": "\\ud800"}', ""), (b"\xff\xfe", ""), (b'"text"', ""),
    (b'{"question": "a", "question": "b"}', ""), (b'{"filter": {"kinds": ["NO_SUCH"]}}', ""),
])
async def test_what_cannot_be_read_is_told(site: Web, body: bytes, wrong: str) -> None:
    answer = await site.http.post(
        "/sourcier.gateway.v1.AnswerService/Search", content=body, headers={"content-type": "application/json"}
    )
    assert answer.status_code == 400, answer.text
    assert answer.json()["code"] == "invalid_argument"
    assert wrong in answer.json()["message"]


@pytest.mark.parametrize(("path", "method", "headers", "status"), [
    ("AnswerService/Search", "GET", {}, 405),
    ("AnswerService/Search", "POST", {"content-type": "text/plain"}, 415),
    ("AnswerService/Search", "POST", {"content-type": "application/connect+json"}, 415),
    ("AnswerService/Ask", "POST", {"content-type": "application/json"}, 415),
    ("AnswerService/Nothing", "POST", {"content-type": "application/json"}, 501),
    ("EmbedService/Embed", "POST", {"content-type": "application/json"}, 501),
    ("AnswerService/Search", "POST", {"content-type": "application/json", "content-encoding": "gzip"}, 501),
    ("AnswerService/Search", "POST", {"content-type": "application/json", "connect-timeout-ms": "soon"}, 400),
    ("AnswerService/Search", "POST", {"content-type": "application/json", "connect-timeout-ms": "-1"}, 400),
])
async def test_requests_that_are_none_of_the_protocol(
    site: Web, path: str, method: str, headers: dict[str, str], status: int
) -> None:
    answer = await site.http.request(
        method, f"/sourcier.gateway.v1.{path}", headers=headers, content=b"{}" if method == "POST" else None
    )
    assert answer.status_code == status, answer.text


async def test_services_inside_are_out_of_reach(site: Web) -> None:
    answer = await site.http.post("/sourcier.embed.v1.EmbedService/Embed", json={"texts": ["a"]})
    assert answer.status_code == 501
    assert {path.split(".")[1] for path in METHODS} == {"gateway"}


async def test_an_envelope_that_is_not_whole_is_refused(site: Web) -> None:
    for body in (b"", b"\0\0\0\0\5{", wrapped(b"{}") * 2, wrapped(b"{}", flags=1), b"\0\xff\xff\xff\xff{}"):
        answer = await site.http.post(ASK, content=body, headers={"content-type": "application/connect+json"})
        [(_, end)] = envelopes(answer.content)
        assert json.loads(end)["error"]["code"] == "invalid_argument"


async def test_a_large_body_is_refused(site: Web) -> None:
    async with served(site.gateway_url, body_bytes_max=1024) as (http, _):
        answer = await http.post("/sourcier.gateway.v1.AnswerService/Search", json={"question": "a" * 2000})
        assert answer.status_code == 413

        async def pieces() -> Any:
            for _ in range(100):
                yield b" " * 100

        answer = await http.post("/sourcier.gateway.v1.AnswerService/Search", content=pieces(),
                                 headers={"content-type": "application/json"})
        assert answer.status_code == 413


async def test_the_deadline_of_the_caller_is_kept(site: Web) -> None:
    site.scenario.hang, site.scenario.jobs = True, [PENDING]
    _, end = await stream(site.http, WATCH, {"jobId": "job-1"}, **{"connect-timeout-ms": "200"})
    assert end["error"]["code"] == "deadline_exceeded"


async def test_a_client_that_leaves_ends_the_call(site: Web) -> None:
    scenario = site.scenario
    scenario.hang, scenario.jobs = True, [PENDING]
    async with site.http.stream(
        "POST", WATCH, content=wrapped(b'{"jobId": "job-1"}'),
        headers={**TENANT, "content-type": "application/connect+json"},
    ) as answer:
        async for piece in answer.aiter_bytes():
            assert json.loads(piece[5:])["job"]["jobId"] == "job-1"
            break
        assert not scenario.watch_ended.is_set()
    async with asyncio.timeout(20):
        await scenario.watch_ended.wait()


async def test_without_a_gateway_it_says_so() -> None:
    async with served("127.0.0.1:1") as (http, _):
        answer = await http.post("/sourcier.gateway.v1.CurationService/CreateAgent", json={"name": "x"})
        assert answer.status_code == 503
        assert answer.json()["code"] == "unavailable"
        assert "127.0.0.1" not in answer.json()["message"]
        health = await http.get("/health")
        assert health.status_code == 503
