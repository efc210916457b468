"""The retrievers of LangChain and LlamaIndex, each in the framework's own hands."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sourcier.errors import InvalidArgument, NotFound
from sourcier.sync import Client
from tests.unit.sdk.fake_gateway import FakeGateway

pytestmark = pytest.mark.unit


@pytest.fixture
async def waiting(address: str) -> AsyncIterator[Client]:
    """A client that waits, as scripts have it."""
    client = await asyncio.to_thread(Client, address)
    yield client
    await asyncio.to_thread(client.close)


async def test_langchain_gets_passages_with_where_they_stand(waiting: Client, gateway: FakeGateway) -> None:
    from sourcier.retrievers.langchain import SourcierRetriever

    retriever = SourcierRetriever(client=waiting, limit=2, options={"collection": "demo", "mode": "lexical"})
    found = await asyncio.to_thread(retriever.invoke, "télétravail")
    first, second = found
    assert (first.id, first.page_content) == ("chunk-1", "Charte du télétravail. Le passage dit tout.")
    assert (first.metadata["source"], first.metadata["page"], first.metadata["rank"]) == ("charte.pdf", 1, 1)
    assert "page" not in second.metadata  # a Word file has no pages
    asked = gateway.requests[-1]
    assert (asked.question, asked.limit, asked.filter.collection) == ("télétravail", 2, "demo")
    assert found == await retriever.ainvoke("télétravail")
    (only,) = await asyncio.to_thread(retriever.invoke, "télétravail", limit=1)
    assert only == first


async def test_langchain_composes_it_with_other_steps(waiting: Client) -> None:
    from sourcier.retrievers.langchain import SourcierRetriever

    chain = SourcierRetriever(client=waiting, limit=1) | (lambda found: found[0].metadata["title"])
    assert await asyncio.to_thread(chain.invoke, "télétravail") == "Charte du télétravail"


async def test_langchain_is_told_what_is_wrong(waiting: Client) -> None:
    from sourcier.retrievers.langchain import SourcierRetriever

    with pytest.raises(InvalidArgument, match=r"'filtre' is no option of a search; there are .*filter"):
        SourcierRetriever(client=waiting, options={"filtre": "date >= 2024"})
    retriever = SourcierRetriever(client=waiting, options={"collection": "inconnue"})
    with pytest.raises(NotFound, match="inconnue"):
        await asyncio.to_thread(retriever.invoke, "télétravail")


async def test_llama_index_gets_nodes_of_their_documents(waiting: Client, gateway: FakeGateway) -> None:
    pytest.importorskip("llama_index.core", reason="LlamaIndex is not installed: pip install llama-index-core")
    from sourcier.retrievers.llama_index import SourcierRetriever

    retriever: Any = SourcierRetriever(waiting, limit=2, collection="demo")
    found = await asyncio.to_thread(retriever.retrieve, "télétravail")
    first = found[0]
    assert (first.node.node_id, first.node.ref_doc_id, first.score) == ("chunk-1", "document-1", 0.5)
    assert first.node.get_content() == "Charte du télétravail. Le passage dit tout."
    assert gateway.requests[-1].filter.collection == "demo"
    assert [each.node.node_id for each in await retriever.aretrieve("télétravail")] == ["chunk-1", "chunk-2"]
    with pytest.raises(InvalidArgument, match="'k' is no option"):
        SourcierRetriever(waiting, k=3)
