"""An identity provider reduced to its two documents, and tokens of it."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import rsa

AUDIENCE = "sourcier"
TOKEN_SECONDS = 24 * 3600


@dataclass
class Issuer:
    """A provider with one key."""

    url: str = ""
    key: rsa.RSAPrivateKey = field(default_factory=lambda: rsa.generate_private_key(65537, 2048))

    def token(self, *, subject: str, groups: list[str]) -> str:
        """Return a token of somebody."""
        now = int(time.time())
        told = {"iss": self.url, "aud": AUDIENCE, "sub": subject, "groups": groups, "iat": now,
                "exp": now + TOKEN_SECONDS}
        return jwt.encode(told, self.key, algorithm="RS256", headers={"kid": "first"})

    async def _answer(self, request: web.Request) -> web.Response:
        if request.path.endswith("openid-configuration"):
            return web.json_response({"issuer": self.url, "jwks_uri": f"{self.url}/keys"})
        published: dict[str, Any] = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self.key.public_key()))
        return web.json_response({"keys": [published | {"kid": "first", "alg": "RS256", "use": "sig"}]})


@asynccontextmanager
async def issuing() -> AsyncIterator[Issuer]:
    """Serve an issuer on this machine."""
    issuer = Issuer()
    application = web.Application()
    application.router.add_get("/{tail:.*}", issuer._answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    issuer.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    try:
        yield issuer
    finally:
        await runner.cleanup()
