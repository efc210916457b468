"""The calls on knowledge units: what is known of chunks, and the questions that they answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Literal

from sourcier.calls.base import Calls, pages
from sourcier.gateway.v1 import curation_pb2
from sourcier.options import chosen

UnitStateName = Literal["waiting", "enriched", "no_pairs", "failed"]


class UnitCalls(Calls):
    """Chunks with their category, summary, keywords, usefulness, questions and answers."""

    async def agent_index(
        self, name: str, *, timeout_seconds: float | None = None
    ) -> curation_pb2.GetAgentIndexResponse:
        """Tell how far the knowledge units of an agent's collection are: those that answer, and those being built."""
        request = curation_pb2.GetAgentIndexRequest(name=name)
        return await self._unary(self._curation.GetAgentIndex, request, timeout_seconds)

    async def rebuild_agent_index(
        self, name: str, *, failed_only: bool = False, accept_failed: bool = False,
        timeout_seconds: float | None = None,
    ) -> curation_pb2.RebuildAgentIndexResponse:
        """Make the units of an agent's collection anew beside those that answer; what people edited is kept.

        `failed_only` tries those again that could not be made, `accept_failed` lets the new ones answer without them.
        """
        request = curation_pb2.RebuildAgentIndexRequest(
            name=name, failed_only=failed_only, accept_failed=accept_failed
        )
        return await self._unary(self._curation.RebuildAgentIndex, request, timeout_seconds)

    async def units(
        self, *, document_id: str = "", agent: str = "", state: UnitStateName | None = None, page_size: int = 200
    ) -> AsyncGenerator[curation_pb2.Unit, None]:
        """Yield chunks with what is known of them, by document and place; those of a document, an agent, or all."""
        wanted = chosen(curation_pb2.UnitState, state, UnitStateName, field="state")

        async def page(token: str) -> curation_pb2.ListUnitsResponse:
            request = curation_pb2.ListUnitsRequest(
                document_id=document_id, agent=agent, state=wanted, page_size=page_size, page_token=token
            )
            return await self._unary(self._curation.ListUnits, request, None)

        async for response in pages(page):
            for unit in response.units:
                yield unit

    async def get_unit(self, unit_or_chunk_id: str, *, timeout_seconds: float | None = None) -> curation_pb2.Unit:
        """Return one chunk with what is known of it; raise NotFound."""
        request = curation_pb2.GetUnitRequest(unit_id=unit_or_chunk_id)
        return (await self._unary(self._curation.GetUnit, request, timeout_seconds)).unit

    async def update_unit(
        self, unit_or_chunk_id: str, *, edited_by: str, category: str | None = None, summary: str | None = None,
        keywords: Sequence[str] | None = None, usefulness: float | None = None, timeout_seconds: float | None = None,
    ) -> curation_pb2.Unit:
        """Change what is known of a chunk; what is None stays. Its vectors are made anew."""
        request = curation_pb2.UpdateUnitRequest(
            unit_id=unit_or_chunk_id, category=category, summary=summary, usefulness=usefulness, edited_by=edited_by,
            keywords=None if keywords is None else curation_pb2.KeywordList(words=keywords),
        )
        return (await self._unary(self._curation.UpdateUnit, request, timeout_seconds)).unit

    async def add_pair(
        self, unit_or_chunk_id: str, question: str, answer: str, *, edited_by: str,
        timeout_seconds: float | None = None,
    ) -> curation_pb2.Unit:
        """Add a question and answer to a chunk; return the chunk as it is now."""
        request = curation_pb2.AddPairRequest(
            unit_id=unit_or_chunk_id, question=question, answer=answer, edited_by=edited_by
        )
        return (await self._unary(self._curation.AddPair, request, timeout_seconds)).unit

    async def update_pair(
        self, pair_id: str, *, edited_by: str, question: str = "", answer: str = "",
        timeout_seconds: float | None = None,
    ) -> curation_pb2.Unit:
        """Change a question or its answer; what is empty stays."""
        request = curation_pb2.UpdatePairRequest(
            pair_id=pair_id, question=question, answer=answer, edited_by=edited_by
        )
        return (await self._unary(self._curation.UpdatePair, request, timeout_seconds)).unit

    async def delete_pair(
        self, pair_id: str, *, edited_by: str, timeout_seconds: float | None = None
    ) -> curation_pb2.Unit:
        """Delete a question and its answer; return the chunk as it is now."""
        request = curation_pb2.DeletePairRequest(pair_id=pair_id, edited_by=edited_by)
        return (await self._unary(self._curation.DeletePair, request, timeout_seconds)).unit
