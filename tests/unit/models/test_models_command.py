"""`sourcier models`: what a script learns of how it ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from sourcier.models.__main__ import main


def test_an_error_is_a_line_and_an_exit_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--root", str(tmp_path), "fetch", "some/model", "--from", str(tmp_path / "absent")]) == 1
    told = capsys.readouterr().err
    assert told.startswith("error: ")
    assert "--kind" in told


def test_an_empty_store_is_listed(tmp_path: Path) -> None:
    assert main(["--root", str(tmp_path), "list"]) == 0
