"""Between the messages of the pipeline and the domain: protobuf stops here and in `server`."""

from __future__ import annotations

from sourcier.events.v1 import events_pb2
from sourcier.services.index.collections.versions import VersionReference
from sourcier.services.index.pipeline.releases import WaitingVersion
from sourcier.services.ingest.chunking.configuration import ChunkingConfiguration


def received_message(version: WaitingVersion) -> events_pb2.DocumentReceived:
    """Return what tells the parse stage of a released version."""
    return events_pb2.DocumentReceived(
        version=version_message(version),
        original=events_pb2.ObjectReference(
            key=version.original_key, sha256=version.content_sha256, size_bytes=version.size_bytes
        ),
        filename=version.filename,
        content_type=version.content_type,
        title=version.title,
        source=version.source,
        chunking=events_pb2.ChunkingConfiguration(
            method=version.chunking_method,
            unit=version.chunking_unit,
            target=version.chunking_target,
            overlap=version.chunking_overlap,
            maximum=version.chunking_maximum,
        ),
        space_id=version.space_id,
        start_stage=version.start_stage,
        parse_again=version.parse_again,
        collection=version.collection,
    )


def version_message(version: VersionReference) -> events_pb2.VersionReference:
    """Return the reference that every message of a version carries."""
    return events_pb2.VersionReference(
        tenant=version.tenant,
        collection_id=str(version.collection_id),
        document_id=str(version.document_id),
        version_id=str(version.version_id),
        generation=version.generation,
        job_id=str(version.job_id),
        lane=version.lane,
        request_id=version.request_id,
        traceparent=version.traceparent,
    )


def version_reference(message: events_pb2.VersionReference) -> VersionReference:
    """Return a message's version for the index."""
    return VersionReference(
        tenant=message.tenant,
        collection_id=message.collection_id,
        document_id=message.document_id,
        version_id=message.version_id,
        generation=message.generation,
        job_id=message.job_id,
        lane=message.lane,
        request_id=message.request_id,
        traceparent=message.traceparent,
    )


def chunking_configuration(message: events_pb2.ChunkingConfiguration) -> ChunkingConfiguration:
    """Return a message's chunking configuration."""
    return ChunkingConfiguration(
        method=message.method,
        unit=message.unit,
        target=message.target,
        overlap=message.overlap,
        maximum=message.maximum,
    )
