"""Who is let in to a server, as whom, and who is told how a call ended. The gateway has a gate of its own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import grpc.aio

from sourcier.services.chassis.access import ACCESS_KEY, Access, unpacked
from sourcier.services.chassis.errors import Unauthenticated
from sourcier.services.chassis.grpc.tokens import strangers_total

Context = grpc.aio.ServicerContext[Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedCall:
    """A call as an audit sees it."""

    method: str
    """`/package.Service/Method`."""
    context: Context
    access: Access | None
    request: Any
    """The first message; None where none came."""
    code: str
    """The name of the status that it ended with."""


class Gate(Protocol):
    """Decides about each call before anything else of it is looked at."""

    names_tenant: bool
    """Whether a caller without an access is believed about its tenant."""

    async def admit(self, method: str, context: Context) -> Access | None:
        """Return what the caller may reach, None for all of the tenant it names; raise `Unauthenticated` and the like.
        """

    def ended(self, call: EndedCall) -> None:
        """Take note of how a call ended, one that was not admitted included."""


class InnerGate:
    """Lets in whoever reaches the server, with the access that a gateway sent: for services behind the gateway."""

    names_tenant = True

    def __init__(self, peers: frozenset[str] = frozenset()) -> None:
        """Take the names of which a caller's certificate has to carry one; without any, none is asked for."""
        self._peers = peers

    async def admit(self, method: str, context: Context) -> Access | None:
        """Return the access in the metadata; raise Unauthenticated for a certificate of another name."""
        if self._peers and self._peers.isdisjoint(names := certificate_names(context)):
            strangers_total.inc()
            raise Unauthenticated(
                f"the caller's certificate is of {', '.join(names) or 'nobody'}, which is no service of this "
                "installation; its services are named in SOURCIER_INTERNAL_TLS_PEERS"
            )
        packed = metadata_value(context.invocation_metadata(), ACCESS_KEY)
        return unpacked(packed) if packed else None

    def ended(self, call: EndedCall) -> None:
        """Take no note: the gateway does."""


class OpenGate:
    """Lets everybody in, as whatever tenant they name: for a gateway that only its own machine reaches."""

    names_tenant = True

    async def admit(self, method: str, context: Context) -> Access | None:
        """Return no access: nothing is asked for, and what a caller sends of its own is not believed."""
        return None

    def ended(self, call: EndedCall) -> None:
        """Take no note: nobody has a name."""


def certificate_names(context: Context) -> list[str]:
    """Return the names in a caller's certificate; none where it showed no certificate."""
    told = context.auth_context()
    return [name.decode("utf-8", "replace") for key in ("x509_subject_alternative_name", "x509_common_name")
            for name in told.get(key, ())]


def metadata_value(metadata: Any, key: str) -> str:
    """Return the value of a key, empty where it is not given."""
    for name, value in metadata or ():
        if name == key:
            return value if isinstance(value, str) else value.decode("ascii", "replace")
    return ""
