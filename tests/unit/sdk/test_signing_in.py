"""Signing in from a terminal, and where what comes of it may be sent."""

# ruff: noqa: ASYNC240 a small file of its own

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
from aiohttp import web

from sourcier.client import Client
from sourcier.connection import signing_in
from sourcier.connection.signing_in import SignedIn
from sourcier.errors import FailedPrecondition, InvalidArgument, Unauthenticated, Unavailable

TOKEN = "aaa.bbb.ccc"


@dataclass
class Provider:
    """A provider that answers in turn."""

    url: str = ""
    document: dict[str, Any] = field(default_factory=dict)
    answers: list[tuple[int, Any]] = field(default_factory=list)
    forms: list[dict[str, str]] = field(default_factory=list)

    async def answer(self, request: web.Request) -> web.Response:
        if request.path.endswith("openid-configuration"):
            told = {"issuer": self.url, "device_authorization_endpoint": f"{self.url}/device",
                    "token_endpoint": f"{self.url}/token"} | self.document
            return web.json_response(told)
        self.forms.append({key: str(value) for key, value in (await request.post()).items()})
        if request.path == "/device":
            return web.json_response({"device_code": "d", "user_code": "ABCD", "verification_uri": self.url,
                                      "interval": 1, "expires_in": 60})
        status, told = self.answers.pop(0)
        return web.json_response(told, status=status, headers={"location": f"{self.url}/device"})


@pytest_asyncio.fixture(loop_scope="session")
async def provider() -> AsyncIterator[Provider]:
    running = Provider()
    application = web.Application()
    application.router.add_route("*", "/{tail:.*}", running.answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    running.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
    yield running
    await runner.cleanup()


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "below" / "credentials.json"
    monkeypatch.setenv(signing_in.CREDENTIALS_VARIABLE, str(path))
    return path


async def signed_in(provider: Provider, pauses: list[float]) -> SignedIn:
    def all_of_it() -> SignedIn:
        answer, endpoint = signing_in.begin(issuer=provider.url, client_id="cli", scope="openid", audience="api")
        return signing_in.finish(answer, token_endpoint=endpoint, client_id="cli", sleep=pauses.append)

    return await asyncio.to_thread(all_of_it)


async def test_a_person_confirms_a_code_while_the_command_asks_at_the_pace_it_is_told(provider: Provider) -> None:
    provider.answers = [(400, {"error": "authorization_pending"}), (400, {"error": "slow_down"}),
                        (200, {"access_token": TOKEN, "refresh_token": "r", "expires_in": 600})]
    pauses: list[float] = []
    found = await signed_in(provider, pauses)
    assert (found.token, found.refresh_token, found.client_id) == (TOKEN, "r", "cli")
    assert pauses == [1, 1, 6]
    assert provider.forms[0] == {"client_id": "cli", "scope": "openid", "audience": "api"}
    assert {form.get("device_code") for form in provider.forms[1:]} == {"d"}


async def test_a_token_that_nobody_can_read_gives_way_to_the_identity(provider: Provider) -> None:
    provider.answers = [(200, {"access_token": "opaque", "id_token": TOKEN, "expires_in": 600})]
    assert (await signed_in(provider, [])).token == TOKEN


@pytest.mark.parametrize("told", [
    (400, {"error": "access_denied"}), (400, {"error": "expired_token"}), (200, {}), (302, {"access_token": ""}),
], ids=str)
async def test_who_refuses_is_not_signed_in(provider: Provider, told: tuple[int, Any]) -> None:
    provider.answers = [told]
    with pytest.raises(Unauthenticated):
        await signed_in(provider, [])


@pytest.mark.parametrize("document", [
    {"issuer": "https://evil.example"}, {"token_endpoint": "http://evil.example/token"},
    {"device_authorization_endpoint": ""}, {"device_authorization_endpoint": "http://169.254.169.254/"},
    {"device_authorization_endpoint": "file:///etc/passwd"},
], ids=str)
async def test_nothing_is_sent_where_it_would_not_be_safe(provider: Provider, document: dict[str, str]) -> None:
    provider.document = document
    with pytest.raises((FailedPrecondition, Unavailable)):
        await signed_in(provider, [])
    assert len(provider.forms) <= 1


async def test_what_is_kept_is_for_the_user_alone_and_renewed_before_it_ends(provider: Provider, kept: Path) -> None:
    ending = SignedIn("old.old.old", time.time() + 5, "r", f"{provider.url}/token", "cli")
    signing_in.keep("localhost:1", ending)
    signing_in.keep("localhost:2", SignedIn(TOKEN, time.time() + 3600))
    assert kept.stat().st_mode & 0o777 == 0o600
    provider.answers = [(200, {"access_token": "new.new.new", "expires_in": 600})]
    assert await asyncio.to_thread(signing_in.kept_token, "localhost:1") == "new.new.new"
    assert json.loads(kept.read_text())["localhost:1"]["refresh_token"] == "r"
    assert signing_in.kept_token("localhost:2") == TOKEN
    assert signing_in.kept_token("elsewhere:1") == ""
    signing_in.keep("localhost:2", None)
    assert signing_in.kept_token("localhost:2") == ""
    kept.write_text("{broken")
    assert signing_in.kept_token("localhost:1") == ""


@pytest.mark.parametrize("target", ["10.0.0.7:50051", "gateway.example:50051", "[2001:db8::1]:1"])
def test_credentials_are_not_sent_in_the_clear_through_a_network(target: str) -> None:
    with pytest.raises(InvalidArgument, match="unencrypted"):
        Client(target, credentials=TOKEN)
    Client(target)
    Client(f"http://{target}", credentials=TOKEN)
    Client(f"https://{target}", credentials=TOKEN)


@pytest.mark.parametrize("target", ["localhost:1", "127.0.0.1:1", "[::1]:1"])
def test_on_this_machine_they_are(target: str) -> None:
    Client(target, credentials=TOKEN)
    Client(target, credentials=lambda: TOKEN)


@pytest.mark.parametrize("token", ["", "a b", "a\r\nx: y", "é"])
def test_credentials_that_no_header_can_carry_are_refused(token: str) -> None:
    with pytest.raises(InvalidArgument, match="credentials"):
        Client("localhost:1", credentials=token)
