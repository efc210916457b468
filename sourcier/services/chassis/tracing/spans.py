"""Spans: the steps of a trace, begun where the work is. While tracing is off none is made.

A trace begins where a request comes in: a call, an HTTP request, a message (`entered`). Inside, `span` makes a step of
what is under way, and nothing where nothing is: what a process does for itself, every second, is nobody's trace.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Literal, Protocol, TypeAlias

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.tracing.traceparent import Parent

Kind: TypeAlias = Literal["internal", "server", "client", "producer", "consumer"]
Value: TypeAlias = str | bool | int | float | Sequence[str]
Attributes: TypeAlias = Mapping[str, Value]


class Span:
    """One step. This one is of no trace, and keeps nothing."""

    trace_id = ""
    """32 hexadecimal digits; empty while nothing is traced."""
    span_id = ""
    traceparent = ""
    """What tells the next process where it belongs."""
    recorded = False
    """Whether what is noted here is sent to anybody."""

    def note(self, attributes: Attributes) -> None:
        """Keep attributes."""

    def rename(self, name: str) -> None:
        """Call it otherwise, once it is known what it was."""

    def failed(self, reason: str) -> None:
        """Mark it as failed, for a reason that is the same for all failures of the kind."""

    def end(self) -> None:
        """End it now."""


NO_SPAN = Span()
_NOTHING = nullcontext(NO_SPAN)


class Tracer(Protocol):
    """Makes spans that are sent somewhere."""

    contents: bool
    """Whether what people wrote, and what was answered, may be part of them."""

    def begin(self, name: str, *, kind: Kind, parent: Parent | Span | None, attributes: Attributes) -> Span:
        """Return a span that begins now; whether it is recorded follows its parent, or the ratio where it has none."""
        ...

    def close(self) -> None:
        """Send what waits, for a bounded time."""
        ...


class _Process:
    """What traces in this process; there is one for all of it."""

    tracer: Tracer | None = None


_current: ContextVar[Span] = ContextVar("current_span", default=NO_SPAN)


def use(tracer: Tracer | None) -> None:
    """Trace with this from now on; None traces nothing."""
    _Process.tracer = tracer


def close() -> None:
    """Stop tracing, and send what waits."""
    tracer, _Process.tracer = _Process.tracer, None
    if tracer is not None:
        tracer.close()


def tracing() -> bool:
    """Return whether anything is traced."""
    return _Process.tracer is not None


def with_contents() -> bool:
    """Return whether the step under way may hold what people wrote."""
    return _Process.tracer is not None and _Process.tracer.contents and _current.get().recorded


def current() -> Span:
    """Return the step under way."""
    return _current.get()


def begun(name: str, *, kind: Kind = "internal", attributes: Attributes | None = None) -> Span:
    """Return a step of the one under way, which the caller ends; it is not the one under way itself."""
    parent = _current.get()
    if _Process.tracer is None or not parent.recorded:
        return NO_SPAN
    return _Process.tracer.begin(name, kind=kind, parent=parent, attributes=attributes or {})


def span(
    name: str, *, kind: Kind = "internal", attributes: Attributes | None = None
) -> AbstractContextManager[Span]:
    """Make a block a step of the one under way."""
    made = begun(name, kind=kind, attributes=attributes)
    return _NOTHING if made is NO_SPAN else _step(made)


def entered(
    name: str, *, kind: Kind, parent: Parent | None, attributes: Attributes | None = None
) -> AbstractContextManager[Span]:
    """Make a block the first step of its process: of the caller's trace, or of a new one where it named none.

    Whoever begins it says whether it failed: a refusal that was told to the caller is no failure of the process.
    """
    if _Process.tracer is None:
        return _NOTHING
    return _under_way(_Process.tracer.begin(name, kind=kind, parent=parent, attributes=attributes or {}))


@contextmanager
def _step(made: Span) -> Iterator[Span]:
    with _under_way(made):
        try:
            yield made
        except BaseException as error:
            made.failed(reason_of(error))
            raise


@contextmanager
def _under_way(made: Span) -> Iterator[Span]:
    token = _current.set(made)
    try:
        yield made
    finally:
        made.end()
        # A generator that another task closes cannot reset it: what is set here ends with that task's context.
        with suppress(ValueError):
            _current.reset(token)


def reason_of(error: BaseException) -> str:
    """Return what kind of failure it is, never what it says: that may hold a document's words."""
    if isinstance(error, ServiceError):
        return error.reason
    if isinstance(error, (asyncio.CancelledError, GeneratorExit)):
        return "CANCELLED"
    return type(error).__name__
