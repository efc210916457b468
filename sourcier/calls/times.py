"""The calls on when documents hold, which replaces which, and what they contradict one another in."""

from __future__ import annotations

from sourcier.calls.base import Calls
from sourcier.gateway.v1 import knowledge_pb2


class TimesCalls(Calls):
    """Dates, replacements and conflicts of documents."""

    async def set_document_date(
        self, document_id: str, kind: str, date: str, *, timeout_seconds: float | None = None
    ) -> knowledge_pb2.Document:
        """Set a date of a document in the place of the one that was read; an empty one goes back to that.

        `kind` is `effect`, `end`, `signature`, `publication` or `document`; `date` a day, a month or a year.
        The document comes back with its dates, this one of the origin `user`.
        """
        request = knowledge_pb2.SetDocumentDateRequest(document_id=document_id, kind=kind, date=date)
        return (await self._unary(self._knowledge.SetDocumentDate, request, timeout_seconds)).document

    async def supersede_document(
        self, document_id: str, superseded_id: str, *, remove: bool = False, timeout_seconds: float | None = None
    ) -> knowledge_pb2.Document:
        """Say that a document replaces another one of its collection, or with `remove` that it does not."""
        request = knowledge_pb2.SupersedeDocumentRequest(
            document_id=document_id, superseded_id=superseded_id, remove=remove
        )
        return (await self._unary(self._knowledge.SupersedeDocument, request, timeout_seconds)).document

    async def conflicts(
        self, collection: str, *, limit: int = 100, timeout_seconds: float = 120.0
    ) -> knowledge_pb2.ListConflictsResponse:
        """Find passages of a collection's documents that say the same of another figure or date."""
        request = knowledge_pb2.ListConflictsRequest(collection=collection, limit=limit)
        return await self._unary(self._knowledge.ListConflicts, request, timeout_seconds)
