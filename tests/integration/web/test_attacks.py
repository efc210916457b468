"""What an attacker tries by HTTP: requests that are read in two ways, headers that only the service may set, methods in
disguise, sessions and models of others, names that turn the direction of writing."""

from __future__ import annotations

import asyncio
import json
import re

import httpx
import pytest
from starlette.datastructures import Headers

from sourcier.gateway.v1 import answer_pb2
from sourcier.services.chassis.grpc.callers import RIGHTS_KEYS
from sourcier.services.web.callers import FORWARDED, caller_of
from sourcier.services.web.openai.sources import Sources
from tests.integration.web.fix_web import TENANT, Web

HOST = b"Host: localhost\r\n"
CHAT = b"POST /v1/chat/completions HTTP/1.1\r\n" + HOST
SECOND = b"GET /smuggled HTTP/1.1\r\n" + HOST + b"\r\n"


async def answered(site: Web, request: bytes) -> bytes:
    """Send bytes on a connection of their own; return all that comes until the service closes it."""
    reader, writer = await asyncio.open_connection("127.0.0.1", site.port)
    writer.write(request)
    try:
        async with asyncio.timeout(20):
            return await reader.read()
    finally:
        writer.close()


@pytest.mark.parametrize("head", [
    b"Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", b"Content-Length: 0\r\nTransfer-Encoding: chunked\r\n",
    b"Content-Length: 5\r\nContent-Length: 0\r\n", b"Transfer-Encoding : chunked\r\n",
    b"Transfer-Encoding: xchunked\r\n", b"Transfer-Encoding: chunked, identity\r\n", b"Content-Length: +5\r\n",
    b"Content-Length: 5, 0\r\n", b"Content-Length: 0x5\r\n", b"Host: evil.example\r\n", b"X: a\0b\r\n",
], ids=repr)
async def test_a_request_that_two_servers_would_read_in_two_ways_is_refused(site: Web, head: bytes) -> None:
    told = await answered(site, CHAT + head + b"\r\n0\r\n\r\n" + SECOND)
    assert told.startswith(b"HTTP/1.1 400 ")
    assert told.count(b"HTTP/1.1 ") == 1, "what comes behind it is no request of its own"
    assert b"connection: close" in told.lower()


@pytest.mark.parametrize("path", [b"/%0d%0aset-cookie:%20a=b", b"/auth/login?place=%23/%0d%0aset-cookie:%20a=b",
                                  b"/v1/models/%0d%0aset-cookie:%20a=b", b"/api/jobs/%0d%0aset-cookie:%20a=b"])
async def test_no_header_comes_from_what_was_asked(site: Web, path: bytes) -> None:
    told = await answered(site, b"GET " + path + b" HTTP/1.1\r\n" + HOST +
                          b"Sourcier-Request-Id: a\tb\r\nConnection: close\r\n\r\n")
    head = told.partition(b"\r\n\r\n")[0].lower()
    assert b"set-cookie" not in head
    assert re.search(rb"sourcier-request-id: [a-z0-9-]+\r?$", head, re.M)


async def test_no_connection_becomes_another_protocols(site: Web) -> None:
    for upgrade in (b"websocket\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13", b"h2c"):
        for path in (b"/", b"/mcp", b"/v1/chat/completions"):
            told = await answered(site, b"GET " + path + b" HTTP/1.1\r\n" + HOST + b"Origin: http://evil.example\r\n"
                                  b"Connection: Upgrade, close\r\nUpgrade: " + upgrade + b"\r\n\r\n")
            assert b" 101 " not in told.partition(b"\r\n")[0]


CHANGING = ("/sourcier.gateway.v1.KnowledgeService/DeleteDocument", "/sourcier.gateway.v1.AnswerService/Search",
            "/v1/chat/completions", "/v1/embeddings", "/api/documents/text", "/api/documents/upload", "/api/chat",
            "/embed", "/rerank", "/auth/key", "/auth/logout")


@pytest.mark.parametrize("path", CHANGING)
async def test_nothing_is_done_by_what_any_page_may_send(site: Web, path: str) -> None:
    """Pictures, links and forms of other sites send GET, and name no other method."""
    for headers in ({}, {"x-http-method-override": "POST"}, {"x-method-override": "POST", "x-http-method": "POST"}):
        for method in ("GET", "HEAD", "OPTIONS"):
            told = await site.http.request(method, path, headers=TENANT | headers, params={"_method": "POST"},
                                           content=b'{"input": "x", "text": "x"}')
            assert told.status_code in {404, 405}, (method, path, told.text)
            assert not [name for name in told.headers if name.startswith("access-control-")]


async def test_other_sites_are_not_let_read(site: Web) -> None:
    """No answer allows another origin, is kept by a browser or proxy, or is anything that a browser would run."""
    for method, path, body in (
        ("GET", "/v1/models", None), ("GET", "/health", None), ("GET", "/auth/session", None),
        ("GET", "/<script>alert(1)</script>", None), ("GET", "/api/answers/<script>", None),
        ("GET", "/v1/models/<svg onload=alert(1)>", None), ("GET", "/api/jobs/<script>alert(1)</script>", None),
        ("POST", "/sourcier.gateway.v1.KnowledgeService/ListDocuments", {}),
        ("POST", "/v1/chat/completions", {"model": "<script>alert(1)</script>", "messages": []}),
        ("POST", "/embed", {"<script>": 1}), ("POST", "/mcp", {"<script>": 1}),
    ):
        told = await site.http.request(method, path, json=body, headers=TENANT | {"sec-fetch-site": "none"})
        assert told.headers["content-type"].partition(";")[0] == "application/json", (path, told.headers)
        assert told.headers["x-content-type-options"] == "nosniff"
        assert told.headers["cache-control"] == "no-store", path
        assert told.headers["cross-origin-resource-policy"] == "same-origin"
        assert not [name for name in told.headers if name.startswith("access-control-")]


def test_only_what_decides_rights_is_handed_on() -> None:
    """Who calls, from where, and by which service is not a browser's to say: no such header reaches the gateway."""
    claimed = {"x-forwarded-for": "1.2.3.4", "forwarded": "for=1.2.3.4", "x-real-ip": "1.2.3.4",
               "x-forwarded-user": "admin", "x-forwarded-client-cert": "Subject=admin", "grpc-timeout": "1n",
               "grpc-tags-bin": "AAAA", "te": "trailers", "cookie": "a=b",
               **{key: "operator" for key in RIGHTS_KEYS if key not in FORWARDED}}
    shown = caller_of(Headers({**claimed, "authorization": "Bearer x", "sourcier-tenant": "acme"})).metadata
    assert {key for key, _ in shown} == {"authorization", "sourcier-tenant", "sourcier-request-id"}
    assert {*RIGHTS_KEYS} - {*FORWARDED}, "there are keys that services alone may send"


async def test_a_session_of_mcp_carries_no_rights(site: Web) -> None:
    """A session's id that was seen or guessed opens nothing: each request has the rights that it shows."""
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "list_documents", "arguments": {}}}
    found = {}
    for tenant in ("acme", "other"):
        told = await site.http.post("/mcp", json=body, headers={
            "sourcier-tenant": tenant, "mcp-session-id": "of-somebody", "accept": "application/json, text/event-stream",
            "mcp-protocol-version": "2025-06-18",
        })
        assert told.status_code == 200, told.text
        assert "mcp-session-id" not in told.headers
        found[tenant] = "Télétravail" in json.dumps(_last(told), ensure_ascii=False)
    assert found == {"acme": True, "other": False}


def _last(told: httpx.Response) -> object:
    text = told.text
    if told.headers["content-type"].startswith("text/event-stream"):
        text = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")][-1]
    return json.loads(text)


async def test_anothers_model_is_answered_as_one_that_is_not_there(site: Web) -> None:
    made = await site.connect("CurationService/CreateAgent", {"name": "Paie", "collection": "default"})
    assert made.status_code == 200, made.text
    for model, missing in (("agent/Paie", "agent/Rien"), ("collection/default", "collection/rienxxx")):
        told = []
        for name in (model, missing):
            for method, path, body in (
                ("GET", f"/v1/models/{name}", None),
                ("POST", "/v1/chat/completions", {"model": name, "messages": [{"role": "user", "content": "Qui ?"}]}),
            ):
                answer = await site.http.request(method, path, json=body, headers={"sourcier-tenant": "other"})
                told.append((answer.status_code, answer.text.replace(name, "…").replace(name.split("/")[1], "…")))
        assert told[:2] == told[2:]
        assert told[0][0] == 404
    removed = await site.connect("CurationService/DeleteAgent", {"name": "Paie"})
    assert removed.status_code == 200, removed.text


@pytest.mark.parametrize("evil", ["rapport\u202efdp.exe", "\u2066rapport\u2069\u200e.pdf", "rapport\u0007\u009b2J.pdf"])
def test_a_name_turns_the_writing_of_no_list(evil: str) -> None:
    sources = Sources("http://localhost")
    sources.take(answer_pb2.AskEvent(citation=answer_pb2.Citation(marker=1, source=evil, document_id="d")))
    assert "rapport" in sources.markdown()
    assert not re.search("[\u200e\u202a-\u202e\u2066-\u2069\u0007\u009b]", sources.markdown())
