"""Replaces this process by a command of the server side, which the command line never imports."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import NoReturn

from sourcier.installation import own_environment


def hand_over(module: str, arguments: list[str], *, variables: Mapping[str, str] | None = None) -> NoReturn:
    """Become `python -m module arguments…`: its output, its signals and its exit code are then the command's own.

    `variables` are set besides those that this process has: an argument could be read by whoever lists processes.
    """
    sys.stdout.flush()
    # -P: a folder of the same name where the command is typed must not be taken for the package.
    command = [sys.executable, "-P", "-m", module, *arguments]
    os.execve(sys.executable, command, own_environment({**os.environ, **(variables or {})}))  # noqa: S606 becoming it is the point
