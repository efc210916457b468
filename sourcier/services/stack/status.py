"""What is known about the stack and its parts at one moment; it is shown, and kept in the state file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any


class State(StrEnum):
    """Where a part of the stack stands."""

    WAITING = "waiting"
    STARTING = "starting"
    READY = "ready"
    UNRESPONSIVE = "unresponsive"
    """It runs, but does not say that it is healthy."""
    RESTARTING = "restarting"
    """It ended; the next start is near."""
    FAILED = "failed"
    """It could not start; it is tried again, less and less often."""
    STOPPING = "stopping"
    STOPPED = "stopped"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentStatus:
    """One part."""

    name: str
    state: State = State.WAITING
    since: float = 0.0
    """When it entered the state, in seconds since 1970."""
    pid: int | None = None
    created: float = 0.0
    """When the process was created, as the system says: with the pid, it tells whether it is still the same one."""
    ports: Mapping[str, int] = field(default_factory=dict)
    ready_seconds: float | None = None
    """How long its last start took."""
    restarts: int = 0
    message: str = ""
    log_lines: tuple[str, ...] = ()
    way_out: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class StackStatus:
    """All of it."""

    pid: int
    started: float
    """When the stack was started, in seconds since 1970."""
    folder: str
    components: tuple[ComponentStatus, ...]
    environment: Mapping[str, str] = field(default_factory=dict)
    """The `SOURCIER_…` variables with which a client, or a service started by hand, connects; secrets included."""
    external: Mapping[str, str] = field(default_factory=dict)
    """What runs elsewhere: name to address, without secrets."""

    @property
    def ready(self) -> bool:
        """Whether every part is ready."""
        return all(component.state is State.READY for component in self.components)

    @property
    def gateway(self) -> str:
        """The gateway's address, host:port; empty when the stack runs none."""
        return self.environment.get("SOURCIER_GATEWAY_URL", "")

    @property
    def page(self) -> str:
        """The page's address for browsers on this machine; empty when the stack runs none."""
        port = self.environment.get("SOURCIER_WEB_HTTP_LISTEN", "").rpartition(":")[2]
        return f"http://localhost:{port}" if port else ""


def to_json(status: StackStatus) -> str:
    """Return the status as the state file keeps it."""
    return json.dumps(asdict(status), indent=2)


def from_json(text: str) -> StackStatus:
    """Read the state file's text; raise ValueError when it is not one."""
    try:
        values: dict[str, Any] = json.loads(text)
        components = tuple(_component(value) for value in values.pop("components"))
        return StackStatus(components=components, **values)
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError("not a state file of this version") from error


def _component(values: dict[str, Any]) -> ComponentStatus:
    state, log_lines = State(values.pop("state")), tuple(values.pop("log_lines"))
    return ComponentStatus(state=state, log_lines=log_lines, **values)
