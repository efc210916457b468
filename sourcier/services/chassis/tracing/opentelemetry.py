"""Spans by OpenTelemetry's SDK. Imported only where tracing is on: no other module of ours knows the SDK."""

from __future__ import annotations

import logging
import os
import socket
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

import requests
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, SpanProcessor, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from sourcier.services.chassis.tracing.options import TracingOptions
from sourcier.services.chassis.tracing.sending import SPAN_BYTES, THREAD_NAME, Sender
from sourcier.services.chassis.tracing.spans import NO_SPAN, Attributes, Kind, Span
from sourcier.services.chassis.tracing.traceparent import Parent, written_traceparent

POST_SECONDS_MAX = 10.0
"""Of a batch, with its tries."""

_KINDS = {
    "internal": trace.SpanKind.INTERNAL, "server": trace.SpanKind.SERVER, "client": trace.SpanKind.CLIENT,
    "producer": trace.SpanKind.PRODUCER, "consumer": trace.SpanKind.CONSUMER,
}


class SdkTracer:
    """Makes spans with the SDK, and sends those that are sampled."""

    def __init__(self, options: TracingOptions, *, service: str, version: str) -> None:
        """Name this process as `options` says, and begin to send."""
        # What they tell of a collector that is away, try by try, is told once by ours.
        logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
        for name in ("urllib3.connectionpool", "urllib3.util.retry"):
            logging.getLogger(name).addFilter(_not_of_sender)
        self.contents = options.contents
        parts = urlsplit(options.url)
        self._sender = Sender(_OtlpCollector(options), url=f"{parts.scheme}://{parts.netloc}")
        provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(options.ratio)), shutdown_on_exit=False,
            resource=Resource.create({
                "service.name": f"{options.service}-{service}", "service.namespace": options.service,
                "service.instance.id": options.instance or f"{socket.gethostname()}:{os.getpid()}",
                "service.version": version,
            }),
        )
        provider.add_span_processor(_Queued(self._sender))
        self._tracer = provider.get_tracer("sourcier", version)

    def begin(self, name: str, *, kind: Kind, parent: Parent | Span | None, attributes: Attributes) -> Span:
        """Return a span that begins now."""
        context = None
        if isinstance(parent, SdkSpan):
            context = parent.context
        elif isinstance(parent, Parent):
            flags = trace.TraceFlags.SAMPLED if parent.sampled else trace.TraceFlags.DEFAULT
            context = trace.set_span_in_context(trace.NonRecordingSpan(trace.SpanContext(
                parent.trace_id, parent.span_id, is_remote=True, trace_flags=trace.TraceFlags(flags)
            )))
        # An empty context, not the SDK's own current one: what is under way is known by `spans` alone.
        made = self._tracer.start_span(
            name, context=trace.set_span_in_context(trace.INVALID_SPAN) if context is None else context,
            kind=_KINDS[kind], attributes=attributes, record_exception=False, set_status_on_exception=False,
        )
        return SdkSpan(made) if made.get_span_context().is_valid else NO_SPAN

    def close(self) -> None:
        """Send what waits, for a bounded time."""
        self._sender.close()


class SdkSpan(Span):
    """A span of the SDK."""

    def __init__(self, made: trace.Span) -> None:
        self._made = made
        self.context = trace.set_span_in_context(made)
        named = made.get_span_context()
        self.recorded = made.is_recording()
        self.trace_id = f"{named.trace_id:032x}"
        self.span_id = f"{named.span_id:016x}"
        self.traceparent = written_traceparent(
            trace_id=named.trace_id, span_id=named.span_id, sampled=named.trace_flags.sampled
        )

    def note(self, attributes: Attributes) -> None:
        """Keep attributes."""
        self._made.set_attributes(dict(attributes))

    def rename(self, name: str) -> None:
        """Call it otherwise."""
        self._made.update_name(name)

    def failed(self, reason: str) -> None:
        """Mark it as failed."""
        self._made.set_attribute("error.type", reason)
        self._made.set_status(trace.StatusCode.ERROR)

    def end(self) -> None:
        """End it now."""
        self._made.end()


def _not_of_sender(record: logging.LogRecord) -> bool:
    """Return whether somebody else than the sender tells it: others speak HTTP in this process, too."""
    return record.threadName != THREAD_NAME


class _Queued(SpanProcessor):
    """Hands spans that ended to the queue."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def on_end(self, span: ReadableSpan) -> None:
        context = span.context
        if context is not None and context.trace_flags.sampled:
            texts = sum(len(value.encode("utf-8", "replace")) for value in (span.attributes or {}).values()
                        if isinstance(value, str))
            self._sender.put(span, size_bytes=SPAN_BYTES + texts)


class _OtlpCollector:
    """A collector behind OTLP over HTTP, in protobuf."""

    def __init__(self, options: TracingOptions) -> None:
        self._answered = ""
        session = requests.Session()
        # Without it the user's ~/.netrc would take the place of the header that was given.
        session.auth = _unchanged
        session.hooks["response"].append(self._heard)
        self._exporter = OTLPSpanExporter(
            endpoint=options.url, headers=options.headers, timeout=POST_SECONDS_MAX, session=session
        )

    def _heard(self, response: requests.Response, **_: Any) -> None:
        self._answered = f"status {response.status_code}"
        if 300 <= response.status_code < 400:
            # The exporter would take it for a success.
            response.close()
            raise requests.exceptions.InvalidURL("the collector is elsewhere")

    def post(self, spans: Sequence[ReadableSpan]) -> str:
        """Send them; return why they were not taken."""
        self._answered = ""
        done = self._exporter.export(spans)
        return "" if done is SpanExportResult.SUCCESS else self._answered or "it cannot be reached"

    def close(self) -> None:
        """Give up what is being sent."""
        self._exporter.shutdown()  # type: ignore[no-untyped-call]


def _unchanged(request: requests.PreparedRequest) -> requests.PreparedRequest:
    return request
