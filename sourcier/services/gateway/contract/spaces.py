"""Spaces, builds and comparisons as the public contract tells them."""

from __future__ import annotations

from collections.abc import Collection as Container
from dataclasses import asdict
from datetime import timedelta
from typing import Final

from google.protobuf.duration_pb2 import Duration

from sourcier.gateway.v1 import spaces_pb2
from sourcier.services.gateway.retrieval.comparison import Comparison, Measure
from sourcier.services.index.collections.build_manifest import BuildManifest
from sourcier.services.index.moves.builds import SpaceBuild
from sourcier.services.index.spaces.spaces import UsedSpace

_STATES: Final = {
    "building": spaces_pb2.SPACE_BUILD_STATE_BUILDING,
    "ready": spaces_pb2.SPACE_BUILD_STATE_READY,
    "live": spaces_pb2.SPACE_BUILD_STATE_LIVE,
    "retired": spaces_pb2.SPACE_BUILD_STATE_RETIRED,
    "dropped": spaces_pb2.SPACE_BUILD_STATE_DROPPED,
    "failed": spaces_pb2.SPACE_BUILD_STATE_FAILED,
}


def build_message(build: SpaceBuild) -> spaces_pb2.SpaceBuild:
    """Return a build as a message."""
    message = spaces_pb2.SpaceBuild(
        build_id=build.build_id, collection=build.collection, from_space_id=build.from_space_id,
        space_id=build.space_id, state=_STATES[build.state], chunks_total=build.chunks_total,
        chunks_done=build.chunks_done, error=build.error,
    )
    for field, moment in (
        (message.created_at, build.created_at), (message.ready_at, build.ready_at),
        (message.switched_at, build.switched_at), (message.finished_at, build.finished_at),
    ):
        if moment is not None:
            field.FromDatetime(moment)
    return message


def manifest_message(manifest: BuildManifest) -> spaces_pb2.BuildManifest:
    """Return a build manifest as a message: its fields are named alike."""
    fields = asdict(manifest)
    built_at = fields.pop("built_at")
    message = spaces_pb2.BuildManifest(**fields)
    message.built_at.FromDatetime(built_at)
    return message


def space_message(space: UsedSpace, *, served: Container[str]) -> spaces_pb2.Space:
    """Return a space as a message."""
    return spaces_pb2.Space(
        space_id=space.space_id, model=space.model, revision=space.revision, dimension=space.dimension,
        served=space.space_id in served, collections=space.collections, retired=space.state == "retired",
    )


def comparison_message(comparison: Comparison) -> spaces_pb2.CompareSpacesResponse:
    """Return a comparison as a message."""
    return spaces_pb2.CompareSpacesResponse(
        current=_measure(comparison.current), other=_measure(comparison.other), overlap=comparison.overlap,
        question_count=comparison.question_count, answered_count=comparison.answered_count,
    )


def _measure(measure: Measure) -> spaces_pb2.SpaceMeasure:
    latency = Duration()
    latency.FromTimedelta(timedelta(seconds=measure.median_seconds))
    return spaces_pb2.SpaceMeasure(
        space_id=measure.space_id, recall=measure.recall, reciprocal_rank=measure.reciprocal_rank,
        median_latency=latency,
    )
