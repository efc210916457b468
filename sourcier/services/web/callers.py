"""Who calls: what a request shows of itself, handed to the gateway as it came. The gateway alone decides what it means.

Each header that decides rights is forwarded as often as it was sent: the gateway refuses one that is there twice.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from starlette.datastructures import Headers

from sourcier.services.chassis import telemetry
from sourcier.services.chassis.errors import InvalidArgument
from sourcier.services.chassis.grpc.serving import TENANT_KEY

FORWARDED = ("authorization", TENANT_KEY)
"""The headers that decide rights. No others: what services tell one another must not come from outside."""
VALUE_CHARACTERS_MAX = 8_192
"""Of a header that is forwarded: tokens of identity providers have up to about 4,000."""


@dataclass(frozen=True, slots=True)
class Caller:
    """What travels with every call that is made for one request."""

    rights: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    @property
    def metadata(self) -> tuple[tuple[str, str], ...]:
        """The metadata of a call."""
        return (*self.rights, (telemetry.REQUEST_ID_KEY, telemetry.current_request_id()))


def caller_of(headers: Headers) -> Caller:
    """Return who sent a request; raise InvalidArgument for values that no gRPC call can carry."""
    return Caller(tuple((key, _checked(key, value)) for key in FORWARDED for value in headers.getlist(key)))


def _checked(key: str, value: str) -> str:
    if len(value) > VALUE_CHARACTERS_MAX:
        raise InvalidArgument(
            f"the header {key} has {len(value):,} characters; send {VALUE_CHARACTERS_MAX:,} at most", field=key
        )
    # The value is not told: it may be a secret.
    if not value.isascii() or not value.isprintable():
        raise InvalidArgument(f"the header {key} holds characters outside of printable ASCII; send it without them",
                              field=key)
    return value
