"""Names of the durable consumers, from the table of subjects: what a scaler of replicas has to be told.

A work queue's consumer is called by its stage and lane, and `embed` by its space too; services make theirs with
`durable_name`, so that the list cannot drift from them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcier.services.chassis.queue import subjects
from sourcier.services.chassis.queue.subjects import Payload, Stream, Subject


@dataclass(frozen=True, slots=True, kw_only=True)
class Durable:
    """One durable consumer as the server knows it."""

    stage: str
    lane: str
    """Empty for a subject without lanes."""
    space_id: str
    """The embedding space; empty for stages that work for all of them."""
    stream: str
    name: str
    work_queue: bool
    """Whether more replicas of the stage empty it faster: one that reads a log is not scaled by."""


def durable_name(stage: str, *, lane: str = "", suffix: str = "", tenant: str = "") -> str:
    """Return the name of a stage's durable for a lane, a suffix and a tenant."""
    return "_".join(part for part in (stage, lane, suffix, tenant and subjects.tenant_token(tenant)) if part)


def durables(prefix: str, *, space_ids: Sequence[str]) -> list[Durable]:
    """Return every durable that the services make under a subject prefix, with an `embed` for each of the spaces."""
    found: list[Durable] = []
    for subject in subjects.TABLE:
        if subject.stream is None:
            continue
        for stage in _stages(subject):
            for lane in subjects.LANES if subject.laned else ("",):
                for space_id in space_ids if subject.suffixed else ("",):
                    found.append(_durable(prefix, subject.stream, stage=stage, lane=lane, space_id=space_id))
    return found


def _stages(subject: Subject[Payload]) -> Iterator[str]:
    """Yield the stages that consume a subject by a durable; an answer's readers have none."""
    for consumer in subject.consumers:
        if consumer == "failures":
            # Each kind of dead letter has a consumer of its own.
            yield f"failures_{subject.name.rpartition('.')[2]}"
        elif consumer not in subjects.WITHOUT_DURABLE:
            yield consumer


def _durable(prefix: str, stream: Stream, *, stage: str, lane: str, space_id: str) -> Durable:
    suffix = subjects.space_token(space_id) if space_id else ""
    return Durable(
        stage=stage, lane=lane, space_id=space_id, stream=subjects.stream_name(prefix, stream),
        name=durable_name(stage, lane=lane, suffix=suffix), work_queue=stream.work_queue,
    )
