"""Errors on their way to a caller: statuses of the gateway and of this service, and their codes in HTTP."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, cast

import grpc
import grpc.aio
from google.protobuf import any_pb2
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import Message
from google.rpc import code_pb2, error_details_pb2, status_pb2
from grpc_status import rpc_status

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.channels import translate
from sourcier.services.chassis.grpc.statuses import error_status

GATEWAY = "gateway"
HTTP_CODES: Mapping[int, int] = {
    code_pb2.CANCELLED: 499, code_pb2.UNKNOWN: 500, code_pb2.INVALID_ARGUMENT: 400, code_pb2.DEADLINE_EXCEEDED: 504,
    code_pb2.NOT_FOUND: 404, code_pb2.ALREADY_EXISTS: 409, code_pb2.PERMISSION_DENIED: 403,
    code_pb2.RESOURCE_EXHAUSTED: 429, code_pb2.FAILED_PRECONDITION: 400, code_pb2.ABORTED: 409,
    code_pb2.OUT_OF_RANGE: 400, code_pb2.UNIMPLEMENTED: 501, code_pb2.INTERNAL: 500, code_pb2.UNAVAILABLE: 503,
    code_pb2.DATA_LOSS: 500, code_pb2.UNAUTHENTICATED: 401,
}
"""As the Connect protocol has them."""


class Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: status_pb2.Status) -> None:
        """Keep the status, as gRPC has it."""
        super().__init__(status.message)
        self.status = status

    @property
    def code(self) -> int:
        """The code of `google.rpc.Code`."""
        return int(self.status.code)

    @property
    def name(self) -> str:
        """The code's name: `NOT_FOUND`."""
        return str(code_pb2.Code.Name(cast(Any, self.status.code)))

    @property
    def message(self) -> str:
        """What a person reads."""
        return str(self.status.message)

    @property
    def http_code(self) -> int:
        """The status of the response."""
        return 413 if self.reason == "TOO_LARGE" else HTTP_CODES.get(self.status.code, 500)

    @property
    def reason(self) -> str:
        """The machine-readable reason; the code's name where there is none."""
        info = error_details_pb2.ErrorInfo()
        return info.reason if self._unpack(info) else self.name

    @property
    def field(self) -> str:
        """The request's field at fault; empty where none is."""
        request = error_details_pb2.BadRequest()
        return request.field_violations[0].field if self._unpack(request) and request.field_violations else ""

    @property
    def retry_after_seconds(self) -> float | None:
        """When to try again, where that is known."""
        again = error_details_pb2.RetryInfo()
        return again.retry_delay.ToMilliseconds() / 1000 if self._unpack(again) else None

    @property
    def headers(self) -> dict[str, str]:
        """Headers that belong to the error."""
        headers = {}
        if self.status.code == code_pb2.UNAUTHENTICATED:
            headers["www-authenticate"] = "Bearer"
        seconds = self.retry_after_seconds
        if seconds is None and self.status.code in {code_pb2.RESOURCE_EXHAUSTED, code_pb2.UNAVAILABLE}:
            seconds = 1
        if seconds is not None:
            headers["retry-after"] = str(max(1, round(seconds)))
        return headers

    def _unpack(self, detail: Message) -> bool:
        return any(each.Unpack(detail) for each in self.status.details)


def refusal(error: BaseException) -> Refusal:
    """Return any error as what the caller gets to see."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, grpc.aio.AioRpcError):
        return Refusal(_gateway_status(error))
    return Refusal(error_status(error))


def _gateway_status(error: grpc.aio.AioRpcError) -> status_pb2.Status:
    """Return the gateway's own status as it came; what gRPC itself says of a connection is put into our words."""
    status = rpc_status.from_call(cast(grpc.Call, error))
    if status is not None:
        return cast(status_pb2.Status, status)
    if error.code() in {grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.UNIMPLEMENTED}:
        return status_pb2.Status(code=error.code().value[0], message=error.details() or error.code().name)
    return error_status(translate(error, peer=GATEWAY))


def as_json(error: Refusal) -> dict[str, Any]:
    """Return an error as the body of a response that is JSON."""
    told: dict[str, Any] = {"code": error.name, "reason": error.reason, "message": error.message}
    if error.field:
        told["field"] = error.field
    return {"error": told}


def detail_json(status: status_pb2.Status) -> list[dict[str, Any]]:
    """Return the details of a status as the Connect protocol has them: type, and value in base64 without padding.

    `debug` has the value as JSON, where its type is known here, for pages and people that have no descriptor of it.
    """
    return [
        {"type": each.type_url.rpartition("/")[2], "value": base64.b64encode(each.value).decode("ascii").rstrip("="),
         **_debug(each)}
        for each in status.details
    ]


def _debug(detail: any_pb2.Any) -> dict[str, Any]:
    for kind in (error_details_pb2.ErrorInfo, error_details_pb2.RetryInfo, error_details_pb2.BadRequest):
        known: Message = kind()
        if detail.Unpack(known):
            return {"debug": MessageToDict(known)}
    return {}


OURS = (Refusal, ServiceError, grpc.aio.AioRpcError)
"""Errors that tell of a request, not of a fault in this service."""
