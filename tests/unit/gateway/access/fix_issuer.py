"""An identity provider reduced to its two documents, which a test can change; and tokens of any kind."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa

AUDIENCE = "sourcier"
RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
OTHER_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=2048)
SMALL_RSA_KEY = rsa.generate_private_key(public_exponent=65537, key_size=1024)
EC_KEY = ec.generate_private_key(ec.SECP256R1())


def published(key: Any, key_id: str, *, algorithm: str = "RS256", **more: Any) -> dict[str, Any]:
    """Return a key as a JWKS lists it."""
    kind = jwt.algorithms.ECAlgorithm if algorithm.startswith("ES") else jwt.algorithms.RSAAlgorithm
    return {**json.loads(kind.to_jwk(key.public_key())), "kid": key_id, "alg": algorithm, "use": "sig", **more}


def public_pem(key: Any) -> bytes:
    """Return a public key as the secret of an attack."""
    return bytes(key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ))


@dataclass
class Issuer:
    """What the provider answers, and how often it was asked."""

    url: str = ""
    keys: list[dict[str, Any]] = field(default_factory=lambda: [published(RSA_KEY, "first")])
    document: dict[str, Any] = field(default_factory=dict)
    status: int = 200
    padding: str = ""
    asked: list[str] = field(default_factory=list)

    def token(self, *, key: Any = RSA_KEY, algorithm: str = "RS256", header: Any = None, **claims: Any) -> str:
        """Return a token that is right but for what the test says; a claim of None is left out."""
        now = time.time()
        told = {"iss": self.url, "aud": AUDIENCE, "sub": "alice", "iat": now, "exp": now + 60} | claims
        return jwt.encode({name: value for name, value in told.items() if value is not None}, key,
                          algorithm=algorithm, headers={"kid": "first"} | (header or {}))

    async def _answer(self, request: web.Request) -> web.Response:
        self.asked.append(request.path)
        if request.path.endswith("openid-configuration"):
            told: dict[str, Any] = {"issuer": self.url, "jwks_uri": f"{self.url}/keys"} | self.document
        else:
            told = {"keys": self.keys, "padding": self.padding}
        return web.json_response(told, status=self.status, headers={"location": f"{self.url}/elsewhere"})


@asynccontextmanager
async def issuing() -> AsyncIterator[Issuer]:
    """Serve an issuer on this machine."""
    issuer = Issuer()
    application = web.Application()
    application.router.add_get("/{tail:.*}", issuer._answer)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    issuer.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield issuer
    finally:
        await runner.cleanup()


def forged_header(token: str, **header: Any) -> str:
    """Return a token with another header, its signature as it was."""
    _, claims, signature = token.split(".")
    encoded = base64.urlsafe_b64encode(json.dumps(header).encode()).rstrip(b"=").decode()
    return f"{encoded}.{claims}.{signature}"
