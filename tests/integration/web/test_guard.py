"""What every request passes: names, origins, headers of responses, connections that say nothing, files of the page."""

from __future__ import annotations

import asyncio
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.routing import Route

from sourcier.services.web import listening, pages
from sourcier.services.web.guard import Guard
from sourcier.services.web.listening import HttpServer
from sourcier.services.web.pages import Pages
from tests.integration.web.fix_web import Web, served

SEARCH = "/sourcier.gateway.v1.AnswerService/Search"


@pytest.mark.parametrize(("host", "known"), [
    ("localhost", True), ("localhost:8080", True), ("127.0.0.1:1", True), ("[::1]:80", True), ("10.0.0.7", True),
    ("x.localhost", True), ("RAG.example.org", True), ("rag.example.org:443", True), ("rag.example.org.", True),
    ("evil.example", False), ("rag.example.org.evil.example", False), ("localhost.evil.example", False),
    ("127.0.0.1.evil.example", False), ("evil.example:80@localhost", False), ("", False), ("[::1", True),
    ("127.0.0.1.", True), ("2130706433", False), ("0x7f.1", False), ("other.example.org", False),
])
async def test_names_that_lead_here(site: Web, host: str, known: bool) -> None:
    async with served(site.gateway_url, hosts="rag.example.org") as (http, _):
        for path in ("/", "/health", "/v1/models"):
            answer = await http.get(path, headers={"host": host})
            assert (answer.status_code != 421) == known, (path, answer.text)


@pytest.mark.parametrize(("headers", "allowed"), [
    ({}, True),
    ({"sec-fetch-site": "same-origin"}, True),
    # A proxy that names this service otherwise.
    ({"sec-fetch-site": "same-origin", "origin": "https://rag.example.org"}, True), ({"sec-fetch-site": "none"}, True),
    ({"sec-fetch-site": "cross-site"}, False), ({"sec-fetch-site": "same-site"}, False),
    ({"origin": "http://localhost:8080"}, True), ({"origin": "http://evil.example"}, False),
    ({"origin": "null"}, False), ({"origin": "http://localhost:9999"}, False), ({"origin": ""}, False),
    ({"origin": "http://localhost:8080.evil.example"}, False),
    ({"origin": "http://evil.example/localhost:8080"}, False),
    ({"origin": "http://localhost:8080", "sec-fetch-site": "cross-site"}, False),
    ({"origin": "https://portal.example.org", "sec-fetch-site": "cross-site"}, True),
    ({"origin": "https://portal.example.org.evil"}, False),
])
async def test_pages_of_other_sites_change_nothing(site: Web, headers: dict[str, str], allowed: bool) -> None:
    async with served(site.gateway_url, origins="https://portal.example.org") as (http, _):
        for path, kind in ((SEARCH, "application/json"), ("/api/documents/upload", "multipart/form-data"),
                           ("/v1/chat/completions", "text/plain")):
            answer = await http.post(path, content=b"{}", headers={
                "host": "localhost:8080", "content-type": kind, **headers
            })
            assert (answer.status_code != 403) == allowed, answer.text


async def test_every_response_has_its_headers(site: Web) -> None:
    for path in ("/", "/nothing", "/health", "/v1/models", "/api/jobs/nothing", "/assets/none.js", "/x/y"):
        answer = await site.http.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert "unsafe-inline" not in answer.headers["content-security-policy"]
        assert answer.headers["sourcier-request-id"]
        assert "server" not in answer.headers
    named = await site.http.get("/health", headers={"sourcier-request-id": "abc-1"})
    assert named.headers["sourcier-request-id"] == "abc-1"


async def test_a_connection_that_says_nothing_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HEAD_SECONDS_MAX", 0.2)
    async with served("127.0.0.1:1") as (_, port):
        for begun in (b"", b"GET / HTTP/1.1\r\nHost: loc"):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(begun)
            async with asyncio.timeout(20):
                while await reader.read(1000):
                    pass
            writer.close()


GET = b"GET /icon.svg HTTP/1.1\r\nHost: localhost\r\n"


@pytest.mark.parametrize(("begun", "drop"), [
    (GET + b"\r\n", b"X"), (GET + b"\r\nGET / HT", b"T"), (GET + b"Content-Length: 100000\r\n\r\n", b"X"),
    (GET + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
], ids=["the next head", "the next head, begun", "a body that nobody reads", "chunks that nobody reads"])
async def test_a_connection_that_drips_is_closed(monkeypatch: pytest.MonkeyPatch, begun: bytes, drop: bytes) -> None:
    monkeypatch.setattr(listening, "HEAD_SECONDS_MAX", 0.3)
    async with served("127.0.0.1:1") as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(begun)
        assert b" 200 " in await reader.readline()
        reading = asyncio.create_task(reader.read())
        async with asyncio.timeout(20):
            while not reading.done():
                writer.write(drop)
                await asyncio.wait((reading,), timeout=0.05)
        await asyncio.gather(reading, return_exceptions=True)
        writer.close()


async def test_a_connection_is_used_again_for_as_long_as_it_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "HEAD_SECONDS_MAX", 0.3)
    async with served("127.0.0.1:1") as (_, port):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for _ in range(3):
            writer.write(GET + b"If-None-Match: W/\r\n\r\n")
            assert b" 200 " in await reader.readline()
            head = await reader.readuntil(b"\r\n\r\n")
            [length] = [int(line[15:]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            await reader.readexactly(length)
            await asyncio.sleep(0.4)  # silent between two requests, which proxies are for longer
        writer.close()


async def test_files_of_the_page_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    folder = tmp_path / "static"
    (folder / "assets").mkdir(parents=True)
    (folder / "index.html").write_text("<!doctype html><title>page</title>")
    (folder / "assets" / "page-1a2b.js").write_text("1")
    (folder / "icon.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    page = Pages(folder)
    application = Guard(
        Starlette(routes=[Route("/{path:path}", page.serve)]), hosts=frozenset(), origins=frozenset()
    )
    async with HttpServer(application, listen="127.0.0.1:0", grace_seconds=1, connections_max=64) as server:
        stopping = asyncio.Event()
        running = asyncio.create_task(server.run(stopping))
        got = {}
        for path in ("/", "/index.html", "/assets/page-1a2b.js", "/icon.svg", "/../secret.txt", "/%2e%2e/secret.txt",
                     "/assets/..%2f..%2fsecret.txt", "/assets/../../secret.txt", "//etc/passwd", "/static",
                     "/assets/%00", "/index.html%00.js"):
            reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
            writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
            got[path] = await reader.read()
            writer.close()
        stopping.set()
        await running
    assert not any(b"secret" in answer.partition(b"\r\n\r\n")[2].replace(b"secret.txt", b"") for answer in got.values())
    assert [path for path, answer in got.items() if b" 200 " in answer[:15]] == [
        "/", "/index.html", "/assets/page-1a2b.js", "/icon.svg"
    ]
    assert b"cache-control: no-cache" in got["/"]
    assert b"immutable" in got["/assets/page-1a2b.js"]
    assert b"content-type: text/javascript" in got["/assets/page-1a2b.js"]
    assert b"content-type: image/svg+xml" in got["/icon.svg"]
    assert b"script-src 'self'" in got["/icon.svg"], "a picture opened by itself must run nothing of another site"


async def test_files_are_sent_once_and_packed(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<!doctype html>" + "page " * 1_000)
    (tmp_path / "small.js").write_text("1")
    (tmp_path / "picture.png").write_bytes(b"\x89PNG" + bytes(5_000))
    application = Starlette(routes=[Route("/{path:path}", Pages(tmp_path).serve)])
    async with httpx.AsyncClient(transport=httpx.ASGITransport(application), base_url="http://localhost") as http:
        page = await http.get("/")
        assert page.headers["content-encoding"] == "gzip"
        assert int(page.headers["content-length"]) < 500
        assert page.text.startswith("<!doctype html>page")
        plain = await http.get("/", headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.text == page.text
        again = await http.get("/", headers={"if-none-match": page.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")
        for name in ("small.js", "picture.png"):
            assert "content-encoding" not in (await http.get(f"/{name}")).headers


async def test_without_a_built_page_it_says_how_to_get_one(tmp_path: Path, site: Web) -> None:
    notice = await Pages(tmp_path).serve(Request({"type": "http", "path_params": {"path": ""}, "headers": []}))
    assert b"make web" in notice.body
    assert (await site.http.get("/")).headers["content-security-policy"] == pages.POLICY
