"""What a message comes from: the request that it is worked on for, and the trace that its work is a step of."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from nats.aio.msg import Msg

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.queue.subjects import Payload
from sourcier.services.chassis.tracing import spans
from sourcier.services.chassis.tracing.traceparent import TRACEPARENT_KEY, read_traceparent

_TOLD_IDS = ("collection_id", "document_id", "version_id", "job_id", "lane")


def request_id_of(message: Msg, parsed: Payload) -> str:
    """Return the request a message came from: the relay publishes outside of any, the version knows."""
    header = (message.headers or {}).get(telemetry.REQUEST_ID_KEY)
    return header or str(getattr(getattr(parsed, "version", None), "request_id", ""))


def traced(
    message: Msg, parsed: Payload, *, stage: str, tenant: str, attempt: int
) -> AbstractContextManager[spans.Span]:
    """Make work on a message a step of the trace that published it, each try one of its own.

    What the relay published is a step of the call that accepted the document.
    """
    if not spans.tracing():
        return nullcontext(spans.NO_SPAN)
    version = getattr(parsed, "version", None)
    header = (message.headers or {}).get(TRACEPARENT_KEY)
    parent = read_traceparent(header or str(getattr(version, "traceparent", "")))
    ids = {name: str(getattr(version, name, "")) for name in _TOLD_IDS}
    return spans.entered(f"process {stage}", kind="consumer", parent=parent, attributes={
        "messaging.system": "nats", "messaging.operation.name": "process", "messaging.operation.type": "process",
        "messaging.destination.name": message.subject, "messaging.consumer.group.name": stage,
        "sourcier.tenant": tenant, "sourcier.attempt": attempt,
        "sourcier.request_id": telemetry.current_request_id(),
        **{f"sourcier.{name}": each for name, each in ids.items() if each},
    })
