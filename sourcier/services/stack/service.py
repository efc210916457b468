"""One of the services as a child process, healthy when its gRPC health service says so."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import grpc
import grpc.aio
from grpc_health.v1 import health_pb2

from sourcier.services.chassis.environment import FILE_SUFFIX
from sourcier.services.stack.processes import ports, probing
from sourcier.services.stack.processes.child import Command
from sourcier.services.stack.processes.component import Component
from sourcier.services.stack.settings import inherited_environment

HEALTH_SECONDS_MAX = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceSettings:
    """How to run one service."""

    name: str
    interpreter: Path
    port: int
    log: Path
    arguments: tuple[str, ...]
    """What the interpreter runs: `-m sourcier.services.<name>`."""
    environment: Callable[[], Mapping[str, str]]
    """Called at each start, when the servers' addresses are known."""
    import_root: Path | None = None
    """The folder to import `sourcier` from; None where the interpreter finds it itself."""
    http_port: int = 0
    """Where it speaks HTTP besides, and is known by; 0 for nowhere."""
    service: str = ""
    """Which service it is, where the name says more than that; its settings are read under this name."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """What this process alone is told."""
    start_seconds_max: float = 120.0
    grace_seconds: float = 25.0
    """A little more than the services' own grace."""


class Service(Component):
    """A service of ours."""

    def __init__(self, settings: ServiceSettings) -> None:
        """Keep the settings."""
        super().__init__()
        self.settings = settings
        self.name = settings.name
        self.start_seconds_max = settings.start_seconds_max
        self.grace_seconds = settings.grace_seconds

    @property
    def ports(self) -> dict[str, int]:
        """The HTTP port, where there is one, and the gRPC port."""
        http = {"http": self.settings.http_port} if self.settings.http_port else {}
        return http | {"grpc": self.settings.port}

    def command(self) -> Command:
        """Return `python -m sourcier.services.<name>`; with `-P` the current folder is never imported from."""
        environment = {
            **inherited_environment(),
            **({"PYTHONPATH": str(self.settings.import_root)} if self.settings.import_root else {}),
            "PYTHONUNBUFFERED": "1",
            f"SOURCIER_{(self.settings.service or self.name).upper()}_LISTEN": f"{ports.HOST}:{self.settings.port}",
            **self.settings.environment(),
            **self.settings.variables,
        }
        # A secret that the stack read from a file, or has itself, is handed on; its file would be a second one.
        environment = {name: value for name, value in environment.items()
                       if not (name.endswith(FILE_SUFFIX) and environment.get(name.removesuffix(FILE_SUFFIX)))
                       and not name.startswith(BACKUP_PREFIX)}
        return Command(
            program=self.settings.interpreter, arguments=("-P", *self.settings.arguments), log=self.settings.log,
            folder=Path.cwd(), environment=environment,
        )

    async def probe(self) -> bool:
        """Ask the health service about the server as a whole."""
        if not await probing.is_listening(self.settings.port):
            return False
        request = health_pb2.HealthCheckRequest(service="")
        async with grpc.aio.insecure_channel(f"{ports.HOST}:{self.settings.port}", options=CHANNEL_OPTIONS) as channel:
            check = channel.unary_unary(
                "/grpc.health.v1.Health/Check", request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
                response_deserializer=health_pb2.HealthCheckResponse.FromString,
            )
            try:
                response = await check(request, timeout=HEALTH_SECONDS_MAX)
            except grpc.aio.AioRpcError:
                return False
        return bool(response.status == health_pb2.HealthCheckResponse.SERVING)


BACKUP_PREFIX = "SOURCIER_BACKUP_"
"""Of what only the back-up uses: a role that sees every row is no service's."""
# A proxy of the environment is for other hosts; a shared pool would remember a refused connection and its back-off.
CHANNEL_OPTIONS = (("grpc.enable_http_proxy", 0), ("grpc.use_local_subchannel_pool", 1))
