"""What a reader may open beside its document."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import lxml

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


def test_homes_and_settings_are_not_read() -> None:
    for path in ("/", "/etc", "/etc/passwd", "/home", "/root", "/tmp", "/proc", "/proc/self/environ", "/run", "/var"):
        assert not is_readable(Path(path))
