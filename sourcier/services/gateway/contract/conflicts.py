"""The conflicts of a collection as the public contract tells them."""

from __future__ import annotations

from sourcier.gateway.v1 import knowledge_pb2
from sourcier.services.gateway.contract.knowledge import date_fields
from sourcier.services.gateway.times.conflicts import FoundConflicts
from sourcier.services.index.search.comparable import ComparablePassage
from sourcier.services.index.times.document import DocumentTimes


def conflicts_message(found: FoundConflicts, *, limit: int) -> knowledge_pb2.ListConflictsResponse:
    """Return what was found, so many conflicts at most."""
    return knowledge_pb2.ListConflictsResponse(
        conflicts=[
            knowledge_pb2.DocumentConflict(
                holds=_side(each.holds, each.disagreement.holds_clause, each.holds_times),
                other=_side(each.other, each.disagreement.other_clause, each.other_times),
                reason="" if each.disagreement.why is None else each.disagreement.why.value,
                alike=each.disagreement.alike,
            )
            for each in found.conflicts[:limit]
        ],
        passages=found.passages, truncated=found.truncated or len(found.conflicts) > limit,
    )


def _side(
    passage: ComparablePassage, clause: tuple[int, int], times: DocumentTimes
) -> knowledge_pb2.ConflictingPassage:
    return knowledge_pb2.ConflictingPassage(
        document_id=passage.document_id, title=passage.title, chunk_index=passage.chunk_index, page=passage.page,
        quote=passage.text[clause[0] : clause[1]],
        **date_fields(times.period),
    )
