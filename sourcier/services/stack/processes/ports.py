"""Ports of this machine: free ones, remembered ones, and who holds a taken one."""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import weakref
from collections.abc import Collection
from pathlib import Path

import psutil

from sourcier.services.chassis.errors import ResourceExhausted
from sourcier.services.stack.secret import write_private

HOST = "127.0.0.1"
# Below the range from which Linux takes the ports of outgoing connections: those come and go between the test
# here and the bind of the child.
PORTS = range(20_000, 32_000)
TRIES = 400


def is_free(port: int, *, host: str = HOST) -> bool:
    """Tell whether a server could listen on the port now."""
    bound = _bound(port, host=host, shared=True)
    if bound is not None:
        bound.close()
    return bound is not None


def free_ports(count: int) -> list[int]:
    """Return distinct ports that nothing listens on, chosen at random so that neighbours rarely choose the same."""
    found: list[int] = []
    while len(found) < count:
        with _bound_at_random(besides=found) as bound:
            found.append(bound.getsockname()[1])
    return found


def _bound_at_random(*, besides: Collection[int]) -> socket.socket:
    """Return a socket that alone is bound to its port, none of those that are named."""
    for port in random.sample(PORTS, TRIES):
        if port not in besides and (bound := _bound(port, shared=False)):
            return bound
    raise ResourceExhausted(f"No free ports were found between {PORTS[0]} and {PORTS[-1]}.")


def _bound(port: int, *, host: str = HOST, shared: bool) -> socket.socket | None:
    """Return a socket bound to the port, or None; `shared` with others that are bound to it and do not listen."""
    probe = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, int(shared))
    try:
        probe.bind((host, port))
    except OSError:
        probe.close()
        return None
    return probe


def holder(port: int) -> str | None:
    """Return the process that listens on a port, as far as this user may see it."""
    try:
        connections = psutil.net_connections(kind="tcp")
    except psutil.AccessDenied:
        return None
    for connection in connections:
        if connection.laddr and connection.laddr.port == port and connection.status == psutil.CONN_LISTEN:
            return _describe(connection.pid)
    return None


def _describe(pid: int | None) -> str | None:
    if pid is None:
        return None
    try:
        return f"{psutil.Process(pid).name()} (process {pid})"
    except psutil.Error:
        return f"process {pid}"


class PortBook:
    """The ports of one data folder, remembered so that a second start listens where the first one did.

    On Linux they are held for the book's own life: what is chosen now is bound by a child seconds later, or again after
    it failed, and another stack must not choose it meanwhile, nor take the place of a service that is left out here.
    """

    def __init__(self, path: Path) -> None:
        """Read what was remembered."""
        self._path = path
        self._held: list[int] = []
        weakref.finalize(self, _close, self._held)
        try:
            self._ports: dict[str, int] = {str(name): int(port) for name, port in json.loads(path.read_text()).items()}
        except (FileNotFoundError, ValueError, AttributeError):
            self._ports = {}

    def port(self, name: str, *, fixed: int = 0) -> int:
        """Return the fixed port, else the remembered one if it is free, else a free one.

        Raises `ResourceExhausted` when the fixed port is taken, or none is free.
        """
        if fixed:
            refuse_taken(name, fixed)
            return fixed
        remembered = self._ports.get(name, 0)
        bound = (_bound(remembered, shared=True) if remembered else None) or _bound_at_random(
            besides=self._ports.values()
        )
        self._ports[name] = bound.getsockname()[1]
        self._hold(bound)
        write_private(self._path, json.dumps(self._ports, indent=2))
        return self._ports[name]

    def _hold(self, bound: socket.socket) -> None:
        # Elsewhere than on Linux a bound socket keeps the child out, too.
        if sys.platform == "linux":
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._held.append(bound.detach())
        else:
            bound.close()


def _close(descriptors: list[int]) -> None:
    for descriptor in descriptors:
        os.close(descriptor)


def refuse_taken(name: str, port: int) -> None:
    """Raise `ResourceExhausted`, naming who holds it and the way out, unless the port is free."""
    if is_free(port):
        return
    variable = f"SOURCIER_{name.upper()}_PORT"
    who = holder(port) or "a process that this user may not see"
    raise ResourceExhausted(f"Port {port} ({variable}) is taken by {who}. "
                            f"Stop it, set {variable} to another port, or leave it unset to take a free one.")
