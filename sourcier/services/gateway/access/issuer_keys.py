"""The identity provider's public keys: fetched from the issuer that is configured, kept, and fetched again in time.

A token is checked without waiting for the network while its key is known. Keys are looked at anew every ten minutes,
beside the calls, and at once when a token names a key that is not known, as after a rotation; but not more often than
every few seconds, since whoever sends tokens chooses those names. While the provider is away, the keys known go on
counting for a day.
"""

from __future__ import annotations

import asyncio
import json
import logging
import ssl
import time
from collections.abc import Mapping
from typing import Any

import httpx
import jwt
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from prometheus_client import Counter

from sourcier.services.chassis.errors import ServiceError, Unauthenticated, Unavailable
from sourcier.services.gateway.access.urls import checked_url, same_host

logger = logging.getLogger(__name__)

FETCH_SECONDS_MAX = 5.0
DOCUMENT_BYTES_MAX = 512 * 1024
KEYS_MAX = 100
FRESH_SECONDS = 600.0
KEPT_SECONDS = 24 * 3600.0
REFETCH_SECONDS = 10.0
"""Between two fetches, whatever tokens ask for."""
RSA_BITS_MIN = 2048

fetches_total = Counter("sourcier_issuer_fetches_total", "Fetches of the identity provider's keys.", ["outcome"])


class IssuerKeys:
    """The keys of one issuer."""

    def __init__(self, *, issuer: str, jwks_url: str, algorithms: tuple[str, ...]) -> None:
        self._issuer, self._jwks_url, self._algorithms = issuer, jwks_url, algorithms
        self._keys: dict[str, jwt.PyJWK] = {}
        self._fetched_at: float | None = None
        self._tried_at: float | None = None
        self._fetching: asyncio.Task[None] | None = None
        self._failing = True
        """Whether the last fetch failed, or there was none."""
        self._edition = 0

    def edition(self) -> int | None:
        """Return a number that changes whenever the issuer's keys do; None while no key counts.

        What was verified with one edition has to be verified anew with the next: its key may have been withdrawn.
        """
        if self._age() > FRESH_SECONDS and self._may_try():
            self._begin()  # beside this call, which need not wait
        return None if self._age() > KEPT_SECONDS else self._edition

    async def key(self, key_id: str, *, algorithm: str) -> jwt.PyJWK:
        """Return the key of that id; raise Unauthenticated where there is none, Unavailable where none can be had."""
        found = self._known(key_id, algorithm)
        if found is None:
            await self._refreshed()
            found = self._known(key_id, algorithm)
        elif self._age() > FRESH_SECONDS and self._may_try():
            self._begin()  # beside this call, which need not wait
        if found is not None:
            return found
        if self._failing:
            raise Unavailable("the identity provider cannot be reached; try again in a moment")
        raise Unauthenticated("the token is signed with a key that the issuer does not have")

    def _known(self, key_id: str, algorithm: str) -> jwt.PyJWK | None:
        if self._age() > KEPT_SECONDS:
            return None
        found = self._keys.get(key_id)
        if not key_id and len(self._keys) == 1:
            (found,) = self._keys.values()
        # Pinned: a key is used for the algorithm it was published for, never for one that the token picks.
        return found if found is not None and found.algorithm_name == algorithm else None

    def _age(self) -> float:
        return float("inf") if self._fetched_at is None else time.monotonic() - self._fetched_at

    def _may_try(self) -> bool:
        return self._tried_at is None or time.monotonic() - self._tried_at >= REFETCH_SECONDS

    async def _refreshed(self) -> None:
        """Wait for a fetch that is under way, or for one of our own where the last is long enough ago."""
        if self._fetching is None and self._may_try():
            self._begin()
        if self._fetching is not None:
            # A caller that leaves must not end the fetch for the others.
            await asyncio.shield(self._fetching)

    def _begin(self) -> None:
        if self._fetching is None:
            self._tried_at = time.monotonic()
            self._fetching = asyncio.create_task(self._fetch(), name="keys of the identity provider")

    async def _fetch(self) -> None:
        try:
            keys = await asyncio.wait_for(self._read(), FETCH_SECONDS_MAX)
            if _published(keys) != _published(self._keys):
                self._edition += 1
            self._keys, self._fetched_at = keys, time.monotonic()
            if not self._keys:
                raise ValueError("none of them is of a kind that is allowed here")
            self._failing = False
            fetches_total.labels("fetched").inc()
            logger.info("the identity provider has %d keys", len(self._keys), extra={"issuer": self._issuer})
        except (httpx.HTTPError, ValueError, TypeError, KeyError, TimeoutError, ServiceError, jwt.PyJWTError) as error:
            self._failing = True
            fetches_total.labels("failed").inc()
            logger.warning("the keys of the identity provider cannot be read: %s", error or type(error).__name__,
                           extra={"issuer": self._issuer})
        finally:
            self._fetching = None

    async def _read(self) -> dict[str, jwt.PyJWK]:
        async with httpx.AsyncClient(
            follow_redirects=False, timeout=FETCH_SECONDS_MAX, verify=ssl.create_default_context()
        ) as client:
            url = self._jwks_url or await self._discovered(client)
            listed = (await _document(client, url))["keys"]
        if not isinstance(listed, list) or len(listed) > KEYS_MAX:
            raise ValueError(f"{url} lists no keys, or more than {KEYS_MAX}")
        found = [key for entry in listed if (key := _usable(entry, self._algorithms)) is not None]
        return {key.key_id or "": key for key in found}

    async def _discovered(self, client: httpx.AsyncClient) -> str:
        """Return where the issuer's own document says that its keys are."""
        told = await _document(client, f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
        if told.get("issuer") != self._issuer:
            raise ValueError(f"the document at the issuer is of another one: {str(told.get('issuer'))[:200]!r}")
        url = checked_url(str(told["jwks_uri"]))
        if not same_host(url, self._issuer):
            raise ValueError(f"the keys are on another host, {url[:200]!r}; where that is meant, set "
                             "SOURCIER_GATEWAY_OIDC_JWKS_URL to it")
        return url


async def _document(client: httpx.AsyncClient, url: str) -> dict[str, Any]:
    async with client.stream("GET", url, headers={"accept": "application/json"}) as response:
        if response.status_code != httpx.codes.OK:
            raise ValueError(f"{url} answered {response.status_code}")
        body = b""
        async for piece in response.aiter_bytes():
            body += piece
            if len(body) > DOCUMENT_BYTES_MAX:
                raise ValueError(f"{url} is larger than {DOCUMENT_BYTES_MAX:,} bytes")
    told = json.loads(body)
    if not isinstance(told, dict):
        raise TypeError(f"{url} is no JSON object")
    return told


def _published(keys: Mapping[str, jwt.PyJWK]) -> dict[str, tuple[str, bytes]]:
    """Return what tells one set of keys from another: the objects are new at each fetch."""
    return {
        key_id: (key.algorithm_name, key.key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo))
        for key_id, key in keys.items()
    }


def _usable(entry: Any, algorithms: tuple[str, ...]) -> jwt.PyJWK | None:
    """Return a published key that signs with an algorithm that is allowed; None for any other."""
    if not isinstance(entry, dict) or entry.get("use", "sig") != "sig" or entry.get("kty") not in {"RSA", "EC", "OKP"}:
        return None
    try:
        key = jwt.PyJWK(entry)
    except jwt.PyJWTError:
        return None
    if key.algorithm_name not in algorithms:
        return None
    if isinstance(key.key, RSAPublicKey) and key.key.key_size < RSA_BITS_MIN:
        return None
    return key
