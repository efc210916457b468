"""The address of a gateway as a person gives it: what selects TLS, and what is refused."""

from __future__ import annotations

import pytest

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Target, read_target

pytestmark = pytest.mark.unit


@pytest.mark.parametrize(("text", "address", "encrypted"), [
    ("localhost:8080", "localhost:8080", False),
    ("http://localhost:8080/", "localhost:8080", False),
    ("grpc://[::1]:8080", "[::1]:8080", False),
    ("https://rag.example.org:443/", "rag.example.org:443", True),
    ("GRPCS://rag.example.org:65535", "rag.example.org:65535", True),
])
def test_a_scheme_selects_tls(text: str, address: str, encrypted: bool) -> None:
    target = read_target(text)
    assert target == Target(address, encrypted=encrypted)
    assert (target.credentials() is not None) is encrypted


@pytest.mark.parametrize("text", [
    "nowhere", ":8080", "localhost:", "localhost:http", "localhost:70000", "localhost:8²", "https://rag.example.org",
    "ftp://localhost:8080", "://localhost:8080",
])
def test_what_is_no_address_is_refused_with_the_way_out(text: str) -> None:
    with pytest.raises(Failure, match="is not a gateway's address") as refused:
        read_target(text)
    assert (refused.value.exit_code, "HOST:PORT" in refused.value.hint) == (2, True)
