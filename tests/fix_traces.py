"""A collector of traces: it takes what services send by OTLP over HTTP, and can be slow, refuse, or be gone."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest


@dataclass(frozen=True)
class ReceivedSpan:
    """A span as it was sent."""

    trace_id: str
    span_id: str
    parent_id: str
    name: str
    service: str
    kind: int
    failed: bool
    attributes: dict[str, Any] = field(repr=False)


@dataclass
class Collector:
    """What came, and how it is answered."""

    url: str = ""
    status: int = 200
    location: str = ""
    seconds: float = 0.0
    spans: list[ReceivedSpan] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    """Of each request."""

    def of(self, trace_id: str) -> list[ReceivedSpan]:
        """Return the spans of a trace that came so far."""
        return [span for span in self.spans if span.trace_id == trace_id]

    def named(self, name: str, trace_id: str) -> list[ReceivedSpan]:
        """Return the spans of a trace that are called so."""
        return [span for span in self.of(trace_id) if span.name == name]


def _values(pairs: Any) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for pair in pairs:
        kind = pair.value.WhichOneof("value")
        value = getattr(pair.value, kind)
        found[pair.key] = [each.string_value for each in value.values] if kind == "array_value" else value
    return found


def _received(body: bytes) -> Iterator[ReceivedSpan]:
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        service = _values(resource.resource.attributes)["service.name"]
        for scope in resource.scope_spans:
            for span in scope.spans:
                yield ReceivedSpan(
                    span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(), span.name, service, span.kind,
                    span.status.code == 2, _values(span.attributes),
                )


@contextmanager
def open_collector() -> Iterator[Collector]:
    """Run a collector on a free port."""
    collector = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            collector.headers.append({name.lower(): value for name, value in self.headers.items()} | {
                ":path": self.path})
            time.sleep(collector.seconds)
            if collector.status == 200:
                collector.spans.extend(_received(body))
            self.send_response(collector.status)
            if collector.location:
                self.send_header("location", collector.location)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    collector.url = f"http://127.0.0.1:{server.server_address[1]}"
    try:
        yield collector
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
