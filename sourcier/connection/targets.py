"""Whom a client speaks to and for: a gateway's address as people write it, and what a tenant may be called."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcier.errors import InvalidArgument

if TYPE_CHECKING:
    import grpc

PORT_MAX = 65_535
_PLAIN_SCHEMES, _TLS_SCHEMES = frozenset({"http", "grpc"}), frozenset({"https", "grpcs"})
_TENANT = re.compile(r"[a-z0-9-]{1,40}")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_THIS_MACHINE = ("localhost:", "127.", "[::1]:", "unix:")


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


def checked_token(token: str | Callable[[], str] | None) -> Callable[[], str] | None:
    """Return what gives the credentials of a call; raise InvalidArgument for a text that no header can carry."""
    if token is None or callable(token):
        return token
    if not _TOKEN.fullmatch(token):
        raise InvalidArgument("credentials are a token or an API key: letters, digits and -._~+/=",
                              field="credentials")
    return lambda: token


def require_private(address: str) -> None:
    """Raise InvalidArgument for an address that credentials would be sent to unencrypted, through a network."""
    if not address.startswith(_THIS_MACHINE):
        raise InvalidArgument(
            f"the credentials would be sent to {address} unencrypted", field="credentials",
            hint=f"name the gateway as https://{address}, or, where nobody else is on the network, http://{address}",
        )


def checked_tenant(tenant: str) -> str:
    """Return a tenant's name; raise InvalidArgument where no service would take it."""
    if not _TENANT.fullmatch(tenant):
        raise InvalidArgument(f"tenant is {tenant!r}; it is 1 to 40 of a-z, 0-9 and hyphen", field="tenant")
    return tenant
