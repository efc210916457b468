"""What `status --environment` prints: enough for clients, and nothing that changes what a later `up` starts."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

import pytest

from sourcier.services.stack import statefile
from sourcier.services.stack.compose import SERVER_NAMES, compose
from sourcier.services.stack.settings import SERVICE_NAMES, StackSettings
from sourcier.services.stack.status import StackStatus
from sourcier.services.stack.terminal import standing

pytestmark = pytest.mark.unit


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("SOURCIER_")]:
        monkeypatch.delenv(name)


def exported(folder: Path, capsys: pytest.CaptureFixture[str]) -> dict[str, str]:
    """Return what the shell has after `eval "$(sourcier status --environment)"` beside a running stack."""
    addresses = {f"SOURCIER_{name.upper()}_URL": f"127.0.0.1:{number}"
                 for number, name in enumerate((*SERVER_NAMES, *SERVICE_NAMES), start=40_000)}
    keys = {"SOURCIER_S3_ACCESS_KEY": "key", "SOURCIER_S3_SECRET_KEY": "it's secret"}
    statefile.open_folder(folder)
    with statefile.locked(folder):
        statefile.write(folder, StackStatus(
            pid=os.getpid(), started=1.5, folder=str(folder), components=(), environment=addresses | keys,
        ))
        assert standing.environment(folder) == standing.EXIT_OK
    words = shlex.split(capsys.readouterr().out)
    return dict(word.split("=", 1) for word in words if word != "export")


def test_an_s3_client_and_the_command_line_need_nothing_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert exported(tmp_path, capsys) == {
        "AWS_ENDPOINT_URL": "127.0.0.1:40002", "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "it's secret",
        "AWS_DEFAULT_REGION": "us-east-1", "SOURCIER_DATA_DIR": str(tmp_path),
    }


def test_a_stack_that_is_started_in_that_shell_later_runs_all_its_parts_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in exported(tmp_path, capsys).items():
        monkeypatch.setenv(name, value)
    settings = StackSettings(data_dir=tmp_path)
    composition = compose(settings)
    assert not composition.external
    assert [part.name for part in (*composition.servers, *composition.services)] == [*SERVER_NAMES, *SERVICE_NAMES]
    assert settings.serves_model
    assert "SOURCIER_GATEWAY_URL" not in os.environ, "the demo takes it for a gateway that others run"


def test_where_nothing_runs_the_shell_is_given_nothing_to_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert standing.environment(tmp_path) == standing.EXIT_NOT_RUNNING
    told = capsys.readouterr()
    assert told.out == ""
    assert "nothing runs" in told.err
