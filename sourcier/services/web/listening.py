"""The HTTP server as a worker of the process: uvicorn under our signals, logs and grace."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from sourcier.services.chassis.addresses import split_address
from sourcier.services.chassis.errors import ResourceExhausted

logger = logging.getLogger(__name__)

BACKLOG = 1024
KEEP_ALIVE_SECONDS = 65
"""A little more than proxies wait before they use a connection again."""
HEAD_SECONDS_MAX = 20.0
"""How long a new connection may take to send the head of its first request."""
HEAD_BYTES_MAX = 64 * 1024
TALKATIVE = ("uvicorn", "mcp")
"""Libraries that tell at INFO what the service tells itself."""


class HttpServer:
    """Serves an application; open it as an async context manager, then run it as a worker."""

    name = "http"

    def __init__(
        self, application: ASGIApp, *, listen: str, grace_seconds: float, connections_max: int
    ) -> None:
        """Keep the settings."""
        self.port = 0
        self._listen = listen
        self._server = _Server(uvicorn.Config(
            application, loop="none", http=_Protocol, ws="none", lifespan="off", interface="asgi3", log_config=None,
            access_log=False, proxy_headers=False, server_header=False, limit_concurrency=connections_max,
            backlog=BACKLOG, timeout_keep_alive=KEEP_ALIVE_SECONDS, timeout_graceful_shutdown=round(grace_seconds),
            h11_max_incomplete_event_size=HEAD_BYTES_MAX,
        ))
        self._socket: socket.socket | None = None

    async def __aenter__(self) -> Self:
        host, port = split_address(self._listen)
        try:
            self._socket = _bound(host, port)
        except OSError as error:
            raise ResourceExhausted(
                f"cannot listen on {self._listen}: the port is taken or the address is not this machine's; "
                "choose another one with SOURCIER_WEB_HTTP_LISTEN"
            ) from error
        self.port = self._socket.getsockname()[1]
        for name in TALKATIVE:
            logging.getLogger(name).setLevel("WARNING")
        logger.info("the page is served", extra={"http_port": self.port})
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._socket is not None:
            self._socket.close()

    async def run(self, stopping: asyncio.Event) -> None:
        """Serve until told to stop; then take no more, and end what is in hand within the grace."""
        assert self._socket is not None
        serving = asyncio.create_task(self._server.serve(sockets=[self._socket]), name="uvicorn")
        waiting = asyncio.create_task(stopping.wait(), name="http-stopping")
        try:
            await asyncio.wait((serving, waiting), return_when=asyncio.FIRST_COMPLETED)
            self._server.should_exit = True
            await serving
        finally:
            waiting.cancel()
            serving.cancel()


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    opened = socket.socket(family, kind, protocol)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind(address)
        opened.listen(BACKLOG)
        opened.setblocking(False)
    except OSError:
        opened.close()
        raise
    return opened


class _Server(uvicorn.Server):
    """Leaves signals to the process, which stops everything in order."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Capture none."""
        yield


class _Protocol(H11Protocol):
    """Closes a connection that does not say what it wants.

    uvicorn waits for a first request without end, and for the next one as long as a byte of anything comes now and
    then: of its head, or of the body of a request that is answered already.
    """

    _silence: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """Give the connection its time."""
        super().connection_made(transport)
        self._wait()

    def data_received(self, data: bytes) -> None:
        """Give it as much again where this begins the next request; none where it goes on with it."""
        super().data_received(data)
        if self._has_request():
            self._stop_waiting()
        elif self._silence is None:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _has_request(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _wait(self) -> None:
        self._silence = asyncio.get_running_loop().call_later(HEAD_SECONDS_MAX, self._end_silence)

    def _stop_waiting(self) -> None:
        if self._silence is not None:
            self._silence.cancel()
            self._silence = None

    def _end_silence(self) -> None:
        self._silence = None
        if not self._has_request() and not self.transport.is_closing():
            self.transport.close()
