"""A certificate that the parts of a server show each other, made anew at each start; nobody else has its key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sourcier.services.stack.processes import ports
from sourcier.services.stack.secret import write_private

VALID_FOR = timedelta(days=3650)
"""No process runs for so long, and each start makes another one."""
CLOCK_MAY_GO_BACK = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate that is its own authority, with its key; both private files."""

    certificate: Path
    key: Path


def made(folder: Path, *, name: str) -> Certificate:
    """Make a certificate for both ends of a connection, in the place of the one before.

    It signs itself: whoever trusts it alone trusts nobody but the holder of its key.
    """
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(subject).issuer_name(subject).public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_MAY_GO_BACK).not_valid_after(now + VALID_FOR)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]),
                       critical=False)
        .add_extension(
            x509.SubjectAlternativeName([x509.DNSName(name), x509.IPAddress(ip_address(ports.HOST))]), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    files = Certificate(folder / f"{name}.crt", folder / f"{name}.key")
    write_private(files.certificate, certificate.public_bytes(serialization.Encoding.PEM).decode())
    write_private(files.key, key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode())
    return files
