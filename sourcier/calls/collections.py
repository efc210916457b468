"""The calls on collections: create, change, list, delete."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence

from sourcier.calls.base import Calls, pages
from sourcier.gateway.v1 import knowledge_pb2
from sourcier.options import CollectionRetrieval, message

DELETION_SECONDS = 3600.0


class CollectionCalls(Calls):
    """Collections."""

    async def create_collection(
        self, name: str, *, chunking: knowledge_pb2.Chunking | None = None, retention_days: int = 0,
        retrieval: CollectionRetrieval | None = None, timeout_seconds: float | None = None,
    ) -> knowledge_pb2.Collection:
        """Create a collection; raise AlreadyExists when there is one of that name.

        Its documents are removed `retention_days` after they were indexed last; with 0, when they are deleted. Its
        passages are searched for as `retrieval` says, where a request does not.
        """
        request = message(
            knowledge_pb2.CreateCollectionRequest,
            name=name, chunking=chunking, retention_days=retention_days, retrieval=_settings(retrieval)
        )
        return (await self._unary(self._knowledge.CreateCollection, request, timeout_seconds)).collection

    async def update_collection(
        self, name: str, *, chunking: knowledge_pb2.Chunking | None = None, retention_days: int | None = None,
        retrieval: CollectionRetrieval | None = None, reset_retrieval: Sequence[str] = (),
        timeout_seconds: float | None = None,
    ) -> knowledge_pb2.UpdateCollectionResponse:
        """Change how a collection's documents are cut from now on, all fields anew, and how many days they are kept.

        How they are searched for changes in what `retrieval` sets; the service decides again on what `reset_retrieval`
        names. What is None stays as it is. The answer tells how many are cut otherwise: those stay as they are until
        `reprocess(collection=name, from_stage="chunk", only_outdated=True)`.
        """
        request = message(
            knowledge_pb2.UpdateCollectionRequest,
            name=name, chunking=chunking, retention_days=retention_days, retrieval=_settings(retrieval),
            reset_retrieval=reset_retrieval,
        )
        return await self._unary(self._knowledge.UpdateCollection, request, timeout_seconds)

    async def collections(self, *, page_size: int = 200) -> AsyncGenerator[knowledge_pb2.Collection, None]:
        """Yield the collections by name."""
        async def page(token: str) -> knowledge_pb2.ListCollectionsResponse:
            return await self._unary(self._knowledge.ListCollections, knowledge_pb2.ListCollectionsRequest(
                page_size=page_size, page_token=token), None)

        async for response in pages(page):
            for collection in response.collections:
                yield collection

    async def delete_collection(
        self, name: str, *, timeout_seconds: float = DELETION_SECONDS
    ) -> knowledge_pb2.DeleteCollectionResponse:
        """Delete a collection with all its documents; tell whether it existed and how many this call deleted.

        Cut off or out of time (`DeadlineExceeded`), what is deleted stays deleted, and the same call goes on with the
        rest. Raises FailedPrecondition while an agent answers from it.
        """
        request = knowledge_pb2.DeleteCollectionRequest(name=name)
        return await self._unary(self._knowledge.DeleteCollection, request, timeout_seconds)


def _settings(retrieval: CollectionRetrieval | None) -> knowledge_pb2.RetrievalSettings | None:
    return None if retrieval is None else message(knowledge_pb2.RetrievalSettings, **retrieval)
