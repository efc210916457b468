"""Signing in with a browser, at a provider that checks what it is sent: the flow, the session, renewals, attacks."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import secrets
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import pytest_asyncio
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route, Router

from sourcier.services.web.gateway import Gateway
from sourcier.services.web.guard import Guard
from sourcier.services.web.listening import HttpServer
from sourcier.services.web.settings import WebSettings
from sourcier.services.web.signin.provider import Provider, Terms
from sourcier.services.web.signin.routes import SignIn, TermsOfGateway
from sourcier.services.web.signin.sealing import PART_CHARACTERS_MAX, Seal, TooManyParts
from sourcier.services.web.signin.sessions import COOKIE, Sessions, WithSessions


@dataclass
class Stub:
    """An identity provider, as far as the flow needs one."""

    codes: dict[str, dict[str, str]] = field(default_factory=dict)
    refresh_tokens: set[str] = field(default_factory=set)
    token_seconds: int = 3600
    renewals: int = 0
    size: int = 10
    opaque: bool = False
    issuer: str = ""
    away: bool = False
    revokes: bool = True
    nonce: str | None = None
    """What an identity token says, whatever was asked for."""

    async def configuration(self, request: Request) -> Response:
        base = str(request.base_url).rstrip("/")
        return JSONResponse({
            "issuer": self.issuer or base, "authorization_endpoint": f"{base}/authorize",
            "token_endpoint": f"{base}/token", "end_session_endpoint": f"{base}/end",
            **({"revocation_endpoint": f"{base}/revoke"} if self.revokes else {}),
        })

    async def revoke(self, request: Request) -> Response:
        if self.away:
            return Response(status_code=503)
        self.refresh_tokens.discard(str((await request.form())["token"]))
        return Response()

    async def authorize(self, request: Request) -> Response:
        asked = dict(request.query_params)
        assert (asked["response_type"], asked["code_challenge_method"]) == ("code", "S256")
        code = secrets.token_urlsafe(8)
        self.codes[code] = asked
        return RedirectResponse(f"{asked['redirect_uri']}?code={code}&state={asked['state']}")

    async def token(self, request: Request) -> Response:
        if self.away:
            return Response(status_code=503)
        form = dict(await request.form())
        if form["grant_type"] == "refresh_token":
            if form["refresh_token"] not in self.refresh_tokens:
                return JSONResponse({"error": "invalid_grant"}, status_code=400)
            self.refresh_tokens.remove(str(form["refresh_token"]))  # each is good once
            self.renewals += 1
            return self._tokens("")
        asked = self.codes.pop(str(form["code"]), None)
        digest = hashlib.sha256(str(form.get("code_verifier", "")).encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if asked is None or asked["code_challenge"] != challenge or asked["redirect_uri"] != form["redirect_uri"]:
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        return self._tokens(asked["nonce"] if self.nonce is None else self.nonce)

    def _tokens(self, nonce: str) -> Response:
        refresh = secrets.token_urlsafe(8)
        self.refresh_tokens.add(refresh)
        jwt = f"head.{secrets.token_urlsafe(self.size)}.signature"
        told = base64.urlsafe_b64encode(json.dumps({"nonce": nonce}).encode()).decode().rstrip("=")
        return JSONResponse({
            "access_token": "opaque" if self.opaque else jwt, "id_token": f"head.{told}.signature",
            "expires_in": self.token_seconds,
            "refresh_token": refresh,
        })


@asynccontextmanager
async def listening(application: Any) -> AsyncIterator[str]:
    stopping = asyncio.Event()
    async with HttpServer(application, listen="127.0.0.1:0", grace_seconds=1, connections_max=64) as server:
        running = asyncio.create_task(server.run(stopping))
        yield f"http://127.0.0.1:{server.port}"
        stopping.set()
        await running


@dataclass
class Browser:
    """Keeps cookies as a browser does, the secure ones of a trusted address included."""

    http: httpx.AsyncClient
    base: str
    cookies: dict[str, str] = field(default_factory=dict)

    async def get(self, url: str, method: str = "GET", **options: Any) -> httpx.Response:
        url = url if url.startswith("http") else self.base + url
        headers = dict(options.pop("headers", {}))
        if url.startswith(self.base) and self.cookies:
            headers["cookie"] = "; ".join(f"{name}={value}" for name, value in self.cookies.items())
        answer = await self.http.request(method, url, headers=headers, **options)
        for line in answer.headers.get_list("set-cookie"):
            assert "HttpOnly" in line
            assert "Secure" in line
            assert "Path=/" in line
            assert "Domain" not in line
            name, _, rest = line.partition("=")
            self.cookies[name] = rest.partition(";")[0]
            if "Max-Age=0" in line:
                del self.cookies[name]
        return answer

    async def sign_in(self, place: str = "#/documents") -> httpx.Response:
        sent = await self.get("/auth/login", params={"place": place})
        assert sent.status_code == 303, sent.text
        back = await self.get(sent.headers["location"])
        return await self.get(back.headers["location"])

    async def bearer(self) -> str:
        return str((await self.get("/echo")).json()["authorization"])


@dataclass
class Installation:
    stub: Stub
    browser: Browser
    http: httpx.AsyncClient
    base: str
    issuer: str

    def another(self) -> Browser:
        return Browser(self.http, self.base)


@pytest_asyncio.fixture
async def installed(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Installation]:
    stub = Stub()
    async with AsyncExitStack() as opened:
        issuer = await opened.enter_async_context(listening(Starlette(routes=[
            Route("/.well-known/openid-configuration", stub.configuration), Route("/authorize", stub.authorize),
            Route("/token", stub.token, methods=["POST"]), Route("/revoke", stub.revoke, methods=["POST"]),
        ])))
        terms = Terms(issuer=issuer, client_id="page", scope="openid", audience="sourcier")

        async def read(_: TermsOfGateway) -> tuple[bool, Terms]:
            return True, terms

        monkeypatch.setattr(TermsOfGateway, "read", read)
        settings = WebSettings(gateway_url="127.0.0.1:1")
        gateway = await opened.enter_async_context(Gateway(settings.gateway_url))
        provider, asked = Provider(client_secret=""), TermsOfGateway(gateway)
        opened.push_async_callback(provider.close)
        sessions = Sessions(Seal("secret", name=COOKIE), provider, asked.terms, seconds_max=3600)
        routes = SignIn(gateway, settings, provider, sessions, asked)

        async def echo(request: Request) -> Response:
            return JSONResponse({"authorization": request.headers.get("authorization", "")})

        router = Router([
            Route("/auth/login", routes.login), Route("/auth/callback", routes.callback), Route("/echo", echo),
            Route("/auth/session", routes.session), Route("/auth/logout", routes.logout, methods=["POST"]),
            Route("/auth/key", routes.key, methods=["POST"]),
        ])
        base = await opened.enter_async_context(listening(
            Guard(WithSessions(router, sessions), hosts=frozenset(), origins=frozenset())
        ))
        http = await opened.enter_async_context(httpx.AsyncClient(trust_env=False, timeout=30))
        yield Installation(stub, Browser(http, base), http, base, issuer)


async def test_a_person_signs_in_and_out(installed: Installation) -> None:
    browser = installed.browser
    assert await browser.bearer() == ""
    done = await browser.sign_in()
    assert (done.status_code, done.headers["location"]) == (303, "/#/documents")
    bearer = await browser.bearer()
    assert bearer.startswith("Bearer head.")
    assert await browser.bearer() == bearer, "nothing is renewed that need not be"
    assert set(browser.cookies) == {COOKIE}
    assert bearer.partition(".")[2] not in browser.cookies[COOKIE], "the browser's programs read no token"
    told = (await browser.get("/auth/session")).json()
    assert (told["required"], told["provider"]) == (True, True)
    out = await browser.get("/auth/logout", "POST", headers={"sec-fetch-site": "same-origin"})
    assert out.json()["end_session"].endswith("/end")
    assert browser.cookies == {}
    assert await browser.bearer() == ""


@pytest.mark.parametrize(("revokes", "away"), [(True, False), (False, False), (True, True)])
async def test_a_copied_cookie_is_renewed_no_more_once_its_owner_signed_out(
    installed: Installation, revokes: bool, away: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    installed.stub.token_seconds, installed.stub.revokes = 600, revokes
    await installed.browser.sign_in()
    thief = Browser(installed.http, installed.base, dict(installed.browser.cookies))
    installed.stub.away = away
    out = await installed.browser.get("/auth/logout", "POST", headers={"sec-fetch-site": "same-origin"})
    # Whatever the provider does, who signs out is signed out.
    assert out.status_code == 200
    assert installed.browser.cookies == {}
    installed.stub.away = False
    # What no provider takes back is the access token's own time.
    assert await thief.bearer()
    later = SimpleNamespace(time=lambda: time.time() + 700, monotonic=time.monotonic)
    monkeypatch.setattr("sourcier.services.web.signin.sessions.time", later)
    assert bool(await thief.bearer()) is not (revokes and not away)


async def test_what_a_program_shows_itself_comes_first(installed: Installation) -> None:
    await installed.browser.sign_in()
    shown = await installed.browser.get("/echo", headers={"authorization": "Bearer own"})
    assert shown.json()["authorization"] == "Bearer own"


async def test_a_session_is_renewed_once_for_all_that_ask_at_a_time(installed: Installation) -> None:
    browser = installed.browser
    installed.stub.token_seconds = 1
    await browser.sign_in()
    installed.stub.token_seconds = 3600
    held = dict(browser.cookies)
    others = [Browser(installed.http, installed.base, dict(held)) for _ in range(8)]
    bearers = {await bearer for bearer in asyncio.as_completed([other.bearer() for other in others])}
    assert len(bearers) == 1
    assert installed.stub.renewals == 1
    assert all(other.cookies[COOKIE] != held[COOKIE] for other in others), "each has the new session"
    assert await Browser(installed.http, installed.base, dict(held)).bearer() == bearers.pop(), "a page that was slow"
    assert installed.stub.renewals == 1


async def test_a_session_that_the_provider_ended_is_over(installed: Installation) -> None:
    installed.stub.token_seconds = 0
    await installed.browser.sign_in()
    installed.stub.refresh_tokens.clear()
    assert await installed.browser.bearer() == ""
    assert installed.browser.cookies == {}


async def test_a_provider_that_is_away_ends_no_session_that_is_good(installed: Installation) -> None:
    installed.stub.token_seconds = 20
    await installed.browser.sign_in()
    installed.stub.away = True
    assert (await installed.browser.bearer()).startswith("Bearer head.")


async def test_sign_ins_that_were_not_begun_here_are_refused(installed: Installation) -> None:
    browser, other = installed.browser, installed.another()
    sent = await browser.get("/auth/login")
    back = (await browser.get(sent.headers["location"])).headers["location"]
    for url in (back, back.replace("state=", "state=x"), f"{installed.base}/auth/callback?code=a&state=",
                f"{installed.base}/auth/callback"):
        answer = await other.get(url)  # without the cookie of the beginning
        assert answer.headers["location"] == "/#/sign-in-failed"
        assert other.cookies == {}
    for wrong in (back.split("&state=")[0] + "&state=other", f"{installed.base}/auth/callback?error=access_denied"):
        trying = Browser(installed.http, installed.base, dict(browser.cookies))
        assert (await trying.get(wrong)).headers["location"] == "/#/sign-in-failed"
        assert COOKIE not in trying.cookies
    assert (await browser.get(back)).headers["location"] == "/#/"
    again = Browser(installed.http, installed.base, {})
    assert (await again.get(back)).headers["location"] == "/#/sign-in-failed", "a code is good once"


@pytest.mark.parametrize("nonce", ["", "another", "é"])
async def test_an_identity_token_of_another_sign_in_begins_no_session(installed: Installation, nonce: str) -> None:
    installed.stub.nonce = nonce
    assert (await installed.browser.sign_in()).headers["location"] == "/#/sign-in-failed"
    assert installed.browser.cookies == {}


async def test_a_code_of_another_provider_is_handed_to_none(installed: Installation) -> None:
    browser = installed.browser
    back = (await browser.get((await browser.get("/auth/login")).headers["location"])).headers["location"]
    trying = Browser(installed.http, installed.base, dict(browser.cookies))
    refused = await trying.get(f"{back}&iss=https://evil.example")
    assert refused.headers["location"] == "/#/sign-in-failed"
    assert len(installed.stub.codes) == 1, "the code was not spent"
    assert (await browser.get(f"{back}&iss={installed.issuer}")).headers["location"] == "/#/"


async def test_a_session_of_before_is_not_gone_on_with(installed: Installation) -> None:
    """Fixation: somebody who left a session of their own in this browser does not read what the next one does."""
    left = installed.another()
    await left.sign_in()
    browser = Browser(installed.http, installed.base, dict(left.cookies))
    await browser.sign_in()
    assert browser.cookies[COOKIE] != left.cookies[COOKIE]
    assert await browser.bearer() != await left.bearer()


@pytest.mark.parametrize("place", [
    "https://evil.example", "//evil.example", "/\\evil.example", "javascript:alert(1)", "#/\r\nset-cookie: a=b",
    "#/" + "x" * 600, "", "#evil",
])
async def test_nobody_is_sent_to_another_site(installed: Installation, place: str) -> None:
    assert (await installed.browser.sign_in(place)).headers["location"] == "/#/"


async def test_cookies_that_were_changed_are_nobodys(installed: Installation) -> None:
    await installed.browser.sign_in()
    good = installed.browser.cookies[COOKIE]
    for bad in (good[:-4], good[4:], good[:50] + ("A" if good[50] != "A" else "B") + good[51:], "x", "", good + "AAAA",
                "é" * 50):
        headers = [(b"cookie", f"{COOKIE}={bad}".encode("latin-1"))]
        answer = await installed.http.get(f"{installed.base}/echo", headers=headers)
        assert answer.json()["authorization"] == ""


async def test_long_tokens_are_kept_in_parts(installed: Installation) -> None:
    installed.stub.size = 6_000
    await installed.browser.sign_in()
    assert len(installed.browser.cookies) > 1
    assert all(len(value) <= PART_CHARACTERS_MAX for value in installed.browser.cookies.values())
    assert len(await installed.browser.bearer()) > 6_000
    installed.stub.size = 10
    await installed.browser.sign_in()
    assert len(installed.browser.cookies) == 1, "the parts of the session before are gone"
    installed.stub.size = 60_000
    assert (await installed.browser.sign_in()).headers["location"] == "/#/sign-in-failed"


async def test_an_access_token_that_cannot_be_checked_gives_way_to_the_identity_token(installed: Installation) -> None:
    installed.stub.opaque = True
    await installed.browser.sign_in()
    assert (await installed.browser.bearer()).startswith("Bearer head.")


async def test_a_provider_that_calls_itself_otherwise_is_refused(installed: Installation) -> None:
    installed.stub.issuer = "https://another.example"
    assert (await installed.browser.get("/auth/login")).status_code == 400


async def test_other_sites_end_no_session(installed: Installation) -> None:
    answer = await installed.browser.get("/auth/logout", "POST", headers={"origin": "https://evil.example"})
    assert answer.status_code == 403


def test_a_seal_opens_what_it_sealed_and_nothing_else() -> None:
    seal, other = Seal("a", name=COOKIE), Seal("a", name="__Host-other")
    sealed = seal.sealed({"bearer": "x"}, seconds=60)
    assert seal.opened(sealed) == {"bearer": "x"}
    assert Seal("a", name=COOKIE).opened(sealed) == {"bearer": "x"}, "another replica reads it"
    assert Seal("b", name=COOKIE).opened(sealed) is None
    assert other.opened({"__Host-other": sealed[COOKIE]}) is None, "one purpose's is good for no other"
    assert seal.opened(seal.sealed({"bearer": "x"}, seconds=-1)) is None
    assert Seal("", name=COOKIE).opened(Seal("", name=COOKIE).sealed({}, seconds=60)) is None
    with pytest.raises(TooManyParts):
        seal.sealed({"bearer": "x" * 20_000}, seconds=60)
