"""The public contract and ingest's are field for field alike, so that messages pass as bytes."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from google.protobuf.descriptor import Descriptor, EnumDescriptor

from sourcier.gateway.v1 import knowledge_pb2
from sourcier.ingest.v1 import ingest_pb2
from sourcier.services.gateway.contract.knowledge import (
    collection_message,
    internal_change,
    internal_creation,
    internal_header,
    job_from_internal,
)
from sourcier.services.index.collections.collections import Chunking, Collection, Held


def shape(descriptor: Descriptor, seen: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return all that decides how a message is written and read, whatever its package is."""
    if descriptor.name in seen:
        return {}
    return {
        field.name: (
            field.number, field.type, field.is_repeated, field.has_presence,
            field.containing_oneof.name if field.containing_oneof else "",
            shape(field.message_type, (*seen, descriptor.name)) if field.message_type else (),
            values(field.enum_type) if field.enum_type else (),
        )
        for field in descriptor.fields
    }


def values(enum: EnumDescriptor) -> dict[str, int]:
    return {value.name: value.number for value in enum.values}


@pytest.mark.parametrize("name", [
    "Job", "DocumentHeader", "Chunking", "RetrievalSettings",
    "JobError", "StageTime", "CreateCollectionRequest", "UpdateCollectionRequest",
])
def test_messages_that_are_relayed_are_alike(name: str) -> None:
    public, internal = (module.DESCRIPTOR.message_types_by_name[name] for module in (knowledge_pb2, ingest_pb2))
    assert shape(public) == shape(internal)


def test_statuses_are_alike() -> None:
    public, internal = (module.DESCRIPTOR.enum_types_by_name["JobStatus"] for module in (knowledge_pb2, ingest_pb2))
    assert values(public) == values(internal)


def test_what_is_relayed_arrives_whole() -> None:
    job = ingest_pb2.Job(
        job_id="j", status=ingest_pb2.JOB_STATUS_FAILED, percentage=30,
        error=ingest_pb2.JobError(reason="DOCUMENT_ENCRYPTED", message="a password", stage="parse"),
        stage_times=[ingest_pb2.StageTime(stage="located")],
    )
    job.created_at.GetCurrentTime()
    relayed = job_from_internal(job)
    assert relayed.SerializeToString() == job.SerializeToString()
    assert (relayed.status, relayed.error.message) == (knowledge_pb2.JOB_STATUS_FAILED, "a password")
    header = knowledge_pb2.DocumentHeader(filename="a.pdf", metadata={"team": "paie"}, category="law", lane="bulk")
    assert dict(internal_header(header).metadata) == {"team": "paie"}
    assert internal_header(header).lane == "bulk"
    chunking = knowledge_pb2.Chunking
    creation = knowledge_pb2.CreateCollectionRequest
    assert not internal_creation(creation(chunking=chunking(method="page"))).chunking.HasField("overlap")
    assert internal_creation(creation(chunking=chunking(overlap=0))).chunking.HasField("overlap")
    assert internal_creation(creation(name="a", retention_days=30)).retention_days == 30
    searched = knowledge_pb2.RetrievalSettings(limit=3, rerank=False)
    assert {field.name for field, _ in internal_creation(creation(retrieval=searched)).retrieval.ListFields()} == {
        "limit", "rerank",
    }


@pytest.mark.parametrize("given", [
    {}, {"retention_days": 0}, {"retention_days": 30}, {"chunking": knowledge_pb2.Chunking()},
    {"chunking": knowledge_pb2.Chunking(method="page"), "retention_days": 1},
])
def test_what_is_not_to_change_stays_absent(given: dict[str, Any]) -> None:
    change = internal_change(knowledge_pb2.UpdateCollectionRequest(name="lois", **given))
    assert {field for field in ("chunking", "retention_days") if change.HasField(field)} == set(given)
    assert change.retention_days == given.get("retention_days", 0)


def test_how_long_documents_are_kept_is_told() -> None:
    collection = Collection(
        collection_id="c", tenant="acme", number=1, name="lois", space_id="s", lane="bulk",
        chunking=Chunking("hybrid", "tokens", 256, 32, 384), created_at=datetime.now(UTC), retention_days=30,
    )
    message = collection_message(collection, Held(documents=2, chunks=5))
    assert (message.retention_days, message.document_count, message.chunk_count) == (30, 2, 5)
