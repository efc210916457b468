"""Which parts make up the stack, and what each is told: from settings to servers, services and their environment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from services.chassis.errors import InvalidArgument
from services.stack.component import Component
from services.stack.ports import HOST, PortBook
from services.stack.servers.nats import NatsServer, NatsServerSettings
from services.stack.servers.postgres import PostgresServer, PostgresServerSettings
from services.stack.servers.s3 import INNER_PORT_NAMES, S3Server, S3ServerSettings
from services.stack.service import Service, ServiceSettings
from services.stack.settings import REPOSITORY, SERVICE_NAMES, StackSettings

MODEL_START_SECONDS_MAX = 900.0
SERVER_NAMES = ("nats", "postgres", "s3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Composition:
    """The parts, in the order in which they start."""

    settings: StackSettings
    servers: tuple[Component, ...]
    services: tuple[Service, ...]
    external: Mapping[str, str]
    """Name to address of what runs elsewhere, without secrets."""
    environment: Callable[[], dict[str, str]]
    """Returns the variables with which services, and clients, find everything; secrets included."""


def compose(settings: StackSettings) -> Composition:
    """Choose ports and parts; raise `InvalidArgument` for unknown services, `ResourceExhausted` for taken ports."""
    if settings.unknown_services:
        raise InvalidArgument(f"SOURCIER_STACK_SERVICES names {', '.join(settings.unknown_services)}; "
                              f"the services are {', '.join(SERVICE_NAMES)}.")
    book = PortBook(settings.folder / "ports.json")
    names = (*SERVER_NAMES, *SERVICE_NAMES)
    external = {name: _address(url) for name in names if (url := settings.external_url(name))}
    servers = tuple(_server(name, settings, book) for name in SERVER_NAMES if name not in external)
    # Services that are left out have an address too: their callers then find nobody there, and say so.
    service_ports = {
        name: book.port(name, fixed=settings.fixed_port(name)) for name in SERVICE_NAMES if name not in external
    }

    def environment() -> dict[str, str]:
        # Called when a service starts: the servers have made their passwords by then.
        return _environment(settings, servers, service_ports)

    services = tuple(
        _service(name, settings, port, environment)
        for name, port in service_ports.items() if name in settings.services
    )
    return Composition(
        settings=settings, servers=servers, services=services, external=external, environment=environment
    )


def _environment(
    settings: StackSettings, servers: tuple[Component, ...], service_ports: Mapping[str, int]
) -> dict[str, str]:
    environment = {name: value for server in servers for name, value in _server_variables(server).items()}
    environment.update(_external_variables(settings))
    for name, port in service_ports.items():
        # Clients take the gateway's address for a promise that there is one.
        if name != "gateway" or name in settings.services:
            environment[f"SOURCIER_{name.upper()}_URL"] = f"{HOST}:{port}"
    if settings.models_dir:
        environment["SOURCIER_MODELS_DIR"] = str(settings.models_dir.expanduser().absolute())
    environment["SOURCIER_LOG_FORMAT"] = settings.log_format
    environment["SOURCIER_GENERATE_MODEL"] = settings.language_model
    return environment


def _server(name: str, settings: StackSettings, book: PortBook) -> Component:
    folder, log = settings.folder / name, settings.folder / "logs" / f"{name}.log"
    port = book.port(name, fixed=settings.fixed_port(name))
    if name == "nats":
        return NatsServer(NatsServerSettings(
            folder=folder, log=log, port=port, monitoring_port=book.port("nats_monitoring"),
            sync_interval=settings.nats_sync_interval,
        ))
    if name == "postgres":
        return PostgresServer(PostgresServerSettings(folder=folder, log=log, port=port))
    buckets = tuple(dict.fromkeys((settings.s3_bucket, "documents")))
    inner_ports = {inner: book.port(f"s3.{inner}") for inner in INNER_PORT_NAMES}
    return S3Server(S3ServerSettings(folder=folder, log=log, port=port, inner_ports=inner_ports, buckets=buckets))


def _service(
    name: str, settings: StackSettings, port: int, environment: Callable[[], Mapping[str, str]]
) -> Service:
    loads_model = name == "generate" and settings.loads_model
    return Service(ServiceSettings(
        name=name, interpreter=_interpreter("generate" if loads_model else "services"),
        port=port, log=settings.folder / "logs" / f"{name}.log",
        arguments=("-m", f"services.{name}"), import_root=REPOSITORY, environment=environment,
        start_seconds_max=MODEL_START_SECONDS_MAX if loads_model else 120.0,
    ))


def _interpreter(environment: str) -> Path:
    own = REPOSITORY / ".venv" / environment / "bin" / "python"
    return own if own.exists() else Path(sys.executable)


def _server_variables(server: Component) -> dict[str, str]:
    if isinstance(server, NatsServer):
        return {"SOURCIER_NATS_URL": server.url}
    if isinstance(server, PostgresServer):
        return {"SOURCIER_POSTGRES_URL": server.url}
    if isinstance(server, S3Server):
        return {
            "SOURCIER_S3_URL": server.url, "SOURCIER_S3_BUCKET": server.settings.buckets[0],
            "SOURCIER_S3_ACCESS_KEY": server.access_key, "SOURCIER_S3_SECRET_KEY": server.secret_key,
        }
    return {}


def _external_variables(settings: StackSettings) -> dict[str, str]:
    variables = {
        f"SOURCIER_{name.upper()}_URL": url
        for name in (*SERVER_NAMES, *SERVICE_NAMES) if (url := settings.external_url(name))
    }
    if settings.s3_url:
        variables["SOURCIER_S3_BUCKET"] = settings.s3_bucket
        variables["SOURCIER_S3_ACCESS_KEY"] = settings.s3_access_key.get_secret_value()
        variables["SOURCIER_S3_SECRET_KEY"] = settings.s3_secret_key.get_secret_value()
    return variables


def _address(url: str) -> str:
    parts = urlsplit(url if "//" in url else f"//{url}")
    return f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}" or parts.path
