"""The address of the vision endpoint: what is none, or would tell a secret to logs, is refused at the start."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from sourcier.services.ingest.settings import IngestSettings, check_endpoint_url


@pytest.mark.parametrize("url", ["http://vision:8000/v1", "https://api.example.org/v1/", "http://[::1]:8000/v1"])
def test_an_address_of_an_endpoint_is_taken(url: str) -> None:
    check_endpoint_url(url, key="KEY")


@pytest.mark.parametrize(("url", "why"), [
    ("vision:8000/v1", "by http"), ("ftp://vision/v1", "by http"), ("http:///v1", "by http"),
    ("http://vision/v 1", "by http"), ("http://vision\n/v1", "by http"), ("http://a:hidden@vision/v1", "_API_KEY"),
    ("http://:hidden@vision/v1", "_API_KEY"), ("http://vision/v1?key=hidden", "leave out"),
    ("http://vision/#v1", "leave out"),
    ("http://vision:0/v1", "port"), ("http://vision:70000/v1", "(?i)port"), ("http://[::1/v1", "IPv6"),
])
def test_what_is_no_address_is_refused_without_its_secrets(url: str, why: str) -> None:
    with pytest.raises(ValidationError, match=why) as refused:
        IngestSettings(nats_url="nats://a", postgres_url="postgresql://a", s3_url="http://a", vision_url=url)
    assert "hidden" not in str(refused.value)
