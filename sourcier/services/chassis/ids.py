"""Identifiers: UUIDv7 for what is created, UUIDv5 for what is derived."""

from __future__ import annotations

import math
import os
import time
import uuid

CHUNK_NAMESPACE = uuid.UUID("5f0c6a52-7d1e-5b0e-9c7a-2f6b8a1d4e90")
IMPORT_NAMESPACE = uuid.UUID("7c1f0b8e-94d3-5a6c-8e21-3d5b9a7f6c10")


def new_id() -> str:
    """Return a UUIDv7 (RFC 9562): 48 bits of milliseconds, then random bits, so that ids sort by time."""
    milliseconds = time.time_ns() // 1_000_000
    random_bits = int.from_bytes(os.urandom(10), "big")
    value = (milliseconds & (1 << 48) - 1) << 80 | 0x7 << 76 | (random_bits >> 68) << 64
    value |= 0b10 << 62 | random_bits & (1 << 62) - 1
    return str(uuid.UUID(int=value))


def is_id(text: str) -> bool:
    """Return whether a text can be an identifier of ours; what cannot names nothing that exists."""
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def chunk_id(
    *, tenant: str, collection: str, source: str, content_sha256: bytes, configuration_digest: str, position: int
) -> str:
    """Return the chunk's UUIDv5, which follows from the corpus and its settings alone.

    The same content under the same source of a collection of the same name, cut alike, has the same ids in every
    installation; `configuration_digest` is that of the chunking.
    """
    named = "\n".join((tenant, collection, source, content_sha256.hex(), configuration_digest, str(position)))
    return str(uuid.uuid5(CHUNK_NAMESPACE, named))


def imported_id(*, collection_id: str, exported_id: str) -> str:
    """Return the UUIDv5 of an imported document whose own id its tenant has already, in another collection."""
    return str(uuid.uuid5(IMPORT_NAMESPACE, f"{collection_id}\n{uuid.UUID(exported_id)}"))


def age_seconds(identifier: str) -> float:
    """Return how long ago a UUIDv7 was made, negative for one of the future; infinity for any other identifier.

    Its first 48 bits are milliseconds since 1970 (RFC 9562, 5.7). Whoever sends an identifier wrote that time: nothing
    may wait for as long as it says.
    """
    parsed = uuid.UUID(identifier)
    if parsed.version != 7:
        return math.inf
    return time.time() - (parsed.int >> 80) / 1000
