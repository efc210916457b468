"""`sourcier open`: the page of the stack that runs, and what is said where there is none."""

from __future__ import annotations

import json
import os
import webbrowser
from pathlib import Path

import pytest
from click.testing import CliRunner

from sourcier.cli.failure import Failure
from sourcier.cli.main import cli

pytestmark = pytest.mark.unit


def keep(folder: Path, environment: dict[str, str]) -> None:
    (folder / "stack.json").write_text(json.dumps({"pid": os.getpid(), "environment": environment}))


def test_the_page_is_opened_and_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", lambda url: opened.append(url) or True)
    keep(tmp_path, {"SOURCIER_WEB_HTTP_LISTEN": "127.0.0.1:4321"})
    done = CliRunner().invoke(cli, ["open", "--data-dir", str(tmp_path)])
    assert (done.output, opened) == ("http://localhost:4321\n", ["http://localhost:4321"])
    done = CliRunner().invoke(cli, ["open", "--print", "--data-dir", str(tmp_path)])
    assert (done.output, len(opened)) == ("http://localhost:4321\n", 1)


def test_without_a_browser_the_address_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webbrowser, "open", lambda _: False)
    keep(tmp_path, {"SOURCIER_WEB_HTTP_LISTEN": "127.0.0.1:4321"})
    done = CliRunner().invoke(cli, ["open", "--data-dir", str(tmp_path)])
    assert done.exit_code == 0
    assert "http://localhost:4321\n" in done.output
    assert "by hand" in done.output


@pytest.mark.parametrize(("environment", "told"), [({}, "runs no page"), (None, "is not running")])
def test_where_there_is_no_page_the_way_is_told(
    tmp_path: Path, environment: dict[str, str] | None, told: str
) -> None:
    if environment is not None:
        keep(tmp_path, environment)
    done = CliRunner().invoke(cli, ["open", "--data-dir", str(tmp_path)])
    assert isinstance(done.exception, Failure) or done.exit_code
    assert told in (done.output + str(done.exception))
