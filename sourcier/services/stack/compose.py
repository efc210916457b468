"""Which parts make up the stack, and what each is told: from settings to servers, services and their environment."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import SecretStr

from sourcier import installation
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.stack import programs
from sourcier.services.stack.processes.component import Component
from sourcier.services.stack.processes.ports import HOST, PortBook
from sourcier.services.stack.secret import kept_secret
from sourcier.services.stack.servers.nats import NatsServer, NatsServerSettings
from sourcier.services.stack.servers.postgres import PostgresServer, PostgresServerSettings
from sourcier.services.stack.servers.s3 import INNER_PORT_NAMES, S3Notifications, S3Server, S3ServerSettings
from sourcier.services.stack.service import Service, ServiceSettings
from sourcier.services.stack.settings import SERVICE_NAMES, StackSettings

MODEL_START_SECONDS_MAX = 900.0
SERVER_NAMES = ("nats", "postgres", "s3")
DOCUMENTS_BUCKET = "documents"
"""The bucket for people's documents; the other one holds what the services keep."""
WEBHOOK_PATH = "/v1/bucket-notifications"
FURTHER_INGEST_STAGES = "parse,chunk,index"
"""What an ingest service beside the first one does: what costs, and what any number may do at once."""


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
    book: PortBook = field(repr=False)
    """Holds the ports that were chosen for as long as it lives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Webhook:
    """Where the gateway takes bucket notifications, and what senders show it."""

    port: int
    token: str = field(repr=False)


def compose(settings: StackSettings) -> Composition:
    """Choose ports and parts; raise `InvalidArgument` for unknown services, `ResourceExhausted` for taken ports."""
    if settings.unknown_services:
        raise InvalidArgument(f"SOURCIER_STACK_SERVICES names {', '.join(settings.unknown_services)}; "
                              f"the services are {', '.join(SERVICE_NAMES)}.")
    # Chosen once, by the memory of now: a service that is started again must not come back with another model.
    settings = settings.model_copy(update={"generate_model": settings.language_model})
    book = PortBook(settings.folder / "ports.json")
    names = (*SERVER_NAMES, *SERVICE_NAMES)
    external = {name: _address(url) for name in names if (url := settings.external_url(name))}
    webhook = _webhook(settings, book) if "gateway" in settings.services else None
    page_port = book.port("web_http", fixed=settings.web_http_port) if "web" in settings.services else 0
    servers = tuple(_server(name, settings, book, webhook) for name in SERVER_NAMES if name not in external)
    # Services that are left out have an address too: their callers then find nobody there, and say so.
    service_ports = {
        name: book.port(name, fixed=settings.fixed_port(name)) for name in SERVICE_NAMES if name not in external
    }
    further = {name: variables for name, variables in _further(settings).items() if _service_of(name) in service_ports}
    service_ports.update({name: book.port(name) for name in further})

    def environment() -> dict[str, str]:
        # Called when a service starts: the servers have made their passwords by then.
        return _environment(settings, servers, service_ports, webhook, page_port)

    def environment_of(name: str) -> Mapping[str, str]:
        return environment() | _own_variables(servers, _service_of(name))

    services = tuple(
        _service(
            name, settings, port, partial(environment_of, name), variables=further.get(name, {}),
            http_port=page_port if name == "web" else 0,
        )
        for name, port in service_ports.items() if _service_of(name) in settings.services
    )
    return Composition(
        settings=settings, servers=servers, services=services, external=external, environment=environment, book=book,
    )


def _further(settings: StackSettings) -> dict[str, Mapping[str, str]]:
    """Return what the services beside the first of their kind are told, by name: embed-2, embed-3, ingest-2 …

    The endpoint for metrics is the first one's: two cannot listen on one address.
    """
    embeds: dict[str, Mapping[str, str]] = {
        f"embed-{number}": {"SOURCIER_EMBED_MODEL": model, "SOURCIER_EMBED_METRICS_LISTEN": ""}
        for number, model in enumerate(settings.embed_model_names[1:], start=2)
    }
    return embeds | {
        f"ingest-{number}": {"SOURCIER_INGEST_STAGES": FURTHER_INGEST_STAGES, "SOURCIER_INGEST_METRICS_LISTEN": ""}
        for number in range(2, settings.stack_ingest_processes + 1)
    }


def _service_of(name: str) -> str:
    return name.partition("-")[0]


def _is_called(name: str) -> bool:
    """Return whether other services call it: an ingest service beside the first one has its work from the queues."""
    return name != "web" and (name == "ingest" or _service_of(name) != "ingest")


def _webhook(settings: StackSettings, book: PortBook) -> Webhook:
    return Webhook(
        port=book.port("gateway_http", fixed=settings.gateway_http_port),
        token=_given_or_kept(settings.gateway_webhook_token, settings.folder / "gateway" / "webhook-token"),
    )


def _given_or_kept(given: SecretStr, path: Path) -> str:
    return given.get_secret_value() or kept_secret(path)


def _environment(
    settings: StackSettings, servers: tuple[Component, ...], service_ports: Mapping[str, int], webhook: Webhook | None,
    page_port: int,
) -> dict[str, str]:
    environment = {name: value for server in servers for name, value in _server_variables(server).items()}
    environment.update(_external_variables(settings))
    for name, port in service_ports.items():
        # Clients take the gateway's address for a promise that there is one.
        if _is_called(name) and (name != "gateway" or name in settings.services):
            variable = f"SOURCIER_{_service_of(name).upper()}_URL"
            environment[variable] = ",".join(filter(None, (environment.get(variable, ""), f"{HOST}:{port}")))
    folder = settings.folder
    environment["SOURCIER_INTERNAL_TOKEN"] = _given_or_kept(settings.internal_token, folder / "internal-token")
    if webhook is not None:
        environment["SOURCIER_GATEWAY_HTTP_LISTEN"] = f"{HOST}:{webhook.port}"
        environment["SOURCIER_GATEWAY_WEBHOOK_TOKEN"] = webhook.token
    if page_port:
        environment["SOURCIER_WEB_HTTP_LISTEN"] = f"{HOST}:{page_port}"
        environment["SOURCIER_WEB_SESSION_SECRET"] = _given_or_kept(
            settings.web_session_secret, folder / "web" / "session-secret"
        )
    if "gateway" in settings.services:
        environment["SOURCIER_GATEWAY_PROMPT_SECRET"] = _given_or_kept(
            settings.gateway_prompt_secret, folder / "gateway" / "prompt-secret"
        )
        environment["SOURCIER_GATEWAY_SOURCES_CHARACTERS_MAX"] = str(settings.sources_characters_max)
    if _watches_documents(settings):
        environment["SOURCIER_INGEST_SOURCE_BUCKET"] = DOCUMENTS_BUCKET
        environment["SOURCIER_INGEST_RECONCILE_SECONDS"] = f"{settings.ingest_reconcile_seconds:g}"
    environment["SOURCIER_INGEST_SPEECH"] = str(settings.hears_recordings).lower()
    environment["SOURCIER_INGEST_SPEECH_MODEL"] = settings.ingest_speech_model
    if settings.models_dir:
        environment["SOURCIER_MODELS_DIR"] = str(settings.models_dir.expanduser().absolute())
    environment["SOURCIER_LOG_FORMAT"] = settings.log_format
    environment["SOURCIER_GENERATE_MODEL"] = settings.language_model
    return environment


def _server(name: str, settings: StackSettings, book: PortBook, webhook: Webhook | None) -> Component:
    folder, log = settings.folder / name, settings.folder / "logs" / f"{name}.log"
    port = book.port(name, fixed=settings.fixed_port(name))
    if name == "nats":
        return NatsServer(NatsServerSettings(
            folder=folder, log=log, port=port, subject_prefix=settings.subject_prefix,
            sync_interval=settings.nats_sync_interval,
        ))
    if name == "postgres":
        return PostgresServer(PostgresServerSettings(folder=folder, log=log, port=port))
    buckets = tuple(dict.fromkeys((settings.s3_bucket, DOCUMENTS_BUCKET)))
    inner_ports = {inner: book.port(f"s3.{inner}") for inner in INNER_PORT_NAMES}
    return S3Server(S3ServerSettings(
        folder=folder, log=log, port=port, inner_ports=inner_ports, buckets=buckets,
        notifications=_notifications(settings, webhook),
    ))


def _watches_documents(settings: StackSettings) -> bool:
    """Whether the stack's own store has a bucket of documents, and nobody named other ones."""
    return not settings.s3_url and not settings.ingest_bucket_rules and settings.s3_bucket != DOCUMENTS_BUCKET


def _notifications(settings: StackSettings, webhook: Webhook | None) -> S3Notifications | None:
    # Where the services keep their own objects in the bucket of documents, telling of them would never end.
    if webhook is None or settings.s3_bucket == DOCUMENTS_BUCKET:
        return None
    url = f"http://{HOST}:{webhook.port}{WEBHOOK_PATH}"
    return S3Notifications(url=url, token=webhook.token, buckets=(DOCUMENTS_BUCKET,))


def _service(
    name: str, settings: StackSettings, port: int, environment: Callable[[], Mapping[str, str]], *,
    variables: Mapping[str, str], http_port: int,
) -> Service:
    loads_model = name == "generate" and settings.loads_model
    interpreter = Path(sys.executable)
    if loads_model:
        interpreter = programs.vllm_python(settings.stack_generate_python) or interpreter
    return Service(ServiceSettings(
        name=name, interpreter=interpreter, import_root=_import_root(settings, interpreter),
        port=port, log=settings.folder / "logs" / f"{name}.log",
        arguments=("-m", f"sourcier.services.{_service_of(name)}"), environment=environment,
        service=_service_of(name), variables=variables, http_port=http_port,
        start_seconds_max=MODEL_START_SECONDS_MAX if loads_model else 120.0,
    ))


def _import_root(settings: StackSettings, interpreter: Path) -> Path | None:
    """Return where an interpreter imports our code from; None where this one, installed, finds it again by itself."""
    if interpreter == Path(sys.executable) and not installation.checkout():
        return None
    return installation.import_folder(settings.folder / "import")


def _server_variables(server: Component) -> dict[str, str]:
    if isinstance(server, NatsServer):
        return {"SOURCIER_NATS_URL": server.url}
    if isinstance(server, PostgresServer):
        return {"SOURCIER_POSTGRES_URL": server.url}
    if isinstance(server, S3Server):
        return {
            "SOURCIER_S3_URL": server.url, "SOURCIER_S3_BUCKET": server.settings.buckets[0],
            "SOURCIER_S3_ACCESS_KEY": server.access_key, "SOURCIER_S3_SECRET_KEY": server.secret_key,
            "SOURCIER_INGEST_COMPACT_COMMAND": server.compact_command,
        }
    return {}


def _own_variables(servers: tuple[Component, ...], service: str) -> dict[str, str]:
    """Return as whom a service calls the servers, where it is not as who keeps the installation."""
    urls = [server.url_of(service) for server in servers if isinstance(server, NatsServer)]
    return {"SOURCIER_NATS_URL": urls[0]} if any(urls) else {}


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
    if "," in url:
        return ", ".join(_address(part.strip()) for part in url.split(","))
    parts = urlsplit(url if "//" in url else f"//{url}")
    return f"{parts.hostname or ''}{f':{parts.port}' if parts.port else ''}" or parts.path
