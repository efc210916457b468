"""The caller's own trace, continued by the service: of an application that traces itself by OpenTelemetry."""

from __future__ import annotations

import sys

TRACEPARENT_KEY = "traceparent"


def trace_metadata() -> tuple[tuple[str, str], ...]:
    """Return what tells the gateway of the step under way; nothing where the application does not trace.

    OpenTelemetry is never imported here: an application that traces has done so.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return ()
    context = api.get_current_span().get_span_context()
    if not context.is_valid:
        return ()
    return ((TRACEPARENT_KEY, f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags & 1:02x}"),)
