"""What the page weighs and how soon it can be used: in a browser that was never there, on this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bench.environment import ROOT

ENVIRONMENT = ROOT / ".venv" / "web"
CHROMIUM = ENVIRONMENT / "chromium"
ARGUMENTS = ["--no-sandbox", "--no-zygote", "--in-process-gpu", "--disable-webgl", "--font-render-hinting=none"]
USABLE = """
new MutationObserver((_, observer) => {
  const field = document.querySelector('textarea');
  if (field && !field.disabled) { window.usableAt = performance.now(); observer.disconnect(); }
}).observe(document, {childList: true, subtree: true, attributes: true});
"""
WAIT_MS = 120_000
"""A bound on a machine that is busy."""
BYTES = """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
  .filter((entry) => entry.startTime < window.usableAt).reduce((sum, entry) => sum + entry.encodedBodySize, 0)"""


def there() -> bool:
    """Return whether the browser is."""
    return (CHROMIUM / "chromium").is_file()


def visits(url: str, *, rounds: int) -> list[tuple[float, float]]:
    """Return for each visit the milliseconds until the question's field takes text, and the bytes sent until then."""
    from playwright.sync_api import sync_playwright

    found = []
    with sync_playwright() as playwright:
        browser: Any = playwright.chromium.launch(
            executable_path=CHROMIUM / "chromium", args=ARGUMENTS, env=_environment(CHROMIUM)
        )
        for _ in range(rounds):
            context = browser.new_context(locale="fr-FR")
            opened = context.new_page()
            opened.add_init_script(USABLE)
            opened.goto(url)
            opened.locator("textarea:enabled").wait_for(timeout=WAIT_MS)
            found.append((opened.evaluate("window.usableAt"), opened.evaluate(BYTES)))
            context.close()
        browser.close()
    return found


def _environment(folder: Path) -> dict[str, str | float | bool]:
    return {"LD_LIBRARY_PATH": str(folder / "al2023" / "lib"), "FONTCONFIG_PATH": str(folder / "fonts"),
            "HOME": str(folder), "PATH": "/usr/bin:/bin"}
