"""TLS of a client: whom it trusts, and the certificate of its own that it shows."""

from __future__ import annotations

import logging
import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.tls.watching import Stamps, stamps

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientTls:
    """Where the parts are, all PEM."""

    ca: Path | None = None
    """Who signs the server's certificate; None trusts whom the system trusts."""
    certificate: Path | None = None
    """What is shown to a server that asks, with its chain; None shows nothing."""
    key: Path | None = None

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that there are."""
        return tuple(path for path in (self.ca, self.certificate, self.key) if path is not None)

    def stamps(self) -> Stamps:
        """Return what changes when a file does; raise FailedPrecondition where one cannot be read."""
        try:
            return stamps(self.paths)
        except OSError as error:
            raise _unreadable(error) from error

    def channel_credentials(self) -> grpc.ChannelCredentials:
        """Return what a channel encrypts with; raise FailedPrecondition where a file cannot be read."""
        try:
            return grpc.ssl_channel_credentials(
                root_certificates=_read(self.ca), private_key=_read(self.key), certificate_chain=_read(self.certificate)
            )
        except OSError as error:
            raise _unreadable(error) from error

    def context(self) -> ssl.SSLContext:
        """Return the same for asyncio's connections; raise FailedPrecondition where a file is none."""
        try:
            context = ssl.create_default_context(cafile=self.ca)
            if self.certificate is not None:
                context.load_cert_chain(self.certificate, self.key)
        except OSError as error:  # SSLError is one
            raise _unreadable(error) from error
        return context


class RenewedContext:
    """The context of a client's next connection: made anew when a file changed, the one before where it cannot be."""

    def __init__(self, tls: ClientTls) -> None:
        """Read the files; raise FailedPrecondition where they cannot be read."""
        self._tls = tls
        self._seen = tls.stamps()
        self._context = tls.context()

    def current(self) -> ssl.SSLContext:
        """Return the context."""
        try:
            found = self._tls.stamps()
            if found != self._seen:
                self._context, self._seen = self._tls.context(), found
                logger.info("the certificate was read again")
        except FailedPrecondition as error:
            logger.warning("%s; the one before is shown", error.message)
        return self._context


def _read(path: Path | None) -> bytes | None:
    return None if path is None else path.read_bytes()


def _unreadable(error: OSError) -> FailedPrecondition:
    return FailedPrecondition(f"a certificate or its key cannot be read: {error}")
