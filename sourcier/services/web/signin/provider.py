"""The identity provider, as OpenID Connect has it: its addresses, and codes and refresh tokens made into tokens."""

from __future__ import annotations

import asyncio
import base64
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

import httpx

from sourcier.services.chassis.errors import FailedPrecondition, PermissionDenied, Unavailable

DISCOVERY = "/.well-known/openid-configuration"
SECONDS_MAX = 10.0
BELIEVED_SECONDS = 3600.0
"""How long the provider's addresses are taken for what they were."""
DEFAULT_TOKEN_SECONDS = 300.0
"""Where a provider does not say how long its token is good."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """How to sign in here, as the gateway says."""

    issuer: str
    client_id: str
    scope: str
    audience: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What a person shows to the gateway, and what gets the next one."""

    bearer: str
    refresh: str
    expires_at: float


class Provider:
    """One identity provider; to be closed."""

    def __init__(self, *, client_secret: str) -> None:
        """Keep the secret of a confidential client; empty for a public one."""
        self._client_secret = client_secret
        # Proxies of the environment count: an office's provider may be outside.
        self._http = httpx.AsyncClient(timeout=SECONDS_MAX, follow_redirects=False)
        self._known: dict[str, tuple[float, dict[str, Any]]] = {}
        self._looking = asyncio.Lock()

    async def close(self) -> None:
        """Close the connections."""
        await self._http.aclose()

    async def authorization_url(
        self, terms: Terms, *, redirect_uri: str, state: str, nonce: str, challenge: str
    ) -> str:
        """Return where the browser is sent to sign in."""
        endpoint = await self._endpoint(terms, "authorization_endpoint")
        asked = {
            "response_type": "code", "client_id": terms.client_id, "redirect_uri": redirect_uri,
            "scope": terms.scope or "openid profile", "state": state, "nonce": nonce, "code_challenge": challenge,
            "code_challenge_method": "S256", **({"audience": terms.audience} if terms.audience else {}),
        }
        return f"{endpoint}{'&' if urlsplit(endpoint).query else '?'}{urlencode(asked)}"

    async def exchanged(self, terms: Terms, *, code: str, verifier: str, nonce: str, redirect_uri: str) -> Tokens:
        """Return the tokens that a code stands for; raise PermissionDenied for those of another sign-in."""
        found = await self._answered(terms, {
            "grant_type": "authorization_code", "code": code, "redirect_uri": redirect_uri, "code_verifier": verifier,
        })
        # OpenID Connect Core, 3.1.3.7. A provider that was not asked for `openid` gives no identity token.
        if "id_token" in found and not _is_of(str(found["id_token"]), nonce):
            raise PermissionDenied("the identity provider answered another sign-in; begin again")
        return _read(found)

    async def refreshed(self, terms: Terms, tokens: Tokens) -> Tokens:
        """Return the next tokens."""
        found = _read(await self._answered(
            terms, {"grant_type": "refresh_token", "refresh_token": tokens.refresh}
        ))
        return found if found.refresh else Tokens(
            bearer=found.bearer, refresh=tokens.refresh, expires_at=found.expires_at
        )

    async def end_session_url(self, terms: Terms) -> str:
        """Return where a browser ends its session with the provider too; empty where it has no such place."""
        known = await self._configuration(terms)
        return str(known.get("end_session_endpoint", ""))

    async def revoke(self, terms: Terms, tokens: Tokens) -> bool:
        """Have the provider forget a session's tokens (RFC 7009); return whether it has a place for that.

        A copy of the cookie can then be renewed no more. Raises Unavailable, PermissionDenied where it did not.
        """
        if not (await self._configuration(terms)).get("revocation_endpoint"):
            return False
        endpoint = await self._endpoint(terms, "revocation_endpoint")
        for kind, token in (("refresh_token", tokens.refresh), ("access_token", tokens.bearer)):
            if not token:
                continue
            try:
                answer = await self._http.post(endpoint, data=self._signed(
                    terms, {"token": token, "token_type_hint": kind}
                ))
            except httpx.HTTPError as error:
                raise Unavailable("the identity provider does not answer; try again in a moment") from error
            # Some revoke no access tokens of theirs, and say so: without the other they end by themselves.
            if answer.status_code != 200 and kind == "refresh_token":
                raise PermissionDenied(f"the identity provider revoked nothing: it answered {answer.status_code}")
        return True

    def _signed(self, terms: Terms, form: Mapping[str, str]) -> dict[str, str]:
        """Return a form with what names this client."""
        return {**form, "client_id": terms.client_id,
                **({"client_secret": self._client_secret} if self._client_secret else {})}

    async def _answered(self, terms: Terms, form: Mapping[str, str]) -> dict[str, Any]:
        endpoint = await self._endpoint(terms, "token_endpoint")
        try:
            answer = await self._http.post(endpoint, data=self._signed(terms, form))
            found = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise Unavailable("the identity provider does not answer; try again in a moment") from error
        if answer.status_code != 200 or not isinstance(found, dict):
            raise PermissionDenied("the identity provider did not confirm the sign-in; sign in again")
        return found

    async def _endpoint(self, terms: Terms, name: str) -> str:
        endpoint = (await self._configuration(terms)).get(name)
        if not isinstance(endpoint, str) or not endpoint.startswith(("https://", "http://")):
            raise FailedPrecondition(f"the identity provider names no {name}; SOURCIER's issuer may be mistyped")
        return endpoint

    async def _configuration(self, terms: Terms) -> dict[str, Any]:
        async with self._looking:
            until, known = self._known.get(terms.issuer, (0.0, {}))
            if time.monotonic() < until:
                return known
            known = await self._discovered(terms.issuer)
            self._known = {terms.issuer: (time.monotonic() + BELIEVED_SECONDS, known)}
            return known

    async def _discovered(self, issuer: str) -> dict[str, Any]:
        try:
            answer = await self._http.get(issuer.rstrip("/") + DISCOVERY)
            found = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise Unavailable("the identity provider does not answer; try again in a moment") from error
        # OpenID Connect Discovery 1.0, 4.3: one that names another issuer is another one's.
        if not isinstance(found, dict) or str(found.get("issuer", "")).rstrip("/") != issuer.rstrip("/"):
            raise FailedPrecondition(f"what is at {issuer} is no identity provider, or calls itself otherwise")
        return found


def _read(found: Mapping[str, Any]) -> Tokens:
    """Return the tokens in an answer; raise FailedPrecondition where none of them can be checked."""
    bearer = _bearer(found)
    if not bearer:
        raise FailedPrecondition("the identity provider gave no token that the gateway could check")
    seconds = found.get("expires_in", DEFAULT_TOKEN_SECONDS)
    lasting = float(seconds) if isinstance(seconds, int | float) else DEFAULT_TOKEN_SECONDS
    return Tokens(bearer=bearer, refresh=str(found.get("refresh_token") or ""), expires_at=time.time() + lasting)


def _is_of(token: str, nonce: str) -> bool:
    """Return whether an identity token, which came from the provider itself, is of the sign-in with this nonce."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return hmac.compare_digest(str(claims["nonce"]).encode(), nonce.encode())
    except (LookupError, ValueError, TypeError):
        return False


def _bearer(found: Mapping[str, Any]) -> str:
    """Return the token that can be checked: the access token where it is a JWT, else the identity token."""
    for name in ("access_token", "id_token"):
        token = found.get(name)
        if isinstance(token, str) and is_jwt(token):
            return token
    return ""


def is_jwt(token: str) -> bool:
    """Return whether a token has a JWT's three parts, as no API key has."""
    return token.count(".") == 2
