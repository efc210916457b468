"""What a scaler of replicas has to be told: names of durable consumers, and of the figures of queues without them.

Both come from the table of subjects, and services make theirs with `durable_name`, so that the lists cannot drift from
them. A queue whose durables belong to tenants has none that could be named ahead; it is scaled by its figure.
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
    stream: str
    name: str
    work_queue: bool
    """Whether more replicas of the stage empty it faster: one that reads a log is not scaled by."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """The messages of a lane and space whose durables belong to tenants, as one figure."""

    stage: str
    lane: str
    space_id: str
    stream: str
    name: str
    """The label `consumer` of `sourcier_queue_messages`."""


def durable_name(stage: str, *, lane: str = "", suffix: str = "", tenant: str = "") -> str:
    """Return the name of a stage's durable for a lane, a suffix and a tenant."""
    return "_".join(part for part in (stage, lane, suffix, tenant and subjects.tenant_token(tenant)) if part)


def durables(prefix: str) -> list[Durable]:
    """Return every durable that the services make under a subject prefix, those of tenants apart."""
    return [
        Durable(stage=stage, lane=lane, stream=subjects.stream_name(prefix, stream), work_queue=stream.work_queue,
                name=durable_name(stage, lane=lane))
        for subject, stream in _stored() if not stream.by_tenant
        for stage in _stages(subject) for lane in _lanes(subject)
    ]


def figures(prefix: str, *, space_ids: Sequence[str]) -> list[Figure]:
    """Return what tells how much waits in the queues whose durables belong to tenants, for each of the spaces."""
    return [
        Figure(stage=stage, lane=lane, space_id=space_id, stream=subjects.stream_name(prefix, stream),
               name=durable_name(stage, lane=lane, suffix=subjects.space_token(space_id)))
        for subject, stream in _stored() if stream.by_tenant
        for stage in _stages(subject) for lane in _lanes(subject) for space_id in space_ids
    ]


def _stored() -> Iterator[tuple[Subject[Payload], Stream]]:
    for subject in subjects.TABLE:
        if subject.stream is not None:
            yield subject, subject.stream


def _lanes(subject: Subject[Payload]) -> Sequence[str]:
    return subjects.LANES if subject.laned else ("",)


def _stages(subject: Subject[Payload]) -> Iterator[str]:
    """Yield the stages that consume a subject by a durable; an answer's readers have none."""
    for consumer in subject.consumers:
        if consumer == "failures":
            # Each kind of dead letter has a consumer of its own.
            yield f"failures_{subject.name.rpartition('.')[2]}"
        elif consumer not in subjects.WITHOUT_DURABLE:
            yield consumer
