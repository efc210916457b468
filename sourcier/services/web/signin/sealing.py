"""Cookies that nobody but this service can read or make: sealed by AES-GCM, in parts where one would be too long.

No session is kept here: with the same secret any replica reads any cookie.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
from collections.abc import Mapping
from typing import Any

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

NONCE_BYTES = 12
PART_CHARACTERS_MAX = 3_800
"""Browsers keep cookies of about 4,096 bytes, name and attributes included."""
PARTS_MAX = 5
"""Heads of requests are bounded: proxies take 8 to 32 KB of them."""


class TooManyParts(Exception):
    """What is to be kept is longer than cookies hold."""


class Seal:
    """Seals and opens values of one purpose."""

    def __init__(self, secret: str, *, name: str) -> None:
        """Take a key from the secret for cookies of this name; an empty secret makes one up, for this process alone."""
        given = secret.encode() or os.urandom(32)
        self._name = name
        self._cipher = AESGCM(hashlib.blake2b(given, digest_size=32, person=b"sourcier", salt=_salt(name)).digest())

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all parts."""
        return (self._name, *(f"{self._name}-{part}" for part in range(1, PARTS_MAX)))

    def sealed(self, values: Mapping[str, Any], *, seconds: float) -> dict[str, str]:
        """Return cookies, by name, that hold the values for so long."""
        text = json.dumps({**values, "until": time.time() + seconds}, ensure_ascii=False).encode()
        nonce = os.urandom(NONCE_BYTES)
        packed = base64.urlsafe_b64encode(nonce + self._cipher.encrypt(nonce, text, None)).decode("ascii").rstrip("=")
        parts = [packed[start:start + PART_CHARACTERS_MAX] for start in range(0, len(packed), PART_CHARACTERS_MAX)]
        if len(parts) > PARTS_MAX:
            raise TooManyParts
        return dict(zip(self.names, parts, strict=False))

    def opened(self, cookies: Mapping[str, str]) -> dict[str, Any] | None:
        """Return the values that cookies hold; None where they are not ours, changed, or over."""
        packed = "".join(cookies.get(name, "") for name in self.names)
        if not packed:
            return None
        try:
            raw = base64.urlsafe_b64decode(packed + "=" * (-len(packed) % 4))
            text = self._cipher.decrypt(raw[:NONCE_BYTES], raw[NONCE_BYTES:], None)
        except (ValueError, InvalidTag):
            return None
        values: dict[str, Any] = json.loads(text)
        return values if values.pop("until") > time.time() else None


def _salt(name: str) -> bytes:
    return hashlib.sha256(name.encode()).digest()[:16]
