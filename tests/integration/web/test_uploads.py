"""Files by HTTP: forms of browsers and of curl, several files, refusals, tenants, jobs."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
import pytest

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.chassis.errors import DocumentTooLarge, Unavailable
from tests.integration.web.fix_web import TENANT, Web, served
from tests.waiting import eventually

UPLOAD = "/api/documents/upload"
JOB = ingest_pb2.Job(job_id="job-1", document_id="doc-1", status=ingest_pb2.JOB_STATUS_PENDING, stage="located",
                     percentage=10, size_bytes=2**40)
FILE = ("file", ("rapport.pdf", b"%PDF-1.7 one", "application/pdf"))


async def upload(site: Web, files: Any, data: dict[str, str] | None = None, path: str = UPLOAD) -> Any:
    site.scenario.jobs = [JOB]
    return await site.http.post(path, files=files, data=data or {}, headers=TENANT)


async def test_a_file_becomes_a_job(site: Web) -> None:
    site.scenario.submitted.clear()
    answer = await upload(site, [FILE], {
        "collection": "default", "title": "Rapport", "metadata": '{"team": "paie", "year": 2026}',
        "metadata.site": "Lyon",
    })
    assert answer.status_code == 202, answer.text
    told = answer.json()
    assert (told["job_id"], told["document_id"], told["status"]) == ("job-1", "doc-1", "pending")
    assert told["size_bytes"] == 2**40, "a number, not a text"
    assert told["unchanged"] is False
    [(tenant, header, body)] = site.scenario.submitted
    assert (tenant, body) == ("acme", b"%PDF-1.7 one")
    assert (header.filename, header.title, header.content_type) == ("rapport.pdf", "Rapport", "application/pdf")
    assert dict(header.metadata) == {"team": "paie", "year": "2026", "site": "Lyon"}


async def test_several_files_and_the_path_of_ragfab(site: Web) -> None:
    site.scenario.submitted.clear()
    answer = await upload(site, [("files", (f"{name}.txt", name.encode() * 300_000)) for name in ("a", "b", "c")],
                          path="/api/admin/documents/upload")
    assert answer.status_code == 202
    assert [each["job_id"] for each in answer.json()["documents"]] == ["job-1"] * 3
    assert [(header.filename, len(body)) for _, header, body in site.scenario.submitted] == [
        (f"{name}.txt", 300_000) for name in ("a", "b", "c")
    ]


@pytest.mark.parametrize(("files", "data", "field"), [
    ([], {"title": "x"}, "file"), ([FILE], {"titel": "x"}, "titel"), ([FILE], {"metadata": "[1]"}, "metadata"),
    ([FILE], {"metadata": "{"}, "metadata"), ([FILE], {"metadata": '{"a": "\\ud800"}'}, "metadata"),
    ([FILE], {"metadata": '{"a": {"b": 1}}'}, "metadata"),
    ([FILE, FILE], {"title": "x"}, "title"),
    ([("file", ("", b"x"))], {}, "file"),
])
async def test_forms_that_are_refused(site: Web, files: Any, data: dict[str, str], field: str) -> None:
    answer = await site.http.post(UPLOAD, files=files or {"x": (None, "y")}, data=data, headers=TENANT)
    assert answer.status_code == 400, answer.text
    if files:
        assert field in str(answer.json()["error"])


@pytest.mark.parametrize(("kind", "body"), [
    ("application/json", b"{}"), ("multipart/form-data", b"x"), ("multipart/form-data; boundary=b", b"x"),
    ("multipart/form-data; boundary=b",
     b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx"),
    ("multipart/form-data; boundary=", b"----"), ("", b""),
    ("multipart/form-data; boundary=b", b"--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a\"\r\n\r\nx"
     b"\r\n--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"b\"\r\n\r\nhalf of it"),
])
async def test_bodies_that_are_no_form(site: Web, kind: str, body: bytes) -> None:
    answer = await site.http.post(UPLOAD, content=body, headers={"content-type": kind})
    assert answer.status_code == 400, answer.text
    assert answer.json()["error"]["code"] == "INVALID_ARGUMENT"


async def test_the_gateways_refusal_is_told(site: Web) -> None:
    site.scenario.submit_bytes_max, site.scenario.submit_error = 10, DocumentTooLarge("over 10 bytes")
    answer = await upload(site, [("file", ("a.txt", b"x" * 2_000_000))])
    assert answer.status_code == 400
    assert answer.json()["error"]["reason"] == "DOCUMENT_TOO_LARGE"
    site.scenario.submit_error = Unavailable("away")
    answer = await upload(site, [("file", ("a.txt", b"x" * 100))])
    assert answer.status_code == 503


async def test_an_upload_has_bounds(site: Web) -> None:
    async with served(site.gateway_url, upload_bytes_max=2048, upload_files_max=2) as (http, _):
        large = await http.post(UPLOAD, files=[("file", ("a", b"x" * 4096))])
        assert large.status_code == 413
        many = await http.post(UPLOAD, files=[("file", (f"{number}", b"x")) for number in range(3)])
        assert many.status_code == 400
        assert "2" in many.json()["error"]["message"]


async def test_a_job_is_told_and_a_strangers_is_not(site: Web) -> None:
    site.scenario.jobs = [JOB]
    for path in ("/api/jobs/job-1", "/api/documents/jobs/job-1"):
        told = (await site.http.get(path, headers=TENANT)).json()
        assert (told["job_id"], told["status"], told["percentage"], told["progress"]) == ("job-1", "pending", 10, 10)


async def test_a_tenant_that_is_none_is_refused(site: Web) -> None:
    for headers in ({"sourcier-tenant": "Not One"}, {"authorization": "Bearer caf\xe9"},
                    {"authorization": "Bearer " + "x" * 9_000}):
        answer = await site.http.get("/api/jobs/x", headers=[
            (name.encode(), value.encode("latin-1")) for name, value in headers.items()
        ])
        assert answer.status_code == 400, answer.text
    twice = await site.http.get("/api/jobs/x", headers=[(b"sourcier-tenant", b"a"), (b"sourcier-tenant", b"b")])
    assert twice.status_code == 400
    assert "2 times" in twice.json()["error"]["message"]


async def begun(port: int, *, tenant: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Begin an upload whose body never comes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"POST {UPLOAD} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\nsourcier-tenant: {tenant}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n--b\r\n".encode()
    )
    await writer.drain()
    return reader, writer


async def test_who_may_not_call_is_refused_before_anything_is_kept(site: Web) -> None:
    reader, writer = await begun(site.port, tenant="Not One")
    async with asyncio.timeout(30):
        assert b" 400 " in await reader.readline()
    writer.close()


async def test_so_many_uploads_lie_on_the_disk_and_no_more(site: Web) -> None:
    site.scenario.jobs = [JOB]
    async with served(site.gateway_url, uploads_at_once_max=1) as (http, port):
        async with asyncio.timeout(30):
            writer = await holding(http, port)
        writer.close()

        async def taken() -> bool:
            return (await http.post(UPLOAD, files=[FILE], headers=TENANT)).status_code == 202

        await eventually(taken)


async def holding(http: httpx.AsyncClient, port: int) -> asyncio.StreamWriter:
    """Return an upload that holds the only place, for which another one was refused.

    Where the other one was faster, it is the first that was refused, and both are begun again.
    """
    while True:
        _, writer = await begun(port, tenant="acme")
        if await refused(http):
            return writer
        writer.close()


async def refused(http: httpx.AsyncClient) -> bool:
    answer = await http.post(UPLOAD, files=[FILE], headers=TENANT)
    return answer.status_code == 429 and answer.headers["retry-after"] == "5"
