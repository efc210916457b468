"""Secrets of the stack in files, and variables that it knows nothing of."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from sourcier.services.stack.__main__ import read_settings
from sourcier.services.stack.compose import compose


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith("SOURCIER_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("SOURCIER_DATA_DIR", str(tmp_path))


def test_a_secret_in_a_file_is_handed_to_services_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "url").write_text("nats://user:hunter2@nats:4222\n")
    monkeypatch.setenv("SOURCIER_NATS_URL_FILE", str(tmp_path / "url"))
    monkeypatch.setenv("SOURCIER_STACK_SERVICES", "embed")
    composition = compose(read_settings(None))
    assert "nats" in composition.external
    [embed] = composition.services
    handed = embed.command().environment
    assert handed["SOURCIER_NATS_URL"] == "nats://user:hunter2@nats:4222"
    assert "SOURCIER_NATS_URL_FILE" not in handed


@pytest.mark.parametrize(("variable", "says"), [
    ("SOURCIER_STACK_SERVICE", "did you mean SOURCIER_STACK_SERVICES?"),
    ("SOURCIER_NATS_URL_FILE", "No such file or directory"),
])
def test_what_services_would_refuse_is_refused_before_anything_starts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], variable: str, says: str
) -> None:
    monkeypatch.setenv(variable, "/nowhere")
    with pytest.raises(SystemExit) as ended:
        read_settings(None)
    assert ended.value.code != 0
    assert says in capsys.readouterr().err
