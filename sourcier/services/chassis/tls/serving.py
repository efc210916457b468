"""TLS of a server: its certificate is read again when the files change; clients may have to show one of their own."""

from __future__ import annotations

import logging
import threading
from dataclasses import dataclass
from pathlib import Path

import grpc
from prometheus_client import Gauge

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.tls.watching import stamps

logger = logging.getLogger(__name__)

expiry = Gauge(
    "sourcier_certificate_expiry_timestamp_seconds", "When the certificate that is served ends, in Unix time.", ["file"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TlsFiles:
    """Where the parts are, all PEM."""

    certificate: Path
    """With its chain."""
    key: Path
    client_ca: Path | None = None
    """Who signs clients' certificates; with it, a client without one is not heard."""

    def server_credentials(self) -> grpc.ServerCredentials:
        """Return what a server encrypts with; raise FailedPrecondition where the files cannot be read."""
        try:
            watched = _Watched(self)
        except OSError as error:
            raise FailedPrecondition(f"the certificate cannot be read: {error}") from error
        return grpc.dynamic_ssl_server_credentials(
            # The stubs forget that None is for what has not changed.
            watched.first, watched.changed,  # type: ignore[arg-type]
            require_client_authentication=self.client_ca is not None,
        )

    @property
    def paths(self) -> tuple[Path, ...]:
        """All of them."""
        return (self.certificate, self.key, *(() if self.client_ca is None else (self.client_ca,)))


class _Watched:
    """Looks at each handshake, from gRPC's own threads, whether a file is another one than before."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._seen = stamps(self._files.paths)
        self.first = self._read()

    def changed(self) -> grpc.ServerCertificateConfiguration | None:
        """Return what is new; None where nothing is, or where it cannot be read, and the one before goes on."""
        with self._lock:
            try:
                found = stamps(self._files.paths)
                if found == self._seen:
                    return None
                read = self._read()
            except OSError as error:
                logger.warning("the certificate cannot be read again: %s", error)
                return None
            self._seen = found
        logger.info("the certificate was read again")
        return read

    def _read(self) -> grpc.ServerCertificateConfiguration:
        pair = (self._files.key.read_bytes(), self._files.certificate.read_bytes())
        self._tell_end(pair[1])
        roots = None if self._files.client_ca is None else self._files.client_ca.read_bytes()
        return grpc.ssl_server_certificate_configuration([pair], root_certificates=roots)

    def _tell_end(self, certificate: bytes) -> None:
        """Tell when the first certificate of the file, that of the server, ends."""
        # Here: who serves without TLS has no use for it.
        from cryptography import x509

        try:
            end = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
        except ValueError as error:  # gRPC refuses it, or serves one that this library reads otherwise
            logger.warning("when the certificate ends cannot be read: %s", error)
            return
        expiry.labels(str(self._files.certificate)).set(end.timestamp())
