"""What the gateway can be told about sign-in, rights and TLS."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings

from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.settings import PostgresSettings, ServiceSettings, settings_config, shared
from sourcier.services.chassis.tenants import checked_tenant
from sourcier.services.gateway.access.daily import DailyLimits
from sourcier.services.gateway.access.principal import Role, role_named
from sourcier.services.gateway.access.urls import checked_url

ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
"""Those with a public key. With the others, whoever can check a token can make one."""


class AccessSettings(BaseSettings):
    """`SOURCIER_GATEWAY_…`, for sign-in and rights."""

    accounts: Literal["auto", "on", "off"] = "auto"
    """Whether calls need credentials; `auto` asks for them where an issuer is set, and on every address but loopback.
    `off` is refused on any other address."""
    oidc_issuer: str = ""
    """The identity provider's issuer, as its tokens name it: https://… ; empty for API keys alone."""
    oidc_audience: str = ""
    """Whom tokens have to be for, by comma: this service's name at the provider. Needed with an issuer."""
    oidc_client_id: str = ""
    """The public client that `sourcier login` and the page sign people in with."""
    oidc_scope: str = "openid"
    """What those ask for, parted by spaces."""
    oidc_request_audience: str = ""
    """The audience that those ask for, where the provider wants it named."""
    oidc_algorithms: str = "RS256, ES256"
    """How tokens may be signed, by comma; none with a shared secret."""
    oidc_jwks_url: str = ""
    """Where the provider's keys are; empty for what its discovery document says, which must be of the issuer's host."""
    oidc_clock_skew_seconds: float = Field(default=30, ge=0, le=300)
    """How far the clocks of provider and gateway may be apart."""
    oidc_tenant: str = "default"
    """The tenant of everybody who signs in, unless `oidc_tenant_claim` is set."""
    oidc_tenant_claim: str = ""
    """The claim that names a person's tenant; one that people can change themselves lets them into any tenant."""
    oidc_subject_claim: str = "sub"
    """The claim by which grants name a person, as `user:…`; it must never pass to somebody else."""
    oidc_groups_claim: str = "groups"
    """The claim with a person's groups, which grants name as `group:…`; a path has dots: `realm_access.roles`."""
    oidc_roles_claim: str = "roles"
    """The claim with a person's roles; groups are looked at, too."""
    oidc_roles: str = "reader=sourcier-reader, writer=sourcier-writer, manager=sourcier-manager, " \
                      "operator=sourcier-operator"
    """Which value of these claims gives which role, by comma: role=value. The highest counts."""
    oidc_default_role: Literal["reader", "writer", "manager", "none"] = "reader"
    """The role of those whom no value gives one; `none` lets them in nowhere."""
    oidc_operators: str = ""
    """People who are operators whatever their token says, by comma, each as `oidc_subject_claim` names them."""
    audit_file: Path | None = None
    """Where the audit log goes, JSON lines; unset for the log of the service. It is opened anew when moved away."""
    audit_reads: bool = True
    """Whether it has calls that only read."""
    tenant_tokens_per_day: int = Field(default=0, ge=0)
    """Tokens of the language model, read and written, that questions of one tenant may use in a day (universal time);
    0 for no limit."""
    person_tokens_per_day: int = Field(default=0, ge=0)
    """The same for one user or key, where callers are asked who they are."""
    tenant_upload_bytes_per_day: int = Field(default=0, ge=0)
    """Bytes of documents that one tenant may send in a day, by upload or as text; 0 for no limit."""
    person_upload_bytes_per_day: int = Field(default=0, ge=0)
    """The same for one user or key."""
    tls_certificate: Path | None = None
    """The certificate with its chain, PEM; with `tls_key`, the gateway speaks TLS. Both are read again when changed."""
    tls_key: Path | None = None
    """Its private key, PEM."""
    tls_client_ca: Path | None = None
    """Who signs certificates of clients, PEM; with it, no client without one is heard."""
    tenant_peers: str = ""
    """Names in certificates, by comma, of proxies that are believed about `sourcier-tenant`; needs `tls_client_ca`."""

    @property
    def roles_by_value(self) -> dict[str, Role]:
        """The role that each value of the claims gives."""
        return {value: role_named(label) for label, value in _pairs(self.oidc_roles)}

    @property
    def algorithms(self) -> tuple[str, ...]:
        """How tokens may be signed."""
        return listed(self.oidc_algorithms)

    @field_validator("oidc_issuer", "oidc_jwks_url")
    @classmethod
    def _check_url(cls, url: str) -> str:
        return checked_url(url) if url else url

    @field_validator("oidc_algorithms")
    @classmethod
    def _check_algorithms(cls, text: str) -> str:
        strange = [name for name in listed(text) if name not in ALGORITHMS]
        if strange or not listed(text):
            raise ValueError(f"use one or more of {', '.join(ALGORITHMS)}")
        return text

    @field_validator("oidc_roles")
    @classmethod
    def _check_roles(cls, text: str) -> str:
        for label, _ in _pairs(text):
            role_named(label)
        return text

    @field_validator("oidc_tenant")
    @classmethod
    def _check_tenant(cls, tenant: str) -> str:
        try:
            return checked_tenant(tenant)
        except InvalidArgument as error:
            raise ValueError("a tenant is 1 to 40 characters of a-z, 0-9 and '-'") from error

    @property
    def daily_limits(self) -> DailyLimits:
        """What a tenant and a person may use in a day."""
        return DailyLimits(
            tenant_tokens=self.tenant_tokens_per_day, person_tokens=self.person_tokens_per_day,
            tenant_upload_bytes=self.tenant_upload_bytes_per_day, person_upload_bytes=self.person_upload_bytes_per_day,
        )

    def check_access(self) -> None:
        """Raise ValueError where settings that need one another are not all there."""
        if self.oidc_issuer and not listed(self.oidc_audience):
            raise ValueError("SOURCIER_GATEWAY_OIDC_AUDIENCE is not set, and SOURCIER_GATEWAY_OIDC_ISSUER is: a token "
                             "that was made for another service would be let in; set the audience")
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("of SOURCIER_GATEWAY_TLS_CERTIFICATE and SOURCIER_GATEWAY_TLS_KEY one is set; set both")
        if self.tls_client_ca is not None and self.tls_certificate is None:
            raise ValueError("SOURCIER_GATEWAY_TLS_CLIENT_CA is set, and no SOURCIER_GATEWAY_TLS_CERTIFICATE")
        if listed(self.tenant_peers) and self.tls_client_ca is None:
            raise ValueError("SOURCIER_GATEWAY_TENANT_PEERS is set, and no SOURCIER_GATEWAY_TLS_CLIENT_CA that signs "
                             "their certificates")


class KeyMakingSettings(ServiceSettings, PostgresSettings):
    """What those can be told that make keys without a gateway: the database."""

    model_config = settings_config("first_key")


class FirstKeySettings(KeyMakingSettings):
    """What `sourcier-service first-key` can be told: the database, and a key that its owner made up."""

    model_config = settings_config("first_key")

    first_key: SecretStr = shared("FIRST_KEY")
    """`sourcier_TENANT_ID_SECRET`: an id of 16 hexadecimal digits, 43 random characters of A-Z, a-z, 0-9, - and _."""


def listed(text: str) -> tuple[str, ...]:
    """Return the entries of a list by comma."""
    return tuple(entry for entry in map(str.strip, text.split(",")) if entry)


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = [entry.partition("=") for entry in listed(text)]
    if not all(separator and value.strip() for _, separator, value in pairs):
        raise ValueError("write role=value, by comma, for example operator=it-admins")
    return [(label.strip(), value.strip()) for label, _, value in pairs]
