"""An application that traces itself has its trace continued, and another one loads nothing for it."""

from __future__ import annotations

import subprocess
import sys

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider

from sourcier.client import Client
from tests.unit.sdk.fake_gateway import FakeGateway


async def test_a_call_tells_of_the_step_under_way(client: Client, gateway: FakeGateway) -> None:
    with TracerProvider(shutdown_on_exit=False).get_tracer("app").start_as_current_span("ask") as span:
        await client.search("télétravail", limit=2)
    context = span.get_span_context()
    assert gateway.metadata[-1]["traceparent"] == f"00-{context.trace_id:032x}-{context.span_id:016x}-01"
    with trace.use_span(trace.NonRecordingSpan(trace.SpanContext(7, 9, is_remote=False))):
        await client.search("télétravail", limit=2)
    assert gateway.metadata[-1]["traceparent"] == f"00-{7:032x}-{9:016x}-00"
    await client.search("télétravail", limit=2)
    assert "traceparent" not in gateway.metadata[-1]


def test_nothing_is_loaded_for_it() -> None:
    code = "import sys\nfrom sourcier.connection.traces import trace_metadata\nassert trace_metadata() == ()\n" \
           "assert 'opentelemetry' not in sys.modules"
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=60)
