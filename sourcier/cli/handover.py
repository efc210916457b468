"""Replaces this process by a command of the server side, which the SDK alone does not have."""

from __future__ import annotations

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

from sourcier.cli.failure import Failure

_CHECKOUT = Path(__file__).resolve().parents[2]


def hand_over(module: str, arguments: list[str]) -> NoReturn:
    """Become `python -m module arguments…`: its output, its signals and its exit code are then the command's own."""
    environment = dict(os.environ)
    if _has_package(_CHECKOUT, module):
        environment["PYTHONPATH"] = os.pathsep.join(
            part for part in (str(_CHECKOUT), environment.get("PYTHONPATH", "")) if part
        )
    elif not _importable(module):
        raise Failure(
            f"this installation has no {module}: it is the client alone",
            hint="run this in a checkout of the project, or name a running gateway with --gateway HOST:PORT",
        )
    sys.stdout.flush()
    # -P: a folder of the same name where the command is typed must not be taken for the package.
    os.execve(sys.executable, [sys.executable, "-P", "-m", module, *arguments], environment)  # noqa: S606 becoming it is the point


def _has_package(folder: Path, module: str) -> bool:
    return (folder / Path(*module.split(".")) / "__main__.py").is_file()


def _importable(module: str) -> bool:
    try:
        return find_spec(f"{module}.__main__") is not None
    except ModuleNotFoundError:
        return False
