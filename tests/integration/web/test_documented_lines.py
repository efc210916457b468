"""Each curl line of the documentation, as a shell runs it."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
from pathlib import Path

import pytest

from sourcier.ingest.v1 import ingest_pb2
from tests.integration.web.fix_web import TENANT, Web

ROOT = Path(__file__).parents[3]
PAGES = ("http.md", "openai.md", "mcp.md")
WRITTEN = "http://localhost:8080"


def lines() -> list[str]:
    """Return the commands."""
    text = "\n".join((ROOT / "docs" / "using" / page).read_text("utf-8") for page in PAGES)
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    return [line[2:] for block in blocks for line in block.splitlines() if line.startswith("$ curl ")]


async def begun(site: Web) -> str:
    """Return the id of an answer that is being made: without a broker none is kept for longer."""
    site.scenario.hang = True
    async with site.http.stream(
        "POST", "/api/chat", headers=TENANT,
        json={"message": "Combien de jours de télétravail par semaine ?", "stream": True},
    ) as answer:
        async for line in answer.aiter_lines():
            if line.startswith("data: "):
                return str(json.loads(line[6:])["answer_id"])
    raise AssertionError("no event came")


async def told(site: Web, line: str, *, folder: Path) -> tuple[int, str]:
    """Run a line; return curl's code and what it printed."""
    # An answer that is being made has no end yet.
    limit = "max-time = 5\n" if "$ANSWER" in line else ""
    (folder / ".curlrc").write_text(f'fail-with-body\nsilent\n{limit}header = "sourcier-tenant: acme"\n')
    made = (await site.http.post("/api/conversations", json={}, headers=TENANT)).json()
    answer_id = await begun(site) if "$ANSWER" in line else ""
    process = await asyncio.create_subprocess_exec(
        "bash", "-c", line.replace(WRITTEN, site.url), cwd=ROOT, stdout=asyncio.subprocess.PIPE, env={
            "PATH": os.environ["PATH"], "CURL_HOME": str(folder), "JOB": "job-1", "CONVERSATION": made["id"],
            "ANSWER": answer_id, "LANG": "C.UTF-8",
        },
    )
    out, _ = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode()


@pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")
@pytest.mark.parametrize("line", lines(), ids=lambda line: line.partition("localhost:8080")[2][:40])
async def test_a_line_of_the_documentation_works(site: Web, line: str, tmp_path: Path) -> None:
    documents = await site.connect("KnowledgeService/ListDocuments", {"pageSize": 1})
    site.scenario.jobs = [ingest_pb2.Job(
        job_id="job-1", document_id=documents.json()["documents"][0]["documentId"],
        status=ingest_pb2.JOB_STATUS_COMPLETED, stage="done", percentage=100,
    )]
    code, out = await told(site, line, folder=tmp_path)
    assert code == (28 if "$ANSWER" in line else 0), out
    assert out.strip()


def test_there_are_lines() -> None:
    assert len(lines()) > 12
