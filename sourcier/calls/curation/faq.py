"""The calls on an agent's FAQ: questions whose answers a person has validated."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Sequence
from typing import Literal

from sourcier.calls.base import Calls, pages
from sourcier.gateway.v1 import curation_pb2
from sourcier.options import chosen
from sourcier.results import Answer

FaqStateName = Literal["active", "flagged", "retired"]
_MARKER = re.compile(r"(?<!\s)\s*+\[\d+\]")


class FaqCalls(Calls):
    """FAQ entries; those that are active answer without the language model."""

    async def add_faq_entry(
        self, question: str, answer: str, *, agent: str, validated_by: str, source: str = "",
        heading_path: Sequence[str] = (), document_ids: Sequence[str] = (), timeout_seconds: float | None = None,
    ) -> curation_pb2.FaqEntry:
        """Add a question and its answer to an agent's FAQ; it answers until one of the documents changes.

        Raises AlreadyExists where the agent has the question.
        """
        request = curation_pb2.AddFaqEntryRequest(
            agent=agent, question=question, answer=answer, validated_by=validated_by, source=source,
            heading_path=heading_path,
            documents=[curation_pb2.FaqDocument(document_id=document_id) for document_id in document_ids],
        )
        return (await self._unary(self._curation.AddFaqEntry, request, timeout_seconds)).entry

    async def approve_answer(
        self, question: str, answer: Answer, *, agent: str, validated_by: str, corrected_answer: str = "",
        timeout_seconds: float | None = None,
    ) -> curation_pb2.FaqEntry:
        """Add an answer that was given, as it is or corrected, bound to the documents that it cites.

        Raises FailedPrecondition where one of them has other content by now. A refusal is approved with a correction
        alone, and a direct answer of the FAQ is there already: ValueError says so.
        """
        made = answer.direct if answer.direct is not None and answer.direct.pair_id else None
        if answer.direct is not None and made is None:
            raise ValueError("the answer is an FAQ entry already; correct that one")
        if answer.refused and not corrected_answer:
            raise ValueError("a refusal answers nothing; give the right answer")
        versions = {each.document_id: each.version_id for each in answer.citations if each.document_id}
        for citation in answer.citations:
            versions |= {document.document_id: document.version_id for document in citation.documents}
        if made is not None:
            versions = {made.document_id: made.version_id}
        request = curation_pb2.ApproveAnswerRequest(
            agent=agent, question=question,
            answer=_MARKER.sub("", answer.text if made is None else made.answer).strip(),
            corrected_answer=corrected_answer, validated_by=validated_by, answer_id=answer.answer_id,
            documents=[
                curation_pb2.FaqDocument(document_id=document_id, version_id=version_id)
                for document_id, version_id in versions.items()
            ],
        )
        return (await self._unary(self._curation.ApproveAnswer, request, timeout_seconds)).entry

    async def approve_message(
        self, message_id: str, *, agent: str, validated_by: str, question: str = "", corrected_answer: str = "",
        timeout_seconds: float | None = None,
    ) -> curation_pb2.FaqEntry:
        """Add the answer of a conversation that is kept, as it is or corrected, bound to the versions that it cites.

        `question` puts the question in better words. Raises NotFound, and FailedPrecondition where a document has other
        content by now, or the message answers nothing.
        """
        request = curation_pb2.ApproveAnswerRequest(
            agent=agent, question=question, corrected_answer=corrected_answer, validated_by=validated_by,
            message_id=message_id,
        )
        return (await self._unary(self._curation.ApproveAnswer, request, timeout_seconds)).entry

    async def confirm_faq_entry(
        self, entry_id: str, *, validated_by: str, corrected_answer: str = "", timeout_seconds: float | None = None
    ) -> curation_pb2.FaqEntry:
        """Let an entry whose document changed answer again, or correct one that answers."""
        request = curation_pb2.ConfirmFaqEntryRequest(
            entry_id=entry_id, corrected_answer=corrected_answer, validated_by=validated_by
        )
        return (await self._unary(self._curation.ConfirmFaqEntry, request, timeout_seconds)).entry

    async def get_faq_entry(self, entry_id: str, *, timeout_seconds: float | None = None) -> curation_pb2.FaqEntry:
        """Return an entry; raise NotFound."""
        request = curation_pb2.GetFaqEntryRequest(entry_id=entry_id)
        return (await self._unary(self._curation.GetFaqEntry, request, timeout_seconds)).entry

    async def faq_entries(
        self, *, agent: str = "", state: FaqStateName | None = None, page_size: int = 200
    ) -> AsyncGenerator[curation_pb2.FaqEntry, None]:
        """Yield entries in the order they were added; without a state, all but those that were retired."""
        wanted = chosen(curation_pb2.FaqState, state, FaqStateName, field="state")

        async def page(token: str) -> curation_pb2.ListFaqEntriesResponse:
            request = curation_pb2.ListFaqEntriesRequest(
                agent=agent, state=wanted, page_size=page_size, page_token=token
            )
            return await self._unary(self._curation.ListFaqEntries, request, None)

        async for response in pages(page):
            for entry in response.entries:
                yield entry

    async def retire_faq_entry(self, entry_id: str, *, timeout_seconds: float | None = None) -> curation_pb2.FaqEntry:
        """Let an entry answer no more, for good."""
        request = curation_pb2.RetireFaqEntryRequest(entry_id=entry_id)
        return (await self._unary(self._curation.RetireFaqEntry, request, timeout_seconds)).entry
