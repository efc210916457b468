"""`/auth/…`: to the identity provider, back from it, out; and who is signed in."""

from __future__ import annotations

import base64
import hashlib
import hmac
import logging
import secrets
import time
from contextlib import suppress
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

from sourcier.gateway.v1 import access_pb2
from sourcier.services.chassis.errors import FailedPrecondition, InvalidArgument, PermissionDenied, ServiceError
from sourcier.services.web.bodies import read_object
from sourcier.services.web.callers import Caller
from sourcier.services.web.contract import named
from sourcier.services.web.gateway import Gateway
from sourcier.services.web.refusals import Refusal
from sourcier.services.web.settings import WebSettings
from sourcier.services.web.signin.provider import Provider, Terms, Tokens, is_jwt
from sourcier.services.web.signin.sealing import Seal, TooManyParts
from sourcier.services.web.signin.sessions import ATTRIBUTES, Sessions, cookies_of, over

logger = logging.getLogger(__name__)

GET_SIGN_IN, WHO_AM_I = named("AccessService", "GetSignIn"), named("AccessService", "WhoAmI")
ATTEMPT_COOKIE = "__Host-sourcier-signin"
ATTEMPT_SECONDS = 600.0
"""How long a person may take at the identity provider."""
KEY_SECONDS = 12 * 3600.0
"""How long a session lasts that began with an API key."""
CALLBACK = "/auth/callback"
SECONDS_MAX = 10.0
BODY_BYTES_MAX = 32 * 1024


class TermsOfGateway:
    """How to sign in, as the gateway says; asked each time, for it is the gateway's to change."""

    def __init__(self, gateway: Gateway) -> None:
        """Keep the gateway."""
        self._gateway = gateway

    async def read(self) -> tuple[bool, Terms | None]:
        """Return whether accounts are asked for, and of which identity provider; None where of none."""
        told: access_pb2.GetSignInResponse = await self._gateway.call(
            GET_SIGN_IN, access_pb2.GetSignInRequest(), caller=Caller(), seconds=SECONDS_MAX
        )
        if not told.issuer or not told.client_id:
            return told.required, None
        return told.required, Terms(
            issuer=told.issuer, client_id=told.client_id, scope=told.scope, audience=told.audience
        )

    async def terms(self) -> Terms | None:
        """Return the identity provider."""
        return (await self.read())[1]


class SignIn:
    """The routes."""

    def __init__(
        self, gateway: Gateway, settings: WebSettings, provider: Provider, sessions: Sessions, terms: TermsOfGateway
    ) -> None:
        """Keep what signing in takes."""
        self._gateway = gateway
        self._settings = settings
        self._provider = provider
        self._sessions = sessions
        self._terms = terms
        self._attempts = Seal(settings.session_secret.get_secret_value(), name=ATTEMPT_COOKIE)

    async def login(self, request: Request) -> Response:
        """Send the browser to the identity provider, and remember what it was sent with."""
        terms = await self._terms.terms()
        if terms is None:
            raise FailedPrecondition("this installation has no identity provider; sign in with an API key")
        verifier, state, nonce = (secrets.token_urlsafe(32) for _ in range(3))
        challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
        url = await self._provider.authorization_url(
            terms, redirect_uri=self._redirect_uri(request), state=state, nonce=nonce, challenge=challenge
        )
        response = _to(url)
        kept = {
            "verifier": verifier, "state": state, "nonce": nonce, "issuer": terms.issuer, "place": _place(request),
        }
        for name, value in self._attempts.sealed(kept, seconds=ATTEMPT_SECONDS).items():
            response.headers.append("set-cookie", f"{name}={value}; {ATTRIBUTES}; Max-Age={int(ATTEMPT_SECONDS)}")
        return response

    async def callback(self, request: Request) -> Response:
        """Begin a session with the code that the provider gave; what went wrong is told at the page."""
        try:
            attempt = self._attempts.opened(cookies_of(request.headers))
            state = request.query_params.get("state", "")
            if attempt is None or not hmac.compare_digest(attempt["state"].encode(), state.encode()):
                raise PermissionDenied("this sign-in was not begun here, or took too long; begin again")
            if "code" not in request.query_params:
                raise PermissionDenied("the identity provider did not let you in; ask whoever runs it")
            tokens = await self._exchanged(request, attempt)
            response = _to("/" + attempt["place"])
            for cookie in self._sessions.cookies(tokens, began_at=time.time()):
                response.headers.append("set-cookie", cookie)
        except (ServiceError, Refusal, TooManyParts) as error:
            logger.warning("a sign-in failed: %s", error or "the tokens are longer than cookies hold")
            response = _to("/#/sign-in-failed")
        for name in self._attempts.names:
            response.headers.append("set-cookie", over(name))
        return response

    async def key(self, request: Request) -> Response:
        """Begin a session with an API key, where a person has one and no identity provider is there."""
        body = await read_object(request, bytes_max=BODY_BYTES_MAX, seconds_max=SECONDS_MAX)
        key = body.get("key")
        if not isinstance(key, str) or not key.isascii() or not key.isprintable() or not 0 < len(key) <= 4_096:
            raise InvalidArgument("key is no API key", field="key")
        who = await self._who(key)
        tokens = Tokens(bearer=key, refresh="", expires_at=time.time() + KEY_SECONDS)
        response = JSONResponse(who)
        for cookie in self._sessions.cookies(tokens, began_at=time.time()):
            response.headers.append("set-cookie", cookie)
        return response

    async def session(self, request: Request) -> Response:
        """Tell whether signing in is needed, how, and who is signed in."""
        required, terms = await self._terms.read()
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        who = None
        if scheme.lower() == "bearer" and bearer:
            try:
                who = await self._who(bearer)
            except Refusal:
                who = None
        return JSONResponse({"required": required, "provider": terms is not None, "who": who})

    async def logout(self, request: Request) -> Response:
        """End the session here, and tell where to end it with the provider, where it began there."""
        held = self._sessions.opened(request.headers)
        terms = None if held is None or not is_jwt(held["bearer"]) else await self._terms.terms()
        url = ""
        if held is not None and terms is not None:
            await self._sessions.revoke(held, terms)
            with suppress(ServiceError):
                url = await self._provider.end_session_url(terms)
        response = JSONResponse({"end_session": url})
        for cookie in self._sessions.ended():
            response.headers.append("set-cookie", cookie)
        return response

    async def _exchanged(self, request: Request, attempt: dict[str, Any]) -> Tokens:
        terms = await self._terms.terms()
        if terms is None:
            raise FailedPrecondition("this installation has no identity provider any more")
        # Another provider must not be handed this one's code, nor be taken for it (RFC 9207).
        if {attempt["issuer"], request.query_params.get("iss", terms.issuer)} != {terms.issuer}:
            raise PermissionDenied("another identity provider answered than the one that was asked; begin again")
        return await self._provider.exchanged(
            terms, code=request.query_params["code"], verifier=attempt["verifier"], nonce=attempt["nonce"],
            redirect_uri=self._redirect_uri(request),
        )

    async def _who(self, bearer: str) -> dict[str, Any]:
        """Return who the gateway takes a token for; raise its Refusal."""
        caller = Caller((("authorization", f"Bearer {bearer}"),))
        told: access_pb2.WhoAmIResponse = await self._gateway.call(
            WHO_AM_I, access_pb2.WhoAmIRequest(), caller=caller, seconds=SECONDS_MAX
        )
        role = access_pb2.AccountRole.Name(told.role).removeprefix("ACCOUNT_ROLE_").lower()
        return {"name": told.name, "tenant": told.tenant, "groups": list(told.groups), "role": role}

    def _redirect_uri(self, request: Request) -> str:
        return self._settings.base_url(request.headers) + CALLBACK


def _place(request: Request) -> str:
    """Return where in the page to come back to: behind the `#`, so that no address of another site can be meant."""
    place = request.query_params.get("place", "#/")
    return place if place.startswith("#/") and place.isascii() and place.isprintable() and len(place) <= 500 else "#/"


def _to(url: str) -> Response:
    return RedirectResponse(url, status_code=303, headers={"cache-control": "no-store"})
