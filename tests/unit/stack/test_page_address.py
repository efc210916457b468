"""Where the stack's page is: a port that is kept, told to the service, to clients and to people."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from sourcier.services.stack.compose import compose
from sourcier.services.stack.settings import StackSettings
from sourcier.services.stack.status import ComponentStatus, StackStatus, State
from sourcier.services.stack.terminal import display

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SOURCIER_")]:
        monkeypatch.delenv(name)


def settings(folder: Path, **more: Any) -> StackSettings:
    return StackSettings(**({
        "data_dir": folder, "stack_services": "gateway,web", "nats_url": "nats://broker:4222",
        "postgres_url": "postgresql://db/x", "s3_url": "http://store",
    } | more))


def test_the_page_has_an_address_that_is_told(tmp_path: Path) -> None:
    composition = compose(settings(tmp_path))
    environment = composition.environment()
    [web] = [service for service in composition.services if service.name == "web"]
    port = web.ports["http"]
    assert web.ports["grpc"] not in {0, port}
    assert environment["SOURCIER_WEB_HTTP_LISTEN"] == f"127.0.0.1:{port}"
    assert "SOURCIER_WEB_URL" not in environment, "no other service calls it"
    status = StackStatus(pid=1, started=1.5, folder=str(tmp_path), components=(), environment=environment)
    assert status.page == f"http://localhost:{port}"
    assert status.page in display.connection(status)
    shown = ComponentStatus(name="web", state=State.READY, pid=2, ports=web.ports)
    assert display._main_port(shown) == f"port {port}", "where it tells its health is nobody's to open"
    del composition
    again = compose(settings(tmp_path)).environment()
    for name in ("SOURCIER_WEB_HTTP_LISTEN", "SOURCIER_WEB_SESSION_SECRET"):
        assert again[name] == environment[name], "bookmarks and sessions outlive a restart"


def test_a_port_and_a_secret_that_are_given_are_taken(tmp_path: Path) -> None:
    environment = compose(settings(tmp_path, web_http_port=18_765, web_session_secret="given")).environment()
    assert environment["SOURCIER_WEB_HTTP_LISTEN"] == "127.0.0.1:18765"
    assert environment["SOURCIER_WEB_SESSION_SECRET"] == "given"


def test_without_the_service_there_is_no_page(tmp_path: Path) -> None:
    composition = compose(settings(tmp_path, stack_services="gateway"))
    environment = composition.environment()
    assert "SOURCIER_WEB_HTTP_LISTEN" not in environment
    status = StackStatus(pid=1, started=1.5, folder=str(tmp_path), components=(), environment=environment)
    assert (status.page, "page" in display.connection(status)) == ("", False)
