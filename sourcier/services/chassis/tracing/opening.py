"""Tracing turned on for a process, where it is asked for."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.tracing import spans
from sourcier.services.chassis.tracing.options import TracingOptions


def open_tracing(options: TracingOptions, *, service: str) -> None:
    """Trace from now on, where a collector is named; raise FailedPrecondition where the SDK is not installed."""
    if not options.url:
        return
    try:
        # Here: it takes a quarter of a second, which who does not trace should not wait for.
        from sourcier.services.chassis.tracing.opentelemetry import SdkTracer
    except ImportError as error:
        raise FailedPrecondition(
            f"SOURCIER_TRACES_URL is set, and {error.name or error} is not installed; run "
            "pip install opentelemetry-sdk opentelemetry-exporter-otlp-proto-http, or unset it"
        ) from error
    spans.use(SdkTracer(options, service=service, version=_version()))


def _version() -> str:
    try:
        return version("sourcier")
    except PackageNotFoundError:
        return "unknown"
