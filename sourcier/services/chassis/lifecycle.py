"""The life of a process: start, run until told to stop, stop in order, exit with a code that tells the truth.

SIGTERM and SIGINT → health NOT_SERVING → no new work is fetched → what is in hand finishes within the grace → close.
A second signal ends the process at once. A task that dies ends the process, non-zero.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from typing import Any, NoReturn, Protocol, TypeVar

from sourcier.services.chassis import settings as chassis_settings
from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import ServiceError
from sourcier.services.chassis.grpc.serving import Server
from sourcier.services.chassis.tracing import spans
from sourcier.services.chassis.tracing.opening import open_tracing

logger = logging.getLogger(__name__)

S = TypeVar("S", bound=chassis_settings.ServiceSettings)


class Stopping(asyncio.Event):
    """Set when the process shall stop."""

    serving = False
    """Whether the process has come so far that stopping has to be orderly."""


class Worker(Protocol):
    """A long-lived task: it runs until `stopping` is set, finishes what it holds, and returns."""

    @property
    def name(self) -> str:
        """What the task is called in logs."""
        ...

    async def run(self, stopping: asyncio.Event) -> None:
        """Work until told to stop."""
        ...


def inner_server(settings: chassis_settings.ServiceSettings) -> Server:
    """Return the gRPC server of a service behind the gateway, which asks callers for what services show each other."""
    return Server(
        listen=settings.listen, health_listen=settings.health_listen, grace_seconds=settings.grace_seconds,
        concurrent_calls_max=settings.concurrent_calls_max, limits=settings.serving_limits,
        tokens=settings.internal_tokens, tls=settings.internal_tls, peers=settings.internal_peers,
    )


def run(service: str, settings_class: type[S], main: Callable[[S, Stopping], Coroutine[Any, Any, None]]) -> NoReturn:
    """Read the settings, run `main` until a signal sets its event, and exit: 0 when stopped, 1 when something died."""
    settings = chassis_settings.load(settings_class)
    telemetry.configure_logging(service=service, level=settings.log_level, log_format=settings.log_format)
    code = _lived(service, settings, main)
    spans.close()
    _exit_now(code)


def _lived(service: str, settings: S, main: Callable[[S, Stopping], Coroutine[Any, Any, None]]) -> int:
    """Run until a signal, and return the code to exit with."""
    try:
        open_tracing(settings.traces, service=service)
        telemetry.serve_metrics(settings.metrics_listen, token=settings.metrics_token.get_secret_value())
        # Never closed: that waits for the threads of the default executor, and nothing bounds what runs in them. What
        # the service opened is closed by `main`, and every path from here ends the process.
        runner = asyncio.Runner(loop_factory=loop_factory())
        runner.run(_until_signal(main, settings))
    except ServiceError as error:
        logger.error("%s cannot run: %s", service, error.message, extra={"reason": error.reason})
        return 1
    except Exception:
        logger.exception("%s died", service)
        return 1
    logger.info("%s stopped", service)
    return 0


def _exit_now(code: int) -> NoReturn:
    # Threads of libraries must not keep a dead service looking alive, and an engine's exit hook must not turn 1 into 0.
    sys.stderr.flush()
    sys.stdout.flush()
    os._exit(code)


def loop_factory() -> Callable[[], asyncio.AbstractEventLoop]:
    """Return what makes the event loop of a service: uvloop's, where it is installed."""
    try:
        import uvloop
    except ImportError:  # the standard loop is slower, not different
        return asyncio.new_event_loop
    factory: Callable[[], asyncio.AbstractEventLoop] = uvloop.new_event_loop
    return factory


async def _until_signal(main: Callable[[S, Stopping], Awaitable[None]], settings: S) -> None:
    stopping = Stopping()
    loop = asyncio.get_running_loop()
    current = asyncio.current_task()

    def stop(signal_number: int) -> None:
        if stopping.is_set():
            logger.warning("second signal %s, ending at once", signal_number)
            _exit_now(128 + signal_number)
        logger.info("signal %s, stopping", signal_number)
        stopping.set()
        if not stopping.serving and current is not None:
            # A process that is still starting has nothing in hand.
            current.cancel()

    for signal_number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(signal_number, stop, signal_number)
    try:
        await main(settings, stopping)
    except asyncio.CancelledError:
        if not stopping.is_set():
            raise


async def serve(server: Server, workers: Sequence[Worker], stopping: Stopping) -> None:
    """Serve and work until told to stop; the one place that decides what stops when."""
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(_work(worker, stopping), name=worker.name) for worker in workers]
        await server.start()
        freeze_start_up()
        stopping.serving = True
        await stopping.wait()
        grace_ends_at = time.monotonic() + server.grace_seconds
        await server.stop()
        await _end(tasks, seconds=grace_ends_at - time.monotonic())


def freeze_start_up() -> None:
    """Take what start-up made, which stays to the end, out of Python's collections of garbage.

    With each full one the gateway would look through it for 17 ms, in which every stream stands still.
    """
    gc.collect()
    gc.freeze()


async def _end(tasks: Sequence[asyncio.Task[None]], *, seconds: float) -> None:
    """Let tasks finish what they hold; what is not done then is done again elsewhere, since work is idempotent."""
    if not tasks:
        return
    _, late = await asyncio.wait(tasks, timeout=max(seconds, 0))
    for task in late:
        logger.warning("%s did not finish within the grace", task.get_name())
        task.cancel()


async def _work(worker: Worker, stopping: asyncio.Event) -> None:
    await worker.run(stopping)
    if not stopping.is_set():
        raise RuntimeError(f"the task {worker.name} ended although nobody asked it to")


async def first_of(*events: asyncio.Event, seconds: float) -> None:
    """Wait until one of the events is set, or so long."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
