"""When the certificate that is served ends, as a metric: at the start, and when another one takes its place."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest
from cryptography import x509
from prometheus_client import REGISTRY

from sourcier.services.chassis.tls.serving import TlsFiles, _Watched
from sourcier.services.stack.servers import certificates

NAME = "sourcier_certificate_expiry_timestamp_seconds"


def told(path: Path) -> float | None:
    return REGISTRY.get_sample_value(NAME, {"file": str(path)})


def end_of(path: Path) -> float:
    return x509.load_pem_x509_certificate(path.read_bytes()).not_valid_after_utc.timestamp()


def test_the_end_of_a_certificate_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = certificates.made(tmp_path / "first", name="localhost")
    monkeypatch.setattr(certificates, "VALID_FOR", timedelta(days=3))
    second = certificates.made(tmp_path / "second", name="localhost")
    served, key = tmp_path / "served.crt", tmp_path / "served.key"
    shutil.copy(first.certificate, served)
    shutil.copy(first.key, key)
    assert told(served) is None
    watched = _Watched(TlsFiles(certificate=served, key=key))
    assert told(served) == end_of(first.certificate)
    served.write_bytes(b"no certificate")
    watched.changed()
    assert told(served) == end_of(first.certificate)
    shutil.copy(second.certificate, served)
    watched.changed()
    assert told(served) == end_of(second.certificate)
