"""A retriever for LlamaIndex: `pip install "sourcier[llamaindex]"`.

>>> from sourcier.retrievers.llama_index import SourcierRetriever
>>> from sourcier.sync import Client
>>> client = Client("localhost:8080")
>>> retriever = SourcierRetriever(client, limit=1, collection="demo")
>>> [found.node.metadata["title"] for found in retriever.retrieve("télétravail")]
['Charte du télétravail']
"""

from __future__ import annotations

import asyncio
from typing import Any

from llama_index.core.retrievers import BaseRetriever
from llama_index.core.schema import NodeRelationship, NodeWithScore, QueryBundle, RelatedNodeInfo, TextNode

from sourcier.gateway.v1 import answer_pb2
from sourcier.retrievers.searching import check_options, metadata, search
from sourcier.sync import Client

_NOT_FOR_MODELS = ["document_id", "version_id", "chunk_id", "chunk_index", "rank", "score"]
"""Metadata that neither a language model nor an embedding model has to read."""


class SourcierRetriever(BaseRetriever):
    """Finds passages through a gateway; `aretrieve` searches in a thread. A failed search raises SourcierError."""

    def __init__(self, client: Client, *, limit: int = 0, **options: Any) -> None:
        """Search through a connection, which is the caller's to close.

        `limit` is the most passages; 0 leaves it to the collection. The other options are those of `Client.search`:
        `collection`, `filter`, `mode`, `neighbours`, …
        """
        check_options(options)
        super().__init__()
        self._client, self._limit, self._options = client, limit, options

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        passages = search(self._client, query_bundle.query_str, limit=self._limit, options=self._options)
        return [NodeWithScore(node=_node(passage), score=passage.score) for passage in passages]

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return await asyncio.to_thread(self._retrieve, query_bundle)


def _node(passage: answer_pb2.Passage) -> TextNode:
    named = {"id_": passage.chunk_id} if passage.chunk_id else {}
    document = {NodeRelationship.SOURCE: RelatedNodeInfo(node_id=passage.document_id)} if passage.document_id else {}
    return TextNode(
        text=passage.text, metadata=metadata(passage), relationships=document,
        excluded_llm_metadata_keys=_NOT_FOR_MODELS, excluded_embed_metadata_keys=_NOT_FOR_MODELS, **named,
    )
