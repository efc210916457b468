"""Addresses that the gateway itself fetches: the identity provider's alone, and encrypted unless on this machine."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit


def checked_url(url: str) -> str:
    """Return an address that may be fetched; raise ValueError for any other."""
    parts = urlsplit(url)
    if parts.scheme not in {"https", "http"} or not parts.hostname or parts.username or parts.fragment:
        raise ValueError("write https://HOST/…, without a user name")
    if parts.scheme == "http" and not is_loopback(parts.hostname):
        raise ValueError("use https: whoever can change what comes over http could sign in as anybody")
    return url


def same_host(first: str, second: str) -> bool:
    """Return whether two addresses are of one host, port and scheme."""
    one, other = urlsplit(first), urlsplit(second)
    return (one.scheme, one.hostname, one.port) == (other.scheme, other.hostname, other.port)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine itself, reached by no other."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
