"""What the web service can be told through the environment."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, field_validator, model_validator
from starlette.datastructures import Headers

from sourcier.services.chassis.addresses import split_address
from sourcier.services.chassis.settings import ServiceSettings, settings_config, shared
from sourcier.services.chassis.tls.client import ClientTls

TLS_SCHEME = "https://"
_HOST_NAME = re.compile(r"[a-z0-9_-]{1,63}(\.[a-z0-9_-]{1,63}){0,20}", re.IGNORECASE)


class WebSettings(ServiceSettings):
    """`SOURCIER_WEB_…`, and what several services share."""

    model_config = settings_config("web")

    gateway_url: str = shared("GATEWAY_URL")
    """host:port of the gateway; https://host:port where it speaks TLS."""
    gateway_ca: Path | None = None
    """Who signs the gateway's certificate, PEM; without it the system's authorities are trusted."""
    gateway_certificate: Path | None = None
    """What is shown to a gateway that asks for a certificate, PEM. Never one of SOURCIER_GATEWAY_TENANT_PEERS: the
    gateway would believe the tenant that any browser names."""
    gateway_key: Path | None = None
    http_listen: str = "127.0.0.1:0"
    """Address of the HTTP server, host:port; port 0 takes a free one. `listen` serves health alone."""
    hosts: str = ""
    """Names under which browsers and programs reach the service, by comma, without port: `rag.example.org`. Addresses
    in figures and `localhost` need no mention; a request for any other name is refused, against DNS rebinding."""
    origins: str = ""
    """Origins of other pages that may call this service from a browser, by comma: `https://portal.example.org`."""
    connections_max: int = Field(default=1024, ge=8, le=100_000)
    """More connections at once are answered with 503."""
    body_bytes_max: int = Field(default=8 * 1024**2, ge=1024, le=64 * 1024**2)
    """Largest request body, uploads excepted."""
    body_seconds_max: float = Field(default=30, gt=0, le=3600)
    """How long a body may take to arrive, uploads excepted."""
    upload_bytes_max: int = Field(default=4 * 1024**3, ge=1024)
    """Largest upload, all of its files together. The gateway bounds each document besides."""
    upload_files_max: int = Field(default=100, ge=1, le=10_000)
    """Most files in one upload."""
    uploads_at_once_max: int = Field(default=16, ge=1, le=1_000)
    """More uploads at once are refused with 429: each lies on this machine's disk until all of it is there."""
    upload_seconds_max: float = Field(default=3600, gt=0, le=24 * 3600)
    """How long an upload may take, from its first byte to its jobs."""
    answer_seconds_max: float = Field(default=300, gt=0, le=3600)
    """Longest time for an answer asked for by HTTP, OpenAI's dialect or MCP."""
    openai_citations: Literal["list", "annotations", "events", "none"] = "list"
    """How OpenAI's dialect tells sources where the model's name does not say: a closing list in Markdown, annotations
    of type `url_citation`, or events as Open WebUI takes them."""
    public_url: str = ""
    """Where people reach the page: `https://rag.example.org`. Links to sources begin with it; empty takes the address
    that the request named."""

    session_secret: SecretStr = SecretStr("")
    """Seals the cookies of browsers that signed in; the same for all replicas. Empty makes one up: after a restart,
    people sign in again."""
    session_seconds_max: float = Field(default=12 * 3600, ge=60, le=30 * 24 * 3600)
    """How long a person stays signed in."""
    oidc_client_secret: SecretStr = SecretStr("")
    """The secret of a confidential client at the identity provider, which the gateway names; empty for a public one."""

    @property
    def gateway_address(self) -> str:
        """host:port of the gateway."""
        return self.gateway_url.removeprefix(TLS_SCHEME).rstrip("/")

    @property
    def gateway_tls(self) -> ClientTls | None:
        """Whom to trust at the gateway, and what to show it; None where it speaks without TLS."""
        if not self.gateway_url.startswith(TLS_SCHEME):
            return None
        return ClientTls(ca=self.gateway_ca, certificate=self.gateway_certificate, key=self.gateway_key)

    @model_validator(mode="after")
    def _check_gateway_files(self) -> Self:
        if (self.gateway_certificate is None) != (self.gateway_key is None):
            raise ValueError("SOURCIER_WEB_GATEWAY_CERTIFICATE and _KEY belong together; set both or none")
        if (self.gateway_ca or self.gateway_key) and not self.gateway_url.startswith(TLS_SCHEME):
            raise ValueError("SOURCIER_WEB_GATEWAY_CA and _CERTIFICATE are for a gateway that speaks TLS; write "
                             "SOURCIER_GATEWAY_URL=https://host:port")
        return self

    @property
    def host_names(self) -> frozenset[str]:
        """The names that are allowed, in lower case."""
        return frozenset(_parts(self.hosts.lower()))

    @property
    def allowed_origins(self) -> frozenset[str]:
        """The origins of other pages that are allowed, in lower case."""
        return frozenset(origin.rstrip("/") for origin in _parts(self.origins.lower()))

    def base_url(self, headers: Headers) -> str:
        """Return where the page is, for links in an answer."""
        return self.public_url.rstrip("/") or f"http://{headers.get('host', 'localhost')}"

    @field_validator("public_url")
    @classmethod
    def _check_public_url(cls, url: str) -> str:
        if url and not url.startswith(("https://", "http://")):
            raise ValueError("write the page's address with its scheme, for example https://rag.example.org")
        return url

    @field_validator("http_listen")
    @classmethod
    def _check_http_listen(cls, address: str) -> str:
        split_address(address, example="127.0.0.1:8080")
        return address

    @field_validator("hosts")
    @classmethod
    def _check_hosts(cls, hosts: str) -> str:
        for name in _parts(hosts):
            if not _HOST_NAME.fullmatch(name):
                raise ValueError(f"{name!r} is no host name; write names without port, for example rag.example.org")
        return hosts

    @field_validator("origins")
    @classmethod
    def _check_origins(cls, origins: str) -> str:
        for origin in _parts(origins):
            if not origin.startswith(("https://", "http://")):
                raise ValueError(f"{origin!r} is no origin; write for example https://portal.example.org")
        return origins


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
