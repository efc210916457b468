"""Errors as the statuses that callers see, and statuses as traces tell them."""

from __future__ import annotations

from typing import Any

import grpc
import grpc.aio
from google.protobuf import any_pb2
from google.protobuf.message import Message
from google.rpc import error_details_pb2, status_pb2
from grpc_status import rpc_status

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ERROR_DOMAIN, ServiceError
from sourcier.services.chassis.tracing.spans import Span

FAULTS = frozenset({"UNKNOWN", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS"})
"""Codes that a trace shows as failures of the server, as OpenTelemetry's conventions do."""


def error_status(error: BaseException) -> status_pb2.Status:
    """Map an error to the status that a caller sees; the one mapping, tested over every subclass."""
    if not isinstance(error, ServiceError):
        error = ServiceError()
    status = status_pb2.Status(code=error.code, message=error.message)
    status.details.append(_packed(
        error_details_pb2.ErrorInfo(reason=error.reason, domain=ERROR_DOMAIN, metadata=dict(error.metadata))
    ))
    if error.field is not None:
        violation = error_details_pb2.BadRequest.FieldViolation(field=error.field, description=error.message)
        status.details.append(_packed(error_details_pb2.BadRequest(field_violations=[violation])))
    if error.retry_after_seconds is not None:
        again = error_details_pb2.RetryInfo()
        again.retry_delay.FromMilliseconds(round(error.retry_after_seconds * 1000))
        status.details.append(_packed(again))
    return status


async def aborted_with(context: grpc.aio.ServicerContext[Any, Any], error: BaseException) -> BaseException:
    """End a call with an error; return what grpc.aio raised."""
    try:
        await context.abort_with_status(rpc_status.to_status(error_status(error)))
    except Exception as raised:  # grpc.aio always raises here: that the call was aborted, or that it ended before
        return raised
    raise AssertionError("a call went on after it was aborted")


def _packed(detail: Message) -> any_pb2.Any:
    packed = any_pb2.Any()
    packed.Pack(detail)
    return packed


def note_call(span: Span, *, method: str, code: str, tenant: str) -> None:
    """Note on the step of a trace how the call that it is ended."""
    if not span.recorded:
        return
    span.note({
        "rpc.system.name": "grpc", "rpc.method": method.removeprefix("/"), "rpc.response.status_code": code,
        "sourcier.request_id": telemetry.current_request_id(), "sourcier.tenant": tenant,
    })
    if code in FAULTS:
        span.failed(code)
