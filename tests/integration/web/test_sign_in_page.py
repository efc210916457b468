"""A person signs in on the page: at a real identity provider, with a key, and out again; whoever may not, stays out."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from requirements.page import ENVIRONMENT, node
from sourcier.services.chassis.postgres.database import ALL_TENANTS, Database, DatabaseSettings
from sourcier.services.gateway.access.principal import Role
from sourcier.services.index.spaces import spaces
from sourcier.services.stack.processes.ports import free_ports
from sourcier.services.web.signin.sessions import COOKIE
from tests.fix_browser import Window, launched, window
from tests.integration.gateway.access.test_gate import make_key
from tests.integration.gateway.conftest import TELEWORK
from tests.integration.gateway.fix_gateway import Scenario, gateway
from tests.integration.index.writer import SPACE, Writer
from tests.integration.web.fix_web import served

WAIT_MS = 60_000
"""A bound on what may take long on a machine that is busy; it decides no test."""
FONTS = "https://fonts.googleapis.com/"
"""What the pages of the provider load; nothing is asked of it here."""
QUESTION = "Combien de jours de télétravail par semaine ?"
DRAFT = "Et pour les stagiaires"


@contextmanager
def identity_provider(page: str) -> Iterator[str]:
    """Run a provider that knows the page; yield its issuer."""
    (port,) = free_ports(1)
    script = Path(__file__).with_name("identity_provider.mjs")
    with subprocess.Popen(
        [node(ENVIRONMENT), str(script), str(ENVIRONMENT / "node_modules"), str(port), page], text=True,
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as running:
        try:
            assert running.stdout is not None
            assert "ready\n" in iter(running.stdout.readline, "")
            yield f"http://localhost:{port}"
        finally:
            running.kill()


def pass_the_provider(page: Page, name: str) -> None:
    """Write a name and a password at the provider, and let it tell who one is."""
    page.locator("input[name=login]").fill(name)
    page.locator("input[name=password]").fill("any")
    page.locator("button[type=submit]").click()
    page.get_by_role("button", name="Continue").click()


def by_the_provider(origin: str, issuer: str) -> None:
    """In French: sent to the provider and back to where one was; asks, reloads, and signs out."""
    with launched() as browser, window(browser, origin, elsewhere=(issuer, FONTS)) as seen:
        page = seen.page
        page.context.route(f"{FONTS}**", lambda route: route.fulfill(content_type="text/css", body=""))
        page.goto(f"{origin}/#/documents")
        expect(page.get_by_role("heading", name="Identifiez-vous")).to_be_visible()
        assert seen.barriers() == []
        page.get_by_role("link", name="Se connecter").click()
        pass_the_provider(page, "operatrice")
        expect(page.get_by_text("operatrice", exact=True)).to_be_visible()
        assert page.url == f"{origin}/#/documents"
        expect(page.get_by_role("button", name="Télétravail", exact=True)).to_be_visible()
        assert seen.barriers() == []
        # No script can read what it is signed in with.
        assert page.evaluate("document.cookie + JSON.stringify({...localStorage, ...sessionStorage})").find("ey") < 0
        page.get_by_role("link", name="Nouvelle question").click()
        page.get_by_role("textbox", name="Question").fill(QUESTION)
        page.keyboard.press("Enter")
        expect(page.locator(".turn-actions")).to_have_count(1)
        page.reload()
        expect(page.get_by_text("operatrice", exact=True)).to_be_visible()
        go_on_after_the_session_ended(seen)
        page.get_by_role("button", name="Sortir").click()
        page.wait_for_url(f"{issuer}/**")
        page.goto(f"{origin}/#/documents")
        expect(page.get_by_role("heading", name="Identifiez-vous")).to_be_visible()


def go_on_after_the_session_ended(seen: Window) -> None:
    """The session ends while a question is written: one signs in in another tab, and the question is still there."""
    page = seen.page
    # What is still being loaded would be refused without the cookie.
    expect(page.locator(".conversations li").first).to_be_visible()
    page.context.clear_cookies(name=COOKIE)
    page.get_by_role("textbox", name="Question").fill(DRAFT)
    page.locator(".conversations li").first.hover()
    page.get_by_role("button", name="Renommer").first.click()
    page.get_by_role("button", name="Enregistrer").click()
    again = page.get_by_role("dialog", name="Identifiez-vous de nouveau")
    expect(again).to_be_visible()
    assert seen.barriers() == []
    page.keyboard.press("Escape")
    expect(again).to_be_visible()
    with page.expect_popup() as opened:
        again.get_by_role("link", name="Se connecter dans un nouvel onglet").click()
    # The provider knows who it is, and asks once more whether the page may know.
    opened.value.get_by_role("button", name="Continue").click()
    expect(opened.value.get_by_text("operatrice", exact=True)).to_be_visible()
    opened.value.close()
    expect(again).to_have_count(0)
    page.get_by_role("button", name="Enregistrer").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("textbox", name="Question")).to_have_value(DRAFT)
    seen.complaints[:] = [complaint for complaint in seen.complaints if "401" not in complaint]


def by_a_key(origin: str, issuer: str, key: str) -> None:
    """In English, where a provider is there, too; a sign-in that was given up is told."""
    with launched() as browser, window(browser, origin, elsewhere=(issuer, FONTS), locale="en-GB") as seen:
        page = seen.page
        page.goto(f"{origin}/auth/callback?error=access_denied&state=made-up")
        expect(page.get_by_role("alert").first).to_contain_text("You were not signed in")
        page.get_by_text("I have an access key").click()
        page.get_by_label("Access key").fill("wrong")
        page.get_by_role("button", name="Enter", exact=True).click()
        expect(page.get_by_role("alert").last).to_contain_text("not known")
        assert seen.barriers() == []
        page.get_by_label("Access key").fill(key)
        page.get_by_role("button", name="Enter", exact=True).click()
        expect(page.get_by_role("heading", name="Ask your documents")).to_be_visible()
        page.get_by_role("link", name="Documents").click()
        expect(page.get_by_role("button", name="Télétravail", exact=True)).to_be_visible()
        page.get_by_role("button", name="Sign out").click()
        # The provider knows nothing of a key: one stays here.
        expect(page.get_by_role("heading", name="Sign in")).to_be_visible()
        # The browser's own note of the key that was refused.
        seen.complaints[:] = [complaint for complaint in seen.complaints if "401" not in complaint]


@pytest.mark.timeout(240)
async def test_people_sign_in_on_the_page(database_url: str) -> None:
    if not (ENVIRONMENT / "packages").is_file():
        pytest.skip("the page's browser is not there, for npm's registry was out of reach or nobody asked for it; run "
                    "`make test`, or `python3 requirements/install.py web`")
    expect.set_options(timeout=WAIT_MS)
    (port,) = free_ports(1)
    origin = f"http://localhost:{port}"
    with identity_provider(origin) as issuer:
        async with (
            Database(DatabaseSettings(url=database_url, connections_max=8, connection_timeout_seconds=30)) as database,
            gateway(database, Scenario(), accounts=True, oidc_issuer=issuer, oidc_audience="page",
                    oidc_client_id="page", oidc_tenant="acme") as running,
            served(f"127.0.0.1:{running.server.port}", http_listen=f"127.0.0.1:{port}"),
        ):
            async with database.transaction(tenant=ALL_TENANTS) as connection:
                await spaces.ensure_space(connection, SPACE)
            await Writer(database).index("telework.md", [TELEWORK], title="Télétravail")
            key = await make_key(database, Role.OPERATOR)
            await asyncio.to_thread(by_the_provider, origin, issuer)
            await asyncio.to_thread(by_a_key, origin, issuer, key)
