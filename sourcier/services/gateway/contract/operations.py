"""Failures and operations as the public contract tells them: what ingest calls a dead letter is a failure here."""

from __future__ import annotations

from sourcier.gateway.v1 import operations_pb2
from sourcier.ingest.v1 import ingest_pb2

FIELDS = {"dead_letter_id": "failure_id", "dead_letter_ids": "failure_ids"}
"""Public names of the fields that ingest's errors name."""

_STATES = {
    ingest_pb2.DEAD_LETTER_STATE_OPEN: operations_pb2.FAILURE_STATE_OPEN,
    ingest_pb2.DEAD_LETTER_STATE_REPLAYED: operations_pb2.FAILURE_STATE_REPLAYED,
    ingest_pb2.DEAD_LETTER_STATE_DISCARDED: operations_pb2.FAILURE_STATE_DISCARDED,
}
_INTERNAL_STATES = {public: internal for internal, public in _STATES.items()}


def failure_message(letter: ingest_pb2.DeadLetter) -> operations_pb2.Failure:
    """Return ingest's dead letter as a failure."""
    return operations_pb2.Failure(
        failure_id=letter.dead_letter_id,
        state=_STATES.get(letter.state, operations_pb2.FAILURE_STATE_UNSPECIFIED), stage=letter.stage,
        reason=letter.reason, message=letter.message, attempts=letter.attempts, document_id=letter.document_id,
        version_id=letter.version_id, job_id=letter.job_id, collection=letter.collection, source=letter.source,
        filename=letter.filename, request_id=letter.request_id, original_key=letter.original_key,
        failed_at=letter.failed_at,
    )


def internal_state(state: operations_pb2.FailureState.ValueType) -> ingest_pb2.DeadLetterState.ValueType:
    """Return a state as ingest's; one that is not set, or not known, asks for the open ones."""
    return _INTERNAL_STATES.get(state, ingest_pb2.DEAD_LETTER_STATE_UNSPECIFIED)


def internal_filter(message: operations_pb2.FailureFilter) -> ingest_pb2.DeadLetterFilter:
    """Return a filter as ingest's."""
    return ingest_pb2.DeadLetterFilter(stage=message.stage, reason=message.reason, collection=message.collection)


def progress_message(progress: ingest_pb2.ReconcileResponse) -> operations_pb2.ReconcileResponse:
    """Return how far a comparison is."""
    return operations_pb2.ReconcileResponse(
        bucket=progress.bucket, prefix=progress.prefix, listed=progress.listed, missing=progress.missing,
        changed=progress.changed, gone=progress.gone, finished=progress.finished, examples=progress.examples,
    )


def bucket_message(source: ingest_pb2.BucketSource) -> operations_pb2.BucketSource:
    """Return what is watched of a bucket."""
    return operations_pb2.BucketSource(
        bucket=source.bucket, prefix=source.prefix, collection=source.collection, category=source.category,
        include=source.include, exclude=source.exclude, size_bytes_max=source.size_bytes_max,
        current_count=source.current_count, waiting_count=source.waiting_count, refused_count=source.refused_count,
        errors=[operations_pb2.BucketObject(key=each.key, error=each.error) for each in source.errors],
        compared_at=source.compared_at if source.HasField("compared_at") else None, comparing=source.comparing,
        changed_at=source.changed_at if source.HasField("changed_at") else None,
    )


def erasure_message(erasure: ingest_pb2.EraseTenantResponse) -> operations_pb2.EraseTenantResponse:
    """Return how far an erasure is."""
    return operations_pb2.EraseTenantResponse(
        step=erasure.step, finished=erasure.finished,
        counts=[operations_pb2.ErasedCount(kind=each.kind, count=each.count) for each in erasure.counts],
        traces=[
            operations_pb2.Trace(
                place=trace.place, state=operations_pb2.TraceState.ValueType(trace.state),
                explanation=trace.explanation, until=trace.until if trace.HasField("until") else None,
            )
            for trace in erasure.traces
        ],
        asked_at=erasure.asked_at if erasure.HasField("asked_at") else None,
        finished_at=erasure.finished_at if erasure.HasField("finished_at") else None,
    )
