"""Every expression of the dashboards and alerts, run by a real Prometheus that scraped a stack at work."""

from __future__ import annotations

import asyncio
import math
import re
import shutil
import socket
import subprocess
from collections.abc import AsyncIterator
from dataclasses import dataclass

import grpc.aio
import httpx
import pytest
import pytest_asyncio
import yaml

from sourcier.gateway.v1 import answer_pb2, answer_pb2_grpc, knowledge_pb2, knowledge_pb2_grpc
from tests.fix_stack import METRICS_TOKEN, RunningStack
from tests.metrics import OBSERVABILITY, alerts, asked_for, by_series, panels
from tests.waiting import eventually

SECONDS = 90
SCRAPED_EVERY = "1s"
COUNTED = re.compile(r"sum by \([^)]*\) \(rate\((sourcier_\w+_total)\{")
GROWN = {"sourcier_messages_total", "sourcier_tokens_total", "sourcier_embed_tokens_total",
         "sourcier_tenant_calls_total"}
"""Counters with labels that grow by the work of this test; the others have no series until what they count happens."""
VARIABLES = {"$namespace": ".*", "$__rate_interval": "5m"}


@dataclass(frozen=True)
class Prometheus:
    """A Prometheus that scrapes the stack."""

    http: httpx.AsyncClient
    targets: int

    async def samples(self, expression: str) -> list[float]:
        """Return what an expression gives now; fail where Prometheus does not understand it."""
        answer = (await self.http.get("/api/v1/query", params={"query": expression})).json()
        assert answer["status"] == "success", f"{expression}: {answer.get('error')}"
        return [float(sample["value"][1]) for sample in answer["data"]["result"]]

    async def scraped(self) -> bool:
        """Return whether each service was scraped."""
        return sum(await self.samples("up")) == self.targets


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def prometheus(
    scripted_stack: RunningStack, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[Prometheus]:
    """Yield a Prometheus that has scraped every service of the stack."""
    program = shutil.which("prometheus")
    if program is None:
        pytest.skip("prometheus is not installed; on Debian: apt install prometheus")
    folder = tmp_path_factory.mktemp("prometheus")
    addresses = [value for name, value in scripted_stack.environment.items() if name.endswith("_METRICS_LISTEN")]
    (folder / "prometheus.yml").write_text(yaml.safe_dump({
        "global": {"scrape_interval": SCRAPED_EVERY, "evaluation_interval": SCRAPED_EVERY},
        "rule_files": [str(OBSERVABILITY / "rules.yaml")],
        "scrape_configs": [{"job_name": "sourcier", "authorization": {"credentials": METRICS_TOKEN},
                            "static_configs": [{"targets": addresses}]}],
    }), "utf-8")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    with (folder / "log").open("wb") as log:
        process = await asyncio.create_subprocess_exec(
            program, f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
            f"--web.listen-address={address}", stdout=log, stderr=log,
        )
    try:
        async with httpx.AsyncClient(base_url=f"http://{address}", timeout=30, trust_env=False) as http:
            running = Prometheus(http, len(addresses))

            async def ready() -> bool:
                assert process.returncode is None, (folder / "log").read_text("utf-8")
                try:
                    # It answers before its storage is there, but no query.
                    return (await http.get("/-/ready")).is_success and await running.scraped()
                except httpx.TransportError:
                    return False

            await eventually(ready, seconds=SECONDS)
            yield running
    finally:
        process.terminate()
        await process.wait()


async def work(stack: RunningStack, number: int) -> None:
    """Send a document, ask about it, and look at the page."""
    async with grpc.aio.insecure_channel(stack.gateway) as channel:
        async def pieces() -> AsyncIterator[knowledge_pb2.UploadDocumentRequest]:
            yield knowledge_pb2.UploadDocumentRequest(header=knowledge_pb2.DocumentHeader(filename=f"{number}.md"))
            text = f"# Panier {number}\n\nLe panier coûte {number} €.\n"
            yield knowledge_pb2.UploadDocumentRequest(data=text.encode())

        knowledge = knowledge_pb2_grpc.KnowledgeServiceStub(channel)
        answer = await knowledge.UploadDocument(pieces(), timeout=SECONDS)
        async for _ in knowledge.WatchJob(
            knowledge_pb2.WatchJobRequest(job_id=answer.job.job_id), timeout=SECONDS
        ):
            pass
        asked = answer_pb2_grpc.AnswerServiceStub(channel).Ask(
            answer_pb2.AskRequest(question=f"Combien coûte le panier {number} ?"), timeout=SECONDS)
        async for _ in asked:
            pass
    async with httpx.AsyncClient(trust_env=False) as http:
        assert (await http.get(stack.page)).status_code == 200


def may_be_empty(expression: str) -> bool:
    """Return whether nothing of what an expression counts by labels has to have happened."""
    counted = COUNTED.match(expression)
    return counted is not None and (counted[1] not in GROWN or "!=" in expression)


async def test_every_expression_returns_data(prometheus: Prometheus, scripted_stack: RunningStack) -> None:
    expressions = panels()
    for name, value in VARIABLES.items():
        expressions = {place: expression.replace(name, value) for place, expression in expressions.items()}
    empty = {place for place, expression in expressions.items() if not may_be_empty(expression)}
    assert len(empty) > 30
    for place in expressions.keys() - empty:
        await prometheus.samples(expressions[place])

    async def all_have_data() -> bool:
        for place in sorted(empty):
            if any(not math.isnan(sample) for sample in await prometheus.samples(expressions[place])):
                empty.discard(place)
        return not empty

    # Of a series that begins with its first sample nothing has grown: each has to grow between two scrapes.
    for number in (1, 2, 3):
        await work(scripted_stack, number)
        before = await prometheus.samples("max(timestamp(up))")

        async def scraped_since(before: list[float] = before) -> bool:
            return await prometheus.samples("min(timestamp(up))") > [before[0] + 1]

        await eventually(scraped_since, seconds=SECONDS)
    try:
        await eventually(all_have_data, seconds=SECONDS)
    except TimeoutError:
        pytest.fail(f"no data: {sorted(empty)}")


async def test_every_alert_is_one_for_prometheus(prometheus: Prometheus, scripted_stack: RunningStack) -> None:
    exposed = ""
    async with httpx.AsyncClient(trust_env=False) as http:
        for name, value in scripted_stack.environment.items():
            if name.endswith("_METRICS_LISTEN"):
                shown = {"authorization": f"Bearer {METRICS_TOKEN}"}
                exposed += (await http.get(f"http://{value}/metrics", headers=shown)).text
    known = by_series()
    for expression in alerts().values():
        await prometheus.samples(expression)
        for series in asked_for(expression):
            assert f"# TYPE {known[series].name} " in exposed, series
    loaded = (await prometheus.http.get("/api/v1/rules")).json()["data"]["groups"]
    rules = {rule["name"]: rule for group in loaded for rule in group["rules"]}
    assert rules.keys() == alerts().keys()
    assert [rule["lastError"] for rule in rules.values() if rule.get("lastError")] == []


def test_promtool_accepts_the_rules() -> None:
    program = shutil.which("promtool")
    if program is None:
        pytest.skip("promtool is not installed; on Debian: apt install prometheus")
    rules = str(OBSERVABILITY / "rules.yaml")
    done = subprocess.run([program, "check", "rules", rules], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


