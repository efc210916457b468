"""Whom a client speaks to and for: a gateway's address as people write it, and what a tenant may be called."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcier.errors import InvalidArgument

if TYPE_CHECKING:
    import grpc

PORT_MAX = 65_535
_PLAIN_SCHEMES, _TLS_SCHEMES = frozenset({"http", "grpc"}), frozenset({"https", "grpcs"})
_TENANT = re.compile(r"[a-z0-9-]{1,40}")


@dataclass(frozen=True)
class Target:
    """A gateway's address."""

    address: str
    """host:port."""
    encrypted: bool = False
    """Whether TLS is spoken there, as a proxy before the gateway does."""

    def credentials(self) -> grpc.ChannelCredentials | None:
        """Return what gRPC encrypts with; None for plaintext. gRPC itself reads where a private CA's roots are."""
        if not self.encrypted:
            return None
        import grpc

        return grpc.ssl_channel_credentials()


def has_scheme(text: str) -> bool:
    """Tell whether a scheme that we know is before an address; `dns:///…` and the like are gRPC's own."""
    scheme, separator, _ = text.partition("://")
    return bool(separator) and scheme.lower() in _PLAIN_SCHEMES | _TLS_SCHEMES


def read_target(text: str) -> Target:
    """Read HOST:PORT, which may have a scheme before it: `https` and `grpcs` select TLS. Raises InvalidArgument."""
    before, separator, after = text.rpartition("://")
    scheme, address = before.lower(), after.rstrip("/")
    host, _, port = address.rpartition(":")
    known = not separator or scheme in _PLAIN_SCHEMES | _TLS_SCHEMES
    if not known or not host or not port.isdecimal() or int(port) > PORT_MAX:
        raise InvalidArgument(
            f"{text!r} is not a gateway's address", field="target",
            hint="give it as HOST:PORT, for example localhost:8080, or https://HOST:PORT where it speaks TLS",
        )
    return Target(address, encrypted=scheme in _TLS_SCHEMES)


def checked_tenant(tenant: str) -> str:
    """Return a tenant's name; raise InvalidArgument where no service would take it."""
    if not _TENANT.fullmatch(tenant):
        raise InvalidArgument(f"tenant is {tenant!r}; it is 1 to 40 of a-z, 0-9 and hyphen", field="tenant")
    return tenant
