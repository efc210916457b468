"""Jobs as the contract tells them."""

from __future__ import annotations

from datetime import datetime
from typing import Final

from google.protobuf.timestamp_pb2 import Timestamp

from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.index.collections.jobs import Job

STATUS_NAMES: Final = {
    ingest_pb2.JOB_STATUS_PENDING: "pending",
    ingest_pb2.JOB_STATUS_PROCESSING: "processing",
    ingest_pb2.JOB_STATUS_COMPLETED: "completed",
    ingest_pb2.JOB_STATUS_FAILED: "failed",
}
FINISHED: Final = frozenset({ingest_pb2.JOB_STATUS_COMPLETED, ingest_pb2.JOB_STATUS_FAILED})

_STATUS_VALUES = {name: value for value, name in STATUS_NAMES.items()}


def job_message(job: Job) -> ingest_pb2.Job:
    """Return a job as a message."""
    message = ingest_pb2.Job(
        job_id=str(job.job_id), document_id=str(job.document_id), collection=job.collection, filename=job.filename,
        source=job.source, size_bytes=job.size_bytes, status=_STATUS_VALUES[job.status], stage=job.stage,
        percentage=job.percentage, chunk_count=job.chunks_created, created_at=_timestamp(job.created_at),
        updated_at=_timestamp(job.updated_at), started_at=_timestamp(job.started_at),
        finished_at=_timestamp(job.finished_at),
    )
    if job.error_code:
        message.error.CopyFrom(
            ingest_pb2.JobError(reason=job.error_code, message=job.error_message, stage=job.error_stage)
        )
    for stage, reached_at in job.stage_times.items():
        entry = message.stage_times.add(stage=stage)
        entry.elapsed.FromTimedelta(reached_at - job.created_at)
    return message


def _timestamp(moment: datetime | None) -> Timestamp | None:
    if moment is None:
        return None
    timestamp = Timestamp()
    timestamp.FromDatetime(moment)
    return timestamp
