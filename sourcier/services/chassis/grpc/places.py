"""Places of a server, in pots: long calls never take those of short ones, and no caller takes all of a pot."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address
from urllib.parse import unquote

from prometheus_client import Counter as TotalCounter
from prometheus_client import Gauge

from sourcier.services.chassis.errors import ResourceExhausted
from sourcier.services.chassis.grpc.limits import ServingLimits

CALL_RETRY_SECONDS, STREAM_RETRY_SECONDS = 1.0, 5.0
"""When a refused caller should try again: about when places of the pot become free."""

WATCHERS_MAX, WATCHERS_PEER_PERCENT = 4_096, 25.0
"""Open streams of health and reflection, in all and of one address. Single health checks take no place at all."""

NETWORK_BITS = 64
"""Of an IPv6 address: the rest is its owner's to choose."""
NAME_CHARACTERS_MAX = 100

_PORT = re.compile(r":\d{1,5}$")

places_taken = Gauge("sourcier_places_taken", "Calls that hold a place, by kind.", ["kind"])
refusals_total = TotalCounter(
    "sourcier_refusals_total", "Calls refused because no place was free, by kind and by whose limit was reached.",
    ["kind", "limit"],
)


class Pot:
    """Places for one kind of call.

    One caller may hold `share / (100 - share)` times what is free (the dynamic threshold of Choudhury and Hahne): with
    a share of 50 %, one alone gets half of the pot, two get a third each, and some of it is free for the next.
    """

    def __init__(
        self, kind: str, *, size: int, tenant_share_percent: float, peer_share_percent: float, retry_seconds: float,
        person_share_percent: float = 100.0,
    ) -> None:
        self.kind = kind
        self.size = size
        self.taken = 0
        self._retry_seconds = retry_seconds
        self._shares = {"tenant": tenant_share_percent, "person": person_share_percent, "peer": peer_share_percent}
        self._held: dict[str, Counter[str]] = {limit: Counter() for limit in self._shares}

    def take(self, *, tenant: str, peer: str, person: str = "") -> Callable[[], None]:
        """Take a place, and return what gives it back; raise ResourceExhausted where there is none for this caller.

        `person` is a user or key of the tenant; empty where nobody is asked who calls.
        """
        callers = {"tenant": tenant, "peer": peer} | ({"person": f"{tenant}/{person}"} if person else {})
        self._check(**callers)
        self._count(1, **callers)
        return lambda: self._count(-1, **callers)

    def _check(self, **callers: str) -> None:
        free = self.size - self.taken
        if free <= 0:
            raise self._refused("service", f"all {self.size} places for {self.kind} are taken", self.taken, self.size)
        for limit, name in callers.items():
            share, held = self._shares[limit], self._held[limit][name]
            if share < 100 and held and held * (100 - share) >= free * share:
                raise self._refused(
                    limit, f"{limit} {name[:NAME_CHARACTERS_MAX]!r} holds {held} of the {self.size} places for "
                    f"{self.kind}, its share while {free} are free", held, self.size,
                )

    def _count(self, change: int, **callers: str) -> None:
        self.taken += change
        places_taken.labels(self.kind).inc(change)
        for limit, name in callers.items():
            held = self._held[limit]
            held[name] += change
            if not held[name]:
                del held[name]

    def _refused(self, limit: str, told: str, held: int, size: int) -> ResourceExhausted:
        refusals_total.labels(self.kind, limit).inc()
        return ResourceExhausted(
            f"{told}; try again in {self._retry_seconds:g} s, or end calls that are no longer needed",
            retry_after_seconds=self._retry_seconds, limit=f"{self.kind}.{limit}", held=held, places=size,
        )


class Places:
    """The pots of one server."""

    def __init__(self, *, calls_max: int, limits: ServingLimits) -> None:
        shares = {
            "tenant_share_percent": limits.tenant_share_percent, "peer_share_percent": limits.peer_share_percent,
            "person_share_percent": limits.person_share_percent,
        }
        self.calls = Pot("calls", size=calls_max, retry_seconds=CALL_RETRY_SECONDS, **shares)
        self.streams = Pot("streams", size=limits.streams_max, retry_seconds=STREAM_RETRY_SECONDS, **shares)
        self.watchers = Pot(
            "watchers", size=WATCHERS_MAX, tenant_share_percent=100, peer_share_percent=WATCHERS_PEER_PERCENT,
            retry_seconds=STREAM_RETRY_SECONDS,
        )

    @property
    def size(self) -> int:
        """The places of all pots together."""
        return self.calls.size + self.streams.size + self.watchers.size


def network_of(peer: str) -> str:
    """Return whose connection it is, from gRPC's name of a peer: an address, or the network of an IPv6 one."""
    scheme, _, rest = unquote(peer).partition(":")
    if scheme not in {"ipv4", "ipv6"}:
        return scheme
    host = _PORT.sub("", rest).strip("[]").partition("%")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if not isinstance(address, IPv6Address):
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return f"{IPv6Address(int(address) >> NETWORK_BITS << NETWORK_BITS)}/{NETWORK_BITS}"
