"""What a token, rights and the page cost, beside the same without."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path

import httpx
import psutil

from bench.doors import page
from bench.doors.gateways import Door, beside
from bench.doors.issuer import AUDIENCE, issuing
from bench.environment import running_stack
from bench.ingestion.ingestion import load
from bench.measuring import Table, interleave, percentile
from bench.texts import questions, sheets
from sourcier.client import Client
from sourcier.gateway.v1 import access_pb2, answer_pb2

TOKEN_MS_MAX, RIGHTS_RATIO_MAX, PAGE_MEGABYTES_MAX, USABLE_MS_MAX, PAGE_KILOBYTES_MAX = 0.5, 1.2, 120.0, 1000.0, 150.0
OPEN, TOKEN = "no accounts", "a JWT, a reader with grants"
GROUPS, COLLECTIONS = 20, 30
"""Of the person who asks, and what is granted to them beside what is searched."""
SECONDS = 60.0


async def run(*, quick: bool) -> list[Table]:
    """Ask two gateways of the same program and data, in turn; then the page."""
    files, _ = sheets()
    asked = itertools.cycle(questions(2_000))
    async with (
        running_stack(SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway,web") as addresses, issuing() as issuer,
        Client(addresses["SOURCIER_GATEWAY_URL"]) as client, AsyncExitStack() as opened,
    ):
        await load(client, files[:4] if quick else files, collection="default")
        groups = [f"group-{number}" for number in range(GROUPS)]
        await _grant(client, groups)
        metadata = (("authorization", f"Bearer {issuer.token(subject='somebody', groups=groups)}"),)
        doors = {
            OPEN: await opened.enter_async_context(beside(addresses)),
            TOKEN: await opened.enter_async_context(beside(
                addresses, metadata=metadata, SOURCIER_GATEWAY_OIDC_ISSUER=issuer.url,
                SOURCIER_GATEWAY_OIDC_AUDIENCE=AUDIENCE,
            )),
        }
        return [
            *await _calls(doors, rounds=5 if quick else 30, each=50 if quick else 200),
            *await _searches(doors, asked, count=60 if quick else 500),
            *await _page(addresses, rounds=2 if quick else 8),
        ]


async def _grant(client: Client, groups: list[str]) -> None:
    await client.add_grant("group:group-0", collection="default", right="read")
    for number in range(COLLECTIONS):
        await client.create_collection(f"granted-{number}")
        await client.add_grant(f"group:{groups[number % len(groups)]}", collection=f"granted-{number}", right="read")


async def _calls(doors: Mapping[str, Door], *, rounds: int, each: int) -> list[Table]:
    """Time the smallest call, with a token that is verified each time and without."""
    calls = Table("the smallest call", "ms", higher_is_better=False)
    added = Table("what a token adds to a call", "ms", higher_is_better=False)

    computed = Table("the smallest call, processor time of the gateway", "ms", higher_is_better=False)
    names = {id(door): name for name, door in doors.items()}

    async def of(door: Door) -> float:
        taken = []
        before = sum(door.process.cpu_times()[:2])
        for _ in range(each):
            started = time.perf_counter()
            await door.access.WhoAmI(access_pb2.WhoAmIRequest(), metadata=door.metadata, timeout=SECONDS)
            taken.append(1000 * (time.perf_counter() - started))
        computed.add(names[id(door)], 1000 * (sum(door.process.cpu_times()[:2]) - before) / each)
        return percentile(taken, 0.5)

    await interleave(calls, {name: partial(of, door) for name, door in doors.items()}, rounds=rounds)
    for with_token, without in zip(calls.samples[TOKEN], calls.samples[OPEN], strict=True):
        added.add("JWT, RS256", with_token - without)
    calls.notes[OPEN] = f"each sample the median of {each} calls"
    computed.notes[TOKEN] = f"{computed.median(TOKEN) - computed.median(OPEN):.2f} more"
    added.limit("JWT, RS256", at_most=TOKEN_MS_MAX)
    return [calls, computed, added]


async def _searches(doors: Mapping[str, Door], asked: Iterator[str], *, count: int) -> list[Table]:
    """Time searches of the same collection, by who sees all and by who sees what is granted, one after the other."""
    table = Table("Search, by who asks", "ms", higher_is_better=False)
    slow = Table("Search, p95 by who asks", "ms", higher_is_better=False)

    async def of(door: Door) -> float:
        request = answer_pb2.SearchRequest(question=next(asked))  # another one each time: it is embedded
        started = time.perf_counter()
        found = await door.answers.Search(request, metadata=door.metadata, timeout=SECONDS)
        if not found.passages:
            raise RuntimeError(f"{request.question!r} found nothing")
        return 1000 * (time.perf_counter() - started)

    await interleave(table, {name: partial(of, door) for name, door in doors.items()}, rounds=count)
    for name, samples in table.samples.items():
        slow.add(name, percentile(samples, 0.95))
    table.notes[TOKEN] = f"{GROUPS} groups, {COLLECTIONS + 1} grants"
    slow.ratio(TOKEN, OPEN, target=RIGHTS_RATIO_MAX)
    return [table, slow]


async def _page(addresses: Mapping[str, str], *, rounds: int) -> list[Table]:
    """Open the page, call what it calls, and weigh its process."""
    memory = Table("the page's process, after use", "MB", higher_is_better=False)
    url = f"http://{addresses['SOURCIER_WEB_HTTP_LISTEN']}"
    tables = [memory]
    if page.there():
        usable = Table("the page, until a question can be written", "ms", higher_is_better=False)
        weight = Table("the page, sent until then", "kB", higher_is_better=False)
        for milliseconds, sent in (await asyncio.to_thread(page.visits, url, rounds=rounds + 1))[1:]:
            usable.add("first visit", milliseconds)
            weight.add("first visit", sent / 1000)
        usable.limit("first visit", at_most=USABLE_MS_MAX)
        weight.limit("first visit", at_most=PAGE_KILOBYTES_MAX)
        tables += [usable, weight]
    async with httpx.AsyncClient(base_url=url, timeout=SECONDS) as client:
        for _ in range(100):
            for method in ("KnowledgeService/ListCollections", "ConversationService/ListConversations"):
                (await client.post(f"/sourcier.gateway.v1.{method}", json={})).raise_for_status()
        (await client.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, headers={
            "accept": "application/json, text/event-stream"
        })).raise_for_status()
    state = json.loads((Path(addresses["SOURCIER_DATA_DIR"]) / "stack.json").read_text())
    for process in psutil.Process(state["pid"]).children(recursive=True):
        if "sourcier.services.web" in " ".join(process.cmdline()):
            memory.add("RSS", process.memory_info().rss / 1e6)
            memory.add("PSS", process.memory_full_info().pss / 1e6)
    memory.limit("RSS", at_most=PAGE_MEGABYTES_MAX)
    return tables
