"""Certificates of services: an authority, files of a holder, and their replacement while they are read."""

from __future__ import annotations

import os
from pathlib import Path

import trustme

from sourcier.services.chassis.tls.client import ClientTls
from sourcier.services.chassis.tls.serving import TlsFiles


class Holder:
    """The files of one service: its certificate for this machine, its key, and whom it trusts."""

    def __init__(self, folder: Path, name: str, *, signed: trustme.CA, trusts: tuple[trustme.CA, ...] = ()) -> None:
        """Write them."""
        self.name = name
        self._certificate, self._key, self._ca = (folder / f"{name}.{part}" for part in ("crt", "key", "ca"))
        self.renew(signed=signed, trusts=trusts)

    def renew(self, *, signed: trustme.CA, trusts: tuple[trustme.CA, ...] = ()) -> None:
        """Put others in their place, each as a whole."""
        issued = signed.issue_cert(f"{self.name}.sourcier", "127.0.0.1", "localhost", common_name=self.name)
        for path, content in (
            (self._key, issued.private_key_pem.bytes()),
            (self._certificate, b"".join(blob.bytes() for blob in issued.cert_chain_pems)),
            (self._ca, b"".join(ca.cert_pem.bytes() for ca in trusts or (signed,))),
        ):
            new = path.with_suffix(f"{path.suffix}.new")
            new.write_bytes(content)
            os.replace(new, path)

    @property
    def served(self) -> TlsFiles:
        """As a server that asks for certificates."""
        return TlsFiles(certificate=self._certificate, key=self._key, client_ca=self._ca)

    @property
    def shown(self) -> ClientTls:
        """As a client."""
        return ClientTls(ca=self._ca, certificate=self._certificate, key=self._key)

    @property
    def trusting(self) -> ClientTls:
        """As a client that shows nothing."""
        return ClientTls(ca=self._ca)
