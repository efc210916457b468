"""Addresses to listen on, as settings give them: host:port."""

from __future__ import annotations

import re

PORT_MAX = 65_535
_PORT = re.compile(r"[0-9]{1,5}")


def split_address(address: str, *, example: str = "0.0.0.0:50051") -> tuple[str, int]:
    """Return host and port, the host without the brackets of IPv6; raise ValueError, with the way out, for others.

    A host has to be named: what listens without one is either on every interface or on none, by library.
    """
    host, _, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not host or not _PORT.fullmatch(port) or int(port) > PORT_MAX:
        raise ValueError(f"write host:port, the port at most {PORT_MAX}, for example {example}")
    return host, int(port)


def checked_address(address: str, *, example: str) -> str:
    """Return an address as a setting has it, which may be empty for none; raise as `split_address` does."""
    if address:
        split_address(address, example=example)
    return address
