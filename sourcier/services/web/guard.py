"""What every request passes first: whom it names, where it comes from; and the headers that every response has.

A page of another site can make a browser send requests here, and a name that an attacker owns can be made to lead to
this machine (DNS rebinding). Programs outside of browsers are not concerned: the gateway decides what they may do.
"""

from __future__ import annotations

import json
import logging
import time
from ipaddress import ip_address
from urllib.parse import urlsplit

from prometheus_client import Counter, Histogram
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import InvalidArgument, PermissionDenied
from sourcier.services.chassis.tracing import spans
from sourcier.services.chassis.tracing.traceparent import Parent, parent_in
from sourcier.services.web.bodies import ClientGone, send_whole
from sourcier.services.web.refusals import OURS, Refusal, as_json, refusal

logger = logging.getLogger(__name__)

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
HEADERS = {
    "x-content-type-options": "nosniff", "referrer-policy": "no-referrer", "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin",
}
CLOSED_POLICY = "default-src 'none'; frame-ancestors 'none'"
"""Of what is no page: a browser that shows it runs nothing of it."""
AMBIGUOUS_FIELD = "content-length"
CLOSED_REQUEST = 499
FAULT_CODES_FROM = 500
"""Codes that a trace shows as failures of the server."""

http_seconds = Histogram(
    "sourcier_http_seconds", "Time of HTTP requests by route and status.", ["route", "code"],
    buckets=telemetry.DURATION_BUCKETS,
)
http_refusals_total = Counter(
    "sourcier_http_refusals_total", "Requests refused before they were read, by why: host, origin or length.", ["why"]
)


class Guard:
    """The outermost layer of the application."""

    def __init__(self, application: ASGIApp, *, hosts: frozenset[str], origins: frozenset[str]) -> None:
        """Keep the names that are allowed besides addresses and `localhost`, and the origins besides our own."""
        self._application = application
        self._hosts = hosts
        self._origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request through, or refuse it."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        method = scope["method"]
        with (
            telemetry.request(headers.get(telemetry.REQUEST_ID_KEY)) as request_id,
            spans.entered(f"HTTP {method}", kind="server", parent=_parent(headers)) as span,
        ):
            response = _Response(send, request_id)
            started = time.monotonic()
            try:
                if told := self._refused(method, headers):
                    await send_error(response.send, told, status=421 if told.field == "host" else None,
                                     closing=told.field == AMBIGUOUS_FIELD)
                else:
                    await self._answered(scope, receive, response)
            except ClientGone:
                response.code = CLOSED_REQUEST
            finally:
                route = scope.get("route_name", "none")
                http_seconds.labels(route, str(response.code)).observe(time.monotonic() - started, telemetry.exemplar())
                _note(span, method=method, route=route, code=response.code, request_id=request_id)

    async def _answered(self, scope: Scope, receive: Receive, response: _Response) -> None:
        try:
            await self._application(scope, receive, response.send)
        except ClientGone:
            raise
        except Exception as error:  # the outermost layer: whatever it is, the caller gets to know that it failed
            told = refusal(error)
            if not isinstance(error, OURS):
                logger.error("%s failed", scope["path"], exc_info=error)
            if response.begun:
                raise
            await send_error(response.send, told)

    def _refused(self, method: str, headers: Headers) -> Refusal | None:
        if "content-length" in headers and "transfer-encoding" in headers:
            # RFC 9112, 6.1: a proxy in front that believes the other one takes the rest for a second request.
            http_refusals_total.labels("length").inc()
            return refusal(InvalidArgument("send either Content-Length or Transfer-Encoding, not both",
                                           field=AMBIGUOUS_FIELD))
        host = headers.get("host", "")
        if not self._is_ours(host):
            http_refusals_total.labels("host").inc()
            return refusal(InvalidArgument(
                f"this service is not known as {host!r}; whoever runs it can allow the name with SOURCIER_WEB_HOSTS",
                field="host",
            ))
        if method not in SAFE_METHODS and not self._is_same_origin(host, headers):
            http_refusals_total.labels("origin").inc()
            return refusal(PermissionDenied(
                "a page of another site sent this request; whoever runs the service can allow its origin with "
                "SOURCIER_WEB_ORIGINS", field="origin",
            ))
        return None

    def _is_ours(self, host: str) -> bool:
        name = host_name(host)
        return is_address(name) or name == "localhost" or name.endswith(".localhost") or name in self._hosts

    def _is_same_origin(self, host: str, headers: Headers) -> bool:
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin.lower() in self._origins:
            return True
        if site is not None:  # no page can set it; over plain HTTP browsers send none
            return site in {"same-origin", "none"}
        return origin is None or _authority(urlsplit(origin.lower()).netloc) == _authority(host.lower())


def _parent(headers: Headers) -> Parent | None:
    return parent_in(headers.items()) if spans.tracing() else None


def _note(span: spans.Span, *, method: str, route: str, code: int, request_id: str) -> None:
    if not span.recorded:
        return
    span.rename(f"{method} {route}")
    span.note({
        "http.request.method": method, "http.route": route, "http.response.status_code": code,
        "sourcier.request_id": request_id,
    })
    if code >= FAULT_CODES_FROM:
        span.failed(str(code))


def host_name(host: str) -> str:
    """Return the name in a `Host` header, without port, brackets and the closing dot."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].rstrip(".").lower()


def is_address(name: str) -> bool:
    """Return whether a name is an address in figures: no name server was asked for it, so it cannot be rebound."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def _authority(netloc: str) -> str:
    return netloc.removesuffix(":443").removesuffix(":80")


async def send_error(send: Send, error: Refusal, *, status: int | None = None, closing: bool = False) -> None:
    """Answer with an error as JSON, and close the connection where that is asked for."""
    body = json.dumps(as_json(error), ensure_ascii=False).encode()
    headers = {"content-type": "application/json", "cache-control": "no-store", **error.headers}
    if closing:
        headers["connection"] = "close"
    await send_whole(send, status=status or error.http_code, headers=headers, body=body)


class _Response:
    """What is sent, with the headers that everything has."""

    def __init__(self, send: Send, request_id: str) -> None:
        self.begun = False
        self.code = CLOSED_REQUEST
        self._send = send
        self._request_id = request_id

    async def send(self, message: Message) -> None:
        """Send on."""
        if message["type"] == "http.response.start":
            self.begun, self.code = True, message["status"]
            headers = MutableHeaders(raw=message.setdefault("headers", []))
            for name, value in HEADERS.items():
                headers.setdefault(name, value)
            headers.setdefault("content-security-policy", CLOSED_POLICY)
            headers.setdefault("cache-control", "no-store")
            # nginx and what follows it would collect a stream otherwise.
            headers.setdefault("x-accel-buffering", "no")
            headers[telemetry.REQUEST_ID_KEY] = self._request_id
        await self._send(message)
