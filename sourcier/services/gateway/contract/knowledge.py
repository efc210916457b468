"""Collections, documents and jobs as the public contract tells them."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from google.protobuf.timestamp_pb2 import Timestamp

from sourcier.gateway.v1 import knowledge_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.index.collections.collections import Collection, Held
from sourcier.services.index.documents.coverage import Coverage, Gap
from sourcier.services.index.documents.documents import Document
from sourcier.services.index.times.periods import Period


def collection_message(collection: Collection, held: Held) -> knowledge_pb2.Collection:
    """Return a collection, and how much it holds, as a message."""
    chunking = collection.chunking
    return knowledge_pb2.Collection(
        collection_id=collection.collection_id, name=collection.name, space_id=collection.space_id,
        chunking=knowledge_pb2.Chunking(
            method=chunking.method, unit=chunking.unit, target=chunking.target, overlap=chunking.overlap,
            maximum=chunking.maximum,
        ),
        document_count=held.documents, chunk_count=held.chunks,
        created_at=timestamp(collection.created_at), retention_days=collection.retention_days,
        retrieval=knowledge_pb2.RetrievalSettings(**collection.retrieval.said),
    )


def document_message(document: Document) -> knowledge_pb2.Document:
    """Return a document as a message."""
    indexed = document.current_version is not None
    return knowledge_pb2.Document(
        document_id=document.document_id, collection=document.collection, title=document.title,
        source=document.source, filename=document.filename, content_type=document.content_type,
        size_bytes=document.size_bytes, content_sha256=document.content_sha256.hex(),
        version_id=document.current_version or "", chunk_count=document.chunk_count,
        metadata={key: str(value) for key, value in document.metadata.items()}, category=document.category,
        created_at=timestamp(document.created_at), indexed_at=timestamp(document.updated_at) if indexed else None,
        warnings=[
            knowledge_pb2.ReadingWarning(code=code, count=count, places=places, detail=detail)
            for code, count, places, detail in document.reading_warnings or ()
        ],
        dates=[
            knowledge_pb2.DocumentDate(
                kind=each.kind.value, start=each.period.start.isoformat(), end=each.period.end.isoformat(),
                origin=each.origin.value, words=each.words,
            )
            for each in document.times.dates
        ],
        relations=map(_related, document.relations or ()), related_by=map(_related, document.related_by or ()),
        source_root=document.source_root,
    )


def coverage_message(collection: str, coverage: Coverage) -> knowledge_pb2.GetCoverageResponse:
    """Return what became of a collection's documents as a message."""
    return knowledge_pb2.GetCoverageResponse(
        collection=collection, document_count=coverage.documents, whole_count=coverage.whole,
        partial_count=coverage.partial, under_way_count=coverage.under_way, failed_count=coverage.failed,
        updating_count=coverage.updating, outdated_count=coverage.outdated, unread=map(_gap, coverage.unread),
        failures=map(_gap, coverage.failures),
    )


def _gap(gap: Gap) -> knowledge_pb2.CoverageGap:
    return knowledge_pb2.CoverageGap(
        reason=gap.reason, document_count=gap.documents, count=gap.count,
        examples=[
            knowledge_pb2.CoveredDocument(
                document_id=each.document_id, source=each.source, title=each.title, message=each.message
            )
            for each in gap.examples
        ],
    )


def date_fields(period: Period | None) -> dict[str, str]:
    """Return the first and the last day of a time, by the fields that messages have for them; empty for none."""
    return {} if period is None else {
        "date_start": period.start.isoformat(), "date_end": period.end.isoformat(),
    }


def _related(relation: Sequence[Any]) -> knowledge_pb2.RelatedDocument:
    kind, document_id, title, origin, part, words = relation
    return knowledge_pb2.RelatedDocument(
        kind=kind, document_id=document_id, title=title, origin=origin, part=part, words=words
    )


def job_from_internal(job: ingest_pb2.Job) -> knowledge_pb2.Job:
    """Return ingest's job as the public one: the two are field for field alike, which a test proves."""
    return knowledge_pb2.Job.FromString(job.SerializeToString())


def internal_header(header: knowledge_pb2.DocumentHeader) -> ingest_pb2.DocumentHeader:
    """Return the public header as ingest's: the two are field for field alike, which a test proves."""
    return ingest_pb2.DocumentHeader.FromString(header.SerializeToString())


def internal_creation(request: knowledge_pb2.CreateCollectionRequest) -> ingest_pb2.CreateCollectionRequest:
    """Return the public request as ingest's: the two are field for field alike, which a test proves."""
    return ingest_pb2.CreateCollectionRequest.FromString(request.SerializeToString())


def internal_change(request: knowledge_pb2.UpdateCollectionRequest) -> ingest_pb2.UpdateCollectionRequest:
    """Return the public request as ingest's, what is absent absent: the two are alike, which a test proves."""
    return ingest_pb2.UpdateCollectionRequest.FromString(request.SerializeToString())


def timestamp(moment: datetime) -> Timestamp:
    """Return a moment."""
    message = Timestamp()
    message.FromDatetime(moment)
    return message
