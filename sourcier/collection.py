"""The calls on collections: create, list, delete."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from sourcier.calls import Calls, pages
from sourcier.gateway.v1 import knowledge_pb2


class CollectionCalls(Calls):
    """Collections."""

    async def create_collection(
        self, name: str, *, chunking: knowledge_pb2.Chunking | None = None, timeout_seconds: float | None = None
    ) -> knowledge_pb2.Collection:
        """Create a collection; raise AlreadyExists when there is one of that name."""
        request = knowledge_pb2.CreateCollectionRequest(name=name, chunking=chunking)
        return (await self._unary(self._knowledge.CreateCollection, request, timeout_seconds)).collection

    async def collections(self, *, page_size: int = 200) -> AsyncGenerator[knowledge_pb2.Collection, None]:
        """Yield the collections by name."""
        async def page(token: str) -> knowledge_pb2.ListCollectionsResponse:
            return await self._unary(self._knowledge.ListCollections, knowledge_pb2.ListCollectionsRequest(
                page_size=page_size, page_token=token), None)

        async for response in pages(page):
            for collection in response.collections:
                yield collection

    async def delete_collection(
        self, name: str, *, timeout_seconds: float = 300.0
    ) -> knowledge_pb2.DeleteCollectionResponse:
        """Delete a collection with all its documents; tell whether it existed and how many there were."""
        request = knowledge_pb2.DeleteCollectionRequest(name=name)
        return await self._unary(self._knowledge.DeleteCollection, request, timeout_seconds)
