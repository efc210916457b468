"""A browser without a screen: Chromium from the page's own environment, which needs no root."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    # Every test loads this file, and few a browser.
    from playwright.sync_api import Browser, BrowserContext, Page

ENVIRONMENT = Path(__file__).parents[1] / ".venv" / "web"
CHROMIUM = ENVIRONMENT / "chromium"
AXE = ENVIRONMENT / "node_modules" / "axe-core" / "axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]
ARGUMENTS = ["--no-sandbox", "--no-zygote", "--in-process-gpu", "--disable-webgl", "--font-render-hinting=none"]


@dataclass
class Window:
    """A page of the browser, and what went wrong in it."""

    page: Page
    origin: str
    elsewhere: tuple[str, ...] = ()
    """Where else it may go, an identity provider's address for one."""
    complaints: list[str] = field(default_factory=list)
    """Errors of the console and of scripts, requests that left the site, windows that scripts opened."""

    def listen(self) -> None:
        """Note from now on whatever a well-behaved page never does."""
        self.page.on("console", lambda message: message.type in {"error", "warning"} and self._note(message.text))
        self.page.on("pageerror", lambda error: self._note(str(error)))
        self.page.on("dialog", lambda dialog: (self._note(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self._look(request.url))

    def _look(self, url: str) -> None:
        if not url.startswith((self.origin, "blob:" + self.origin, *self.elsewhere)):
            self._note(f"a request left the site: {url}")

    def _note(self, complaint: str) -> None:
        self.complaints.append(complaint)

    def barriers(self) -> list[Any]:
        """Return what keeps people from using the view that is shown, as axe-core finds it."""
        self.page.evaluate(AXE.read_text("utf-8"))
        found = self.page.evaluate("rules => axe.run(document, {runOnly: rules})", RULES)
        return [
            (violation["id"], [node["target"] for node in violation["nodes"]]) for violation in found["violations"]
        ]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Yield a browser, which ends with the tests of the file."""
    with launched() as opened:
        yield opened


@contextmanager
def launched() -> Iterator[Browser]:
    """Start a browser, to be used in this thread alone."""
    if not (ENVIRONMENT / "packages").is_file():
        pytest.skip("the page's browser is not there, for npm's registry was out of reach or nobody asked for it; run "
                    "`make test`, or `python3 requirements/install.py web`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(
            executable_path=CHROMIUM / "chromium", args=ARGUMENTS,
            env={"LD_LIBRARY_PATH": str(CHROMIUM / "al2023" / "lib"), "FONTCONFIG_PATH": str(CHROMIUM / "fonts"),
                 "HOME": str(CHROMIUM), "PATH": "/usr/bin:/bin"},
        )
        try:
            yield opened
        finally:
            opened.close()


@contextmanager
def window(
    browser: Browser, origin: str, *, elsewhere: tuple[str, ...] = (), **options: Any
) -> Iterator[Window]:
    """Open the page as somebody who was never here; at the end it must have behaved."""
    context: BrowserContext = browser.new_context(**{"locale": "fr-FR"} | options)
    try:
        opened = Window(context.new_page(), origin, elsewhere)
        opened.listen()
        yield opened
        assert opened.complaints == []
    finally:
        context.close()
