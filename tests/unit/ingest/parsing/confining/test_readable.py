"""What a reader may open beside its document."""

from __future__ import annotations

import json
import site
import sysconfig
from pathlib import Path

import lxml
import pytest

import sourcier
from sourcier.services.ingest.parsing.confining.readable import libraries


def is_readable(path: Path) -> bool:
    return any(path.resolve().is_relative_to(each) for each in libraries())


def test_python_and_its_packages_are_read_also_what_was_not_imported_yet() -> None:
    for path in (Path(json.__file__), Path(lxml.__file__), Path(sysconfig.get_path("stdlib"), "antigravity.py")):
        assert is_readable(path)


def test_of_a_checkout_its_loaded_packages_are_read_and_nothing_beside_them() -> None:
    package = Path(sourcier.__file__).parent
    assert is_readable(package / "services" / "never_imported.py")
    assert not is_readable(package.parent)
    assert not is_readable(package.parent / "pyproject.toml")


def test_a_package_that_is_installed_as_a_link_is_read_where_it_lies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("installed/site-packages", "kept/recogniser", "kept/other"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "installed" / "site-packages" / "recogniser").symlink_to(tmp_path / "kept" / "recogniser")
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(tmp_path / "installed" / "site-packages")])
    assert is_readable(tmp_path / "kept" / "recogniser" / "model.onnx")
    assert not is_readable(tmp_path / "kept" / "other")


def test_homes_and_settings_are_not_read() -> None:
    for path in ("/", "/etc", "/etc/passwd", "/home", "/root", "/tmp", "/proc", "/proc/self/environ", "/run", "/var"):
        assert not is_readable(Path(path))
