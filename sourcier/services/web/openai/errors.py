"""Errors as OpenAI's clients read them."""

from __future__ import annotations

from typing import Any

from google.rpc import code_pb2
from starlette.responses import JSONResponse, Response

from sourcier.services.web.refusals import Refusal

_TYPES = {
    400: "invalid_request_error", 401: "authentication_error", 403: "permission_error", 404: "invalid_request_error",
    409: "invalid_request_error", 413: "invalid_request_error", 429: "rate_limit_error",
}
_CODES = {code_pb2.UNAUTHENTICATED: "invalid_api_key", code_pb2.RESOURCE_EXHAUSTED: "rate_limit_exceeded"}
_REASONS = {"DAILY_LIMIT": "insufficient_quota"}
MODEL_FIELDS = frozenset({"collection", "filter.collection", "agent", "deployment", "model"})


def error_body(error: Refusal) -> dict[str, Any]:
    """Return an error's body; what the gateway does not find, of a question, is its model."""
    code = _REASONS.get(error.reason) or _CODES.get(error.code, error.reason.lower())
    field = error.field
    if error.code == code_pb2.NOT_FOUND:
        code, field = "model_not_found", field or "model"
    return {"error": {
        "message": error.message, "type": _TYPES.get(error.http_code, "server_error"),
        "param": "model" if field in MODEL_FIELDS else field or None, "code": code,
    }}


def error_response(error: Refusal) -> Response:
    """Return an error as a response."""
    return JSONResponse(error_body(error), status_code=error.http_code, headers=error.headers)
