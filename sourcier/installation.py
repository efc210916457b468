"""Whether this code is installed or runs from a checkout, and what follows: data folder, child processes, remedies.

Part of the SDK, so it imports the standard library alone.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent
ENVIRONMENTS = {"server": "services", "generate": "generate", "export": "export"}
"""Extra of the package → the environment of a checkout that holds the same packages, locked."""


def checkout() -> Path | None:
    """Return the checkout that the package lies in; None where it is installed."""
    root = PACKAGE.parent
    return root if (root / "requirements" / "install.py").is_file() else None


def environment_python(extra: str) -> Path | None:
    """Return the interpreter of a checkout's environment; None where there is no checkout, or it was not made."""
    root = checkout()
    python = root / ".venv" / ENVIRONMENTS[extra] / "bin" / "python" if root else None
    return python if python and python.exists() else None


def data_folder(environment: Mapping[str, str]) -> Path:
    """Return where the stack keeps everything by default: the checkout's `.sourcier`, else the user's data folder.

    It does not depend on the current folder, so that every command finds the same stack.
    """
    if root := checkout():
        return root / ".sourcier"
    share = environment.get("XDG_DATA_HOME") or str(Path(environment.get("HOME") or Path.home()) / ".local" / "share")
    return Path(share) / "sourcier"


def remedy(extra: str) -> str:
    """Return the command that installs an extra."""
    if checkout():
        return f"python3 requirements/install.py {ENVIRONMENTS[extra]}"
    return f"pip install 'sourcier[{extra}]'"


def missing_package(error: ModuleNotFoundError) -> str:
    """Return the third-party package that an import lacks; raise the error again where a module of ours is missing."""
    package = (error.name or "").partition(".")[0]
    if package in {"", "sourcier"}:
        raise error
    return package


def import_folder(folder: Path) -> Path:
    """Return a folder from which any interpreter can import this package and nothing else; `folder` may hold a link.

    An interpreter of another environment must not see the packages that lie beside ours in `site-packages`.
    """
    if root := checkout():
        return root
    folder.mkdir(parents=True, exist_ok=True)
    link = folder / PACKAGE.name
    if not link.is_symlink() or link.readlink() != PACKAGE:
        new = folder / f".{PACKAGE.name}.{os.getpid()}"
        new.unlink(missing_ok=True)
        new.symlink_to(PACKAGE, target_is_directory=True)
        new.replace(link)
    return folder


def own_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables with which this interpreter, started again, imports this package."""
    if not (root := checkout()):
        return dict(environment)
    return {**environment, "PYTHONPATH": os.pathsep.join(filter(None, (str(root), environment.get("PYTHONPATH"))))}


@cache
def own_release() -> str:
    """Return the release of this code."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("sourcier")
    except PackageNotFoundError:
        return "a checkout"
