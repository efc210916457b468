"""Sessions of browsers: a cookie in, `authorization` for the gateway out; renewed while the provider allows it."""

from __future__ import annotations

import asyncio
import hashlib
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from prometheus_client import Counter
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sourcier.services.chassis.errors import ServiceError
from sourcier.services.web.signin.provider import Provider, Terms, Tokens
from sourcier.services.web.signin.sealing import Seal

logger = logging.getLogger(__name__)

COOKIE = "__Host-sourcier-session"
EARLY_SECONDS = 30.0
"""A token that ends so soon is renewed before it is used."""
REMEMBERED_SECONDS = 60.0
"""How long a renewal answers requests that came with the cookie before: a refresh token may be good for one use."""
ATTRIBUTES = "Path=/; Secure; HttpOnly; SameSite=Lax"

renewals_total = Counter(
    "sourcier_session_renewals_total", "Sessions renewed with the identity provider, by outcome.", ["outcome"]
)
revocations_total = Counter(
    "sourcier_session_revocations_total", "Sessions that were signed out, by what the identity provider did: revoked; "
    "unknown where it has no such place; failed.", ["outcome"],
)


class Sessions:
    """Makes, reads and renews sessions."""

    def __init__(self, seal: Seal, provider: Provider, terms: Callable[[], Awaitable[Terms | None]], *,
                 seconds_max: float) -> None:
        """Keep what seals cookies, and how long a session may last without signing in again."""
        self._seal = seal
        self._provider = provider
        self._terms = terms
        self._seconds_max = seconds_max
        self._renewing: dict[str, tuple[float, asyncio.Future[Tokens | None]]] = {}

    def cookies(self, tokens: Tokens, *, began_at: float) -> list[str]:
        """Return the values of `Set-Cookie` that begin a session, or go on with it."""
        left = began_at + self._seconds_max - time.time()
        sealed = self._seal.sealed({
            "bearer": tokens.bearer, "refresh": tokens.refresh, "expires_at": tokens.expires_at, "began_at": began_at,
        }, seconds=left)
        kept = [f"{name}={value}; {ATTRIBUTES}; Max-Age={max(int(left), 0)}" for name, value in sealed.items()]
        return [*kept, *(over(name) for name in self._seal.names if name not in sealed)]

    def ended(self) -> list[str]:
        """Return the values of `Set-Cookie` that end a session."""
        return [over(name) for name in self._seal.names]

    def opened(self, headers: Headers) -> dict[str, Any] | None:
        """Return what the cookie of a request holds; None where there is no session."""
        return self._seal.opened(cookies_of(headers))

    async def current(self, held: dict[str, Any]) -> Tokens | None:
        """Return a session's tokens, renewed where they end; None where it is over."""
        tokens = Tokens(bearer=held["bearer"], refresh=held["refresh"], expires_at=held["expires_at"])
        if tokens.expires_at - EARLY_SECONDS > time.time():
            return tokens
        if not tokens.refresh:
            return tokens if tokens.expires_at > time.time() else None
        return await self._renewed(tokens)

    async def revoke(self, held: dict[str, Any], terms: Terms) -> None:
        """Have the provider forget a session that ends, so that no copy of its cookie is renewed.

        Signing out does not wait for a provider that is away: it goes on without, which is logged and counted.
        """
        given = Tokens(bearer=held["bearer"], refresh=held["refresh"], expires_at=held["expires_at"])
        # The request to sign out may have renewed it on its way here.
        tokens = await self.current(held) or given
        self._renewing.pop(_digest(given), None)
        try:
            outcome = "revoked" if await self._provider.revoke(terms, tokens) else "unknown"
        except ServiceError as error:
            logger.warning("a session that was signed out lasts with the identity provider: %s", error.message)
            outcome = "failed"
        revocations_total.labels(outcome).inc()

    async def _renewed(self, tokens: Tokens) -> Tokens | None:
        """Renew once, for all requests that come with the same tokens at about the same time."""
        now = time.monotonic()
        self._renewing = {key: entry for key, entry in self._renewing.items() if entry[0] > now}
        key = _digest(tokens)
        if key not in self._renewing:
            self._renewing[key] = now + REMEMBERED_SECONDS, asyncio.ensure_future(self._renew(tokens))
        # Shielded: a request that leaves must not take the renewal from the next one.
        return await asyncio.shield(self._renewing[key][1])

    async def _renew(self, tokens: Tokens) -> Tokens | None:
        terms = await self._terms()
        try:
            found = None if terms is None else await self._provider.refreshed(terms, tokens)
        except ServiceError as error:
            logger.info("a session was not renewed: %s", error.message)
            renewals_total.labels("refused").inc()
            # It may be good for some seconds yet, and the provider back by then.
            return tokens if tokens.expires_at > time.time() else None
        renewals_total.labels("renewed").inc()
        return found


class WithSessions:
    """Puts what a session holds before the gateway: a layer between the guard and the routes."""

    def __init__(self, application: ASGIApp, sessions: Sessions) -> None:
        """Keep the layer below."""
        self._application = application
        self._sessions = sessions

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, with `authorization` where its cookie holds one and it shows none itself."""
        headers = Headers(scope=scope)
        held = None if "authorization" in headers else self._sessions.opened(headers)
        if held is None:
            await self._application(scope, receive, send)
            return
        tokens = await self._sessions.current(held)
        changed: list[str] = []
        if tokens is None:
            changed = self._sessions.ended()
        else:
            scope["headers"] = [*scope["headers"], (b"authorization", f"Bearer {tokens.bearer}".encode("latin-1"))]
            if tokens.bearer != held["bearer"]:
                changed = self._sessions.cookies(tokens, began_at=held["began_at"])

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start" and changed:
                headers = MutableHeaders(raw=message.setdefault("headers", []))
                if "set-cookie" not in headers:  # a route that ends the session knows better
                    for cookie in changed:
                        headers.append("set-cookie", cookie)
            await send(message)

        await self._application(scope, receive, sending)


def _digest(tokens: Tokens) -> str:
    return hashlib.sha256(tokens.refresh.encode()).hexdigest()


def cookies_of(headers: Headers) -> dict[str, str]:
    """Return a request's cookies, those of this service alone."""
    found: dict[str, str] = {}
    for header in headers.getlist("cookie"):
        for part in header.split(";"):
            name, _, value = part.strip().partition("=")
            if name.startswith("__Host-sourcier"):
                found.setdefault(name, value)
    return found


def over(name: str) -> str:
    """Return the value of `Set-Cookie` that removes a cookie."""
    return f"{name}=; {ATTRIBUTES}; Max-Age=0"
