"""The Model Context Protocol, by the unmodified client of its SDK: over HTTP, and as a process over its input."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from sourcier.services.chassis.errors import Unavailable
from tests.integration.web.fix_web import TENANT, Web

ROOT = Path(__file__).parents[3]
QUESTION = "Combien de jours de télétravail par semaine ?"


@asynccontextmanager
async def opened(site: Web, headers: dict[str, str] | None = None) -> AsyncIterator[Client]:
    async with (
        httpx2.AsyncClient(headers=TENANT if headers is None else headers, trust_env=False, timeout=30) as http,
        Client(streamable_http_client(f"{site.url}/mcp", http_client=http)) as client,
    ):
        yield client


def text_of(result: Any) -> str:
    return str(result.content[0].text)


async def test_its_tools_say_that_they_only_read(site: Web) -> None:
    async with opened(site) as client:
        tools = (await client.list_tools()).tools
    assert [tool.name for tool in tools] == [
        "search", "ask", "facets", "list_documents", "get_document", "list_collections",
    ]
    assert all(tool.annotations is not None and tool.annotations.read_only_hint for tool in tools)
    assert all(tool.description and tool.input_schema["type"] == "object" for tool in tools)


async def test_each_tool_answers(site: Web) -> None:
    async with opened(site) as client:
        found = await client.call_tool("search", {"question": QUESTION, "limit": 1})
        [passage] = found.structured_content["passages"]
        assert passage["title"] == "Télétravail"
        assert "[1] Télétravail" in text_of(found)
        for narrowed in ("category = finance", {"field": "category", "eq": "finance"}):
            found = await client.call_tool("search", {
                "question": QUESTION, "filter": narrowed, "all_collections": True,
            })
            assert [each["title"] for each in found.structured_content["passages"]] == ["Frais"]
        counted = await client.call_tool("facets", {"fields": "team, category", "filter": "team exists"})
        assert text_of(counted) == "team: paie (1)\ncategory: finance (1)"
        assert counted.structured_content["document_count"] == 1
        answer = await client.call_tool("ask", {"question": QUESTION})
        assert "deux jours" in answer.structured_content["answer"]
        assert answer.structured_content["sources"][0]["document_id"] == passage["document_id"]
        assert "Sources:\n[1] Télétravail" in text_of(answer)
        collections = await client.call_tool("list_collections", {})
        assert collections.structured_content["collections"][0]["name"] == "default"
        first = await client.call_tool("list_documents", {"collection": "default", "limit": 1})
        token = first.structured_content["next_page_token"]
        second = await client.call_tool("list_documents", {"limit": 1, "page_token": token})
        assert {each.structured_content["documents"][0]["title"] for each in (first, second)} == {
            "Télétravail", "Frais"
        }
        whole = await client.call_tool("get_document", {"document_id": passage["document_id"]})
        text = whole.structured_content["text"]
        assert "Le télétravail est possible" in text
        assert "next_offset" not in whole.structured_content
        part = await client.call_tool("get_document", {"document_id": passage["document_id"], "offset": 3, "limit": 10})
        assert part.structured_content["text"] == text[3:13]
        assert part.structured_content["next_offset"] == 13


@pytest.mark.parametrize(("tool", "arguments", "told"), [
    ("search", {}, "question"), ("search", {"question": 3}, "question"),
    ("search", {"question": "a", "limit": 0}, "limit"),
    ("search", {"question": "a", "limit": True}, "limit"), ("search", {"question": "a", "deep": "b"}, "deep"),
    ("search", {"question": "a", "filter": "team ="}, "a value is missing"),
    ("search", {"question": "a", "filter": "taem = paie"}, "Did you mean 'team'"),
    ("search", {"question": "a", "filter": {"fild": 1}}, "no field named"),
    ("search", {"question": "a", "filter": 3}, "filter"),
    ("search", {"question": "a", "all_collections": 1}, "neither"),
    ("search", {"question": ""}, "question"), ("delete_document", {}, "delete_document"),
    ("get_document", {"document_id": "../../etc/passwd"}, ""), ("ask", {"question": "a", "collection": "none"}, "none"),
])
async def test_what_cannot_be_done_is_told_to_the_model(site: Web, tool: str, arguments: Any, told: str) -> None:
    async with opened(site) as client:
        result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert told in text_of(result)


async def test_a_failure_of_the_answer_is_told(site: Web) -> None:
    site.scenario.generate_error = Unavailable("the language model is away")
    async with opened(site) as client:
        result = await client.call_tool("ask", {"question": QUESTION})
    assert result.is_error
    assert "language model" in text_of(result)


async def test_each_request_has_the_rights_that_it_shows(site: Web) -> None:
    async with opened(site, headers={"sourcier-tenant": "other"}) as client:
        found = await client.call_tool("list_documents", {})
        assert found.structured_content["documents"] == []
    async with opened(site, headers={"sourcier-tenant": "Not One"}) as client:
        assert (await client.call_tool("list_documents", {})).is_error


async def test_pages_of_other_sites_are_refused(site: Web) -> None:
    for headers in ({"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}):
        assert (await site.http.post("/mcp", json={}, headers=headers)).status_code == 403
    assert (await site.http.post("/mcp", json={}, headers={"host": "evil.example"})).status_code == 421


async def test_over_standard_input_and_output(site: Web) -> None:
    server = StdioServerParameters(
        command=sys.executable, args=["-m", "sourcier.cli", "mcp", "--gateway", site.gateway_url, "--tenant", "acme"],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "HOME": os.environ.get("HOME", "/")}, cwd=str(ROOT),
    )
    async with Client(stdio_client(server)) as client:
        found = await client.call_tool("search", {"question": QUESTION, "limit": 1})
    assert found.structured_content["passages"][0]["title"] == "Télétravail"
