"""Settings from the environment, validated once at start; each service's `settings.py` is the only reader of its own.

A setting is `SOURCIER_<SERVICE>_<NAME>`; what several services share is `SOURCIER_<NAME>`.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from sourcier.services.chassis.addresses import checked_address, split_address
from sourcier.services.chassis.environment import (
    FILE_SUFFIX,
    is_secret,
    known_variables,
    read_secret_files,
    unknown_variables,
    variable_of,
)
from sourcier.services.chassis.grpc.limits import ServingLimits
from sourcier.services.chassis.models.store import default_root
from sourcier.services.chassis.tracing.options import TracingOptions, traces_headers, traces_url

if TYPE_CHECKING:
    from sourcier.services.chassis.grpc.channels import Identity
    from sourcier.services.chassis.grpc.tokens import InternalTokens
    from sourcier.services.chassis.queue.subjects import QueueLimits
    from sourcier.services.chassis.tls.client import ClientTls
    from sourcier.services.chassis.tls.serving import TlsFiles

S = TypeVar("S", bound="ServiceSettings")


def shared(name: str, default: Any = ..., **options: Any) -> Any:
    """Declare a setting that several services read under one name."""
    if "default_factory" in options:
        return Field(validation_alias=f"SOURCIER_{name}", **options)
    return Field(default, validation_alias=f"SOURCIER_{name}", **options)


def settings_config(service: str) -> SettingsConfigDict:
    """Return the configuration of a service's settings class."""
    return SettingsConfigDict(
        env_prefix=f"SOURCIER_{service.upper()}_", frozen=True, extra="ignore", populate_by_name=True,
        hide_input_in_errors=True,
    )


class ServiceSettings(BaseSettings):
    """What every service can be told."""

    listen: str = "127.0.0.1:0"
    """Address of the gRPC server, host:port; port 0 takes a free one."""
    health_listen: str = ""
    """Address where health alone is told, without TLS, host:port; empty for none. For probes that show no certificate,
    as Kubernetes' own."""
    metrics_listen: str = ""
    """Address of the Prometheus endpoint, host:port; empty for none."""
    grace_seconds: float = Field(default=20.0, ge=0, le=600)
    """How long calls and messages in hand may take to finish after SIGTERM."""
    concurrent_calls_max: int = Field(default=512, ge=1, le=100_000)
    """More short calls at once are refused with RESOURCE_EXHAUSTED. Health checks take no place."""
    concurrent_streams_max: int = Field(default=512, ge=1, le=100_000)
    """The same for long calls: streams either way, and calls that work on many documents."""
    tenant_share_percent: float = Field(default=50, ge=1, le=100)
    """How much of these places one tenant may take while nobody else is there; several share what is left between
    them. 100 lets one take all."""
    peer_share_percent: float = Field(default=100, ge=1, le=100)
    """The same for one network address. 100 where all calls come from one, as behind a proxy."""
    person_share_percent: float = Field(default=25, ge=1, le=100)
    """The same for one user or key, where callers are asked who they are."""
    call_seconds_max: float = Field(default=300, gt=0, le=24 * 3600)
    """Longest short call, whatever deadline its caller sets."""
    stream_seconds_max: float = Field(default=24 * 3600, gt=0, le=7 * 24 * 3600)
    """Longest long call, whatever deadline its caller sets."""
    first_message_seconds: float = Field(default=30, gt=0, le=3600)
    """How long a call may be open without its first message; the largest has so long on a slow line."""
    idle_seconds: float = Field(default=120, gt=0, le=3600)
    """How long an open upload may send nothing."""
    bytes_per_second_min: float = Field(default=256, ge=0)
    """Slowest upload on average, counted from `idle_seconds` on; 0 for none."""
    connection_age_seconds: float = Field(default=3600, ge=1, le=7 * 24 * 3600)
    """After this time a connection takes no new calls, and its client opens another: by then it looks the name up
    again, and finds replicas that came since. Calls in hand go on. 30 where replicas come and go."""
    start_wait_seconds: float = shared("START_WAIT_SECONDS", 15.0, ge=0.1, le=3600)
    """How long a start waits for NATS and PostgreSQL; longer where they start at the same time, as on a cluster."""
    internal_token: SecretStr = shared("INTERNAL_TOKEN", SecretStr(""))
    """What services show each other, and ask callers of their ports for, the gateway's apart; several by comma: the
    first is shown, each accepted. Empty asks for nothing."""
    internal_tls_certificate: Path | None = shared("INTERNAL_TLS_CERTIFICATE", None)
    """The certificate with its chain, PEM, that this service shows the others, as their server and as their client.
    With its key and the authority, they speak TLS with one another, and take no caller without a certificate."""
    internal_tls_key: Path | None = shared("INTERNAL_TLS_KEY", None)
    internal_tls_ca: Path | None = shared("INTERNAL_TLS_CA", None)
    """Who signs the certificates of the services, PEM. All three are read again when they change."""
    internal_tls_peers: str = shared("INTERNAL_TLS_PEERS", "")
    """Names of which a caller's certificate has to carry one, by comma; empty takes each that the authority signed."""
    metrics_token: SecretStr = shared("METRICS_TOKEN", SecretStr(""))
    """What the Prometheus endpoint asks for, as a bearer token; empty asks for nothing."""
    traces_url: str = shared("TRACES_URL", "")
    """Collector of traces by OTLP over HTTP, as http://collector:4318; empty traces nothing."""
    traces_headers: SecretStr = shared("TRACES_HEADERS", SecretStr(""))
    """Headers that the collector asks for, as a JSON object of texts: `{"Authorization": "Basic …"}`."""
    traces_ratio: float = shared("TRACES_RATIO", 0.1, ge=0, le=1)
    """How many of the requests that name no trace are traced; one that names a trace is as its caller says."""
    traces_contents: bool = shared("TRACES_CONTENTS", False)
    """Whether traces hold questions, prompts and answers. They leave the installation with them."""
    traces_service: str = shared("TRACES_SERVICE", "sourcier", pattern=r"^[A-Za-z0-9._-]{1,60}$")
    """What the names of services in traces begin with: `sourcier-gateway`."""
    traces_instance: str = shared("TRACES_INSTANCE", "", pattern=r"^[A-Za-z0-9._:-]{0,120}$")
    """What this process is called in traces; empty for its host and number."""
    log_level: str = shared("LOG_LEVEL", "INFO", pattern="^(DEBUG|INFO|WARNING|ERROR)$")
    log_format: Literal["json", "line"] = shared("LOG_FORMAT", "json")

    @property
    def internal_tokens(self) -> InternalTokens:
        """The tokens that services show each other."""
        # Here: settings are also read by what serves and calls nobody.
        from sourcier.services.chassis.grpc.tokens import InternalTokens

        return InternalTokens(self.internal_token.get_secret_value())

    @property
    def internal_tls(self) -> TlsFiles | None:
        """The TLS of a server behind the gateway; None without."""
        from sourcier.services.chassis.tls.serving import TlsFiles

        certificate, key, authority = self._internal_files
        return None if certificate is None or key is None else TlsFiles(
            certificate=certificate, key=key, client_ca=authority
        )

    @property
    def internal_peers(self) -> frozenset[str]:
        """The names of which a caller's certificate has to carry one."""
        return frozenset(name for name in (part.strip() for part in self.internal_tls_peers.split(",")) if name)

    @property
    def identity(self) -> Identity:
        """What this service shows the others."""
        from sourcier.services.chassis.grpc.channels import Identity
        from sourcier.services.chassis.tls.client import ClientTls

        certificate, key, authority = self._internal_files
        return Identity(token=self.internal_tokens.shown, tls=None if certificate is None else ClientTls(
            ca=authority, certificate=certificate, key=key
        ))

    @property
    def _internal_files(self) -> tuple[Path | None, Path | None, Path | None]:
        return self.internal_tls_certificate, self.internal_tls_key, self.internal_tls_ca

    @model_validator(mode="after")
    def _check_internal_tls(self) -> Self:
        given = [path is not None for path in self._internal_files]
        if any(given) and not all(given):
            raise ValueError("SOURCIER_INTERNAL_TLS_CERTIFICATE, _KEY and _CA belong together; set all three or none")
        if self.internal_peers and not all(given):
            raise ValueError("SOURCIER_INTERNAL_TLS_PEERS names callers by their certificates; set "
                             "SOURCIER_INTERNAL_TLS_CERTIFICATE, _KEY and _CA, too")
        return self

    @property
    def serving_limits(self) -> ServingLimits:
        """What one caller may hold of the gRPC server, and for how long."""
        return ServingLimits(
            streams_max=self.concurrent_streams_max, tenant_share_percent=self.tenant_share_percent,
            peer_share_percent=self.peer_share_percent, person_share_percent=self.person_share_percent,
            call_seconds_max=self.call_seconds_max,
            stream_seconds_max=self.stream_seconds_max, first_message_seconds=self.first_message_seconds,
            idle_seconds=self.idle_seconds, bytes_per_second_min=self.bytes_per_second_min,
            connection_age_seconds=self.connection_age_seconds,
        )

    @property
    def traces(self) -> TracingOptions:
        """Where traces are sent, and how many."""
        return TracingOptions(
            url=traces_url(self.traces_url), headers=traces_headers(self.traces_headers.get_secret_value()),
            ratio=self.traces_ratio, contents=self.traces_contents, service=self.traces_service,
            instance=self.traces_instance,
        )

    @field_validator("traces_url")
    @classmethod
    def _check_traces_url(cls, url: str) -> str:
        traces_url(url)
        return url

    @field_validator("traces_headers")
    @classmethod
    def _check_traces_headers(cls, headers: SecretStr) -> SecretStr:
        traces_headers(headers.get_secret_value())
        return headers

    @field_validator("listen")
    @classmethod
    def _check_listen(cls, address: str) -> str:
        split_address(address)
        return address

    @field_validator("health_listen", "metrics_listen")
    @classmethod
    def _check_further_listen(cls, address: str) -> str:
        return checked_address(address, example="0.0.0.0:9101")


class SubjectSettings(BaseSettings):
    """How the names of streams and durables begin."""

    subject_prefix: str = shared("SUBJECT_PREFIX", "sourcier.v1.", pattern=r"^([A-Za-z0-9_-]+\.)*$")


class NatsSettings(SubjectSettings):
    """How to reach NATS."""

    nats_url: SecretStr = shared("NATS_URL")
    """`nats://host:4222`, or several by comma: servers of one cluster."""
    nats_credentials_file: Path | None = shared("NATS_CREDENTIALS_FILE", None)
    """A file of NATS's own with a user's token and key, as `nsc` writes it, for brokers that know users by them."""
    nats_tls_ca: Path | None = shared("NATS_TLS_CA", None)
    """Who signs the brokers' certificates, PEM; without it the system's authorities are trusted."""
    nats_tls_certificate: Path | None = shared("NATS_TLS_CERTIFICATE", None)
    """What is shown to brokers that ask for a certificate, PEM; each connection reads all three anew."""
    nats_tls_key: Path | None = shared("NATS_TLS_KEY", None)
    stream_replicas: int = shared("STREAM_REPLICAS", 1, ge=1, le=5)
    """Copies of each stream; 3 on a cluster, so that one server's loss loses nothing."""
    queue_messages_max: int = shared("QUEUE_MESSAGES_MAX", 20_000, ge=1)
    """Most messages that wait for a stage, per lane and tenant."""
    queue_bytes_max: int = shared("QUEUE_BYTES_MAX", 4 * 1024**3, ge=1024**2)
    """Most bytes of a stream."""
    duplicate_window_seconds: float = shared("DUPLICATE_WINDOW_SECONDS", 120.0, ge=1, le=3600)
    """How long the broker remembers message ids."""
    ack_wait_seconds: float = shared("ACK_WAIT_SECONDS", 30.0, ge=1, le=3600)
    """How long a message is left to a worker that says nothing of it."""

    @field_validator("nats_url")
    @classmethod
    def _check_nats_url(cls, url: SecretStr) -> SecretStr:
        if any(each.strip().lower().startswith(("ws:", "wss:")) for each in url.get_secret_value().split(",")):
            raise ValueError("NATS is spoken over TCP, not over WebSockets; write nats://HOST:4222, or tls://HOST:4222")
        return url

    @model_validator(mode="after")
    def _check_nats_tls(self) -> Self:
        if (self.nats_tls_certificate is None) != (self.nats_tls_key is None):
            raise ValueError("SOURCIER_NATS_TLS_CERTIFICATE and _KEY belong together; set both or none")
        return self

    @property
    def nats_tls(self) -> ClientTls | None:
        """What is shown to a broker, and whom is trusted; None leaves both to the URL and the system."""
        if self.nats_tls_ca is None and self.nats_tls_certificate is None:
            return None
        from sourcier.services.chassis.tls.client import ClientTls

        return ClientTls(ca=self.nats_tls_ca, certificate=self.nats_tls_certificate, key=self.nats_tls_key)

    @property
    def queue_limits(self) -> QueueLimits:
        """The bounds of streams and durables."""
        # Here: settings are also read by what knows no queue, and subjects load every event's class.
        from sourcier.services.chassis.queue.subjects import QueueLimits

        return QueueLimits(
            messages_per_subject_max=self.queue_messages_max, bytes_max=self.queue_bytes_max,
            duplicate_window_seconds=self.duplicate_window_seconds, ack_wait_seconds=self.ack_wait_seconds,
        )


class PostgresSettings(BaseSettings):
    """How to reach PostgreSQL."""

    postgres_url: SecretStr = shared("POSTGRES_URL")
    schema_name: str = shared("SCHEMA", "sourcier", pattern="^[a-z_][a-z0-9_]{0,40}$")
    migration_wait_seconds: float = shared("MIGRATION_WAIT_SECONDS", 300.0, ge=1, le=24 * 3600)
    """How long a start waits for the migrations that another process applies."""


class ObjectStoreSettings(BaseSettings):
    """How to reach the object store: S3, GCS, Azure or a folder, by URL."""

    s3_url: str = shared("S3_URL")
    s3_bucket: str = shared("S3_BUCKET", "sourcier")
    s3_access_key: SecretStr = shared("S3_ACCESS_KEY", SecretStr(""))
    s3_secret_key: SecretStr = shared("S3_SECRET_KEY", SecretStr(""))
    s3_region: str = shared("S3_REGION", "us-east-1")


class ModelSettings(BaseSettings):
    """Where the models are."""

    models_dir: Path = shared("MODELS_DIR", default_factory=lambda: default_root(os.environ))

    @field_validator("models_dir")
    @classmethod
    def _expanded(cls, folder: Path) -> Path:
        try:
            return folder.expanduser()
        except RuntimeError as error:
            raise ValueError("this user has no home folder; write the path without ~") from error

    @property
    def models_root(self) -> Path:
        """The model store's folder."""
        return self.models_dir


def load(settings: type[S]) -> S:
    """Read the settings from the environment, or end the process with one line per fault."""
    secrets, faults = read_secret_files(settings, os.environ)
    faults += unknown_variables(os.environ, known=known_variables(settings))
    try:
        read: S = cast(Any, settings)(**secrets)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            # A rule between several settings names them itself.
            subject = f"{_shown(settings, fault['loc'])}: " if fault["loc"] else ""
            faults.append(f"{subject}{fault['msg'].removeprefix('Value error, ')}")
    else:
        if not faults:
            return read
    for line in faults:
        sys.stderr.write(f"error: {line}\n")
    sys.exit(2)


def _shown(settings: type[ServiceSettings], location: tuple[int | str, ...]) -> str:
    """Return the variable that a fault is about with its value, which is left out where it is a secret."""
    field = next((name for name, field in settings.model_fields.items()
                  if location[0] in (name, field.validation_alias)), None)
    variable = variable_of(settings, field) if field else str(location[0])
    if (path := os.environ.get(variable + FILE_SUFFIX)) and field and is_secret(settings.model_fields[field]):
        return f"{variable}{FILE_SUFFIX}={path}"
    value = os.environ.get(variable)
    if value is None:
        return f"{variable} is not set"
    # What no field explains is never shown.
    return f"{variable}=…" if field is None or is_secret(settings.model_fields[field]) else f"{variable}={value}"
