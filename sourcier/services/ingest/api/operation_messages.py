"""Operations as the contract tells them."""

from __future__ import annotations

from typing import Final

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.index.collections.collections import Chunking
from sourcier.services.index.pipeline.dead_letters import DeadLetter
from sourcier.services.index.search.settings import RetrievalSettings
from sourcier.services.ingest.api.operations import LetterFilter
from sourcier.services.ingest.buckets.reconciler import ReconciliationProgress
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration

STATE_NAMES: Final = {
    ingest_pb2.DEAD_LETTER_STATE_UNSPECIFIED: "open",
    ingest_pb2.DEAD_LETTER_STATE_OPEN: "open",
    ingest_pb2.DEAD_LETTER_STATE_REPLAYED: "replayed",
    ingest_pb2.DEAD_LETTER_STATE_DISCARDED: "discarded",
}

_STATE_VALUES = {name: value for value, name in STATE_NAMES.items()}


def dead_letter_message(letter: DeadLetter) -> ingest_pb2.DeadLetter:
    """Return a dead letter as a message."""
    message = ingest_pb2.DeadLetter(
        dead_letter_id=letter.dead_letter_id, state=_STATE_VALUES[letter.state], stage=letter.stage,
        reason=letter.reason, message=letter.message, attempts=letter.attempts, document_id=letter.document_id,
        version_id=letter.version_id, job_id=letter.job_id, collection=letter.collection, source=letter.source,
        filename=letter.filename, request_id=letter.request_id, original_key=letter.original_key,
        subject=letter.subject, payload_bytes=letter.payload_bytes,
    )
    message.failed_at.FromDatetime(letter.failed_at)
    return message


def letter_filter(message: ingest_pb2.DeadLetterFilter) -> LetterFilter:
    """Return what a caller means; an absent filter narrows nothing."""
    return LetterFilter(stage=message.stage, reason=message.reason, collection=message.collection)


def retrieval_settings(message: ingest_pb2.RetrievalSettings) -> RetrievalSettings:
    """Return what a message says of how passages are searched for: what is set, and nothing else."""
    return RetrievalSettings(**{field.name: value for field, value in message.ListFields()})


def chunking_configuration(message: ingest_pb2.Chunking) -> ChunkingConfiguration:
    """Return how documents are to be cut, defaults filled in; raise InvalidArgument."""
    return ChunkingConfiguration.of(
        method=message.method, unit=message.unit, target=message.target, maximum=message.maximum,
        overlap=message.overlap if message.HasField("overlap") else None,
    )


def chunking_message(chunking: Chunking) -> ingest_pb2.Chunking:
    """Return how documents are cut as a message."""
    return ingest_pb2.Chunking(
        method=chunking.method, unit=chunking.unit, target=chunking.target, overlap=chunking.overlap,
        maximum=chunking.maximum,
    )


def progress_message(progress: ReconciliationProgress) -> ingest_pb2.ReconcileResponse:
    """Return how far a comparison is as a message."""
    return ingest_pb2.ReconcileResponse(
        bucket=progress.bucket, prefix=progress.prefix, listed=progress.listed, missing=progress.missing,
        changed=progress.changed, gone=progress.gone, finished=progress.finished, examples=progress.examples,
    )
