"""`status`: what stands on a data folder, each function returning its exit code.

It is asked often, so that it reads the state file alone: neither the settings nor what starts things is loaded.
"""

from __future__ import annotations

import shlex
import sys
import time
from pathlib import Path

from rich.console import Console

from sourcier.services.stack import statefile
from sourcier.services.stack.status import StackStatus
from sourcier.services.stack.terminal.display import Display, print_status, uptime

EXIT_OK, EXIT_NOT_READY, EXIT_REFUSED, EXIT_NOT_RUNNING = 0, 1, 2, 3


def running(folder: Path) -> StackStatus | None:
    """Return the status of the stack that runs on the data folder, for clients that look for its gateway."""
    return statefile.read(folder) if statefile.is_locked(folder) else None


def status(folder: Path, *, console: Console | None = None) -> int:
    """Print every part's state, process, port and age; 0 when all are ready, 1 when not, 3 when nothing runs."""
    found = running(folder)
    display = Display(console)
    if found is None:
        return _nothing_runs(folder, display)
    display.say(f"Sourcier on {folder}, process {found.pid}, up {uptime(time.time() - found.started)}")
    print_status(display.console, found)
    if found.gateway:
        display.say(f"gateway {found.gateway}")
    if found.page:
        display.say(f"page {found.page}")
    return EXIT_OK if found.ready else EXIT_NOT_READY


def environment(folder: Path) -> int:
    """Print what clients need as shell exports, secrets included; 3 when nothing runs.

    The names that every S3 client knows, so that `aws s3 cp file s3://documents/` needs nothing else, and the folder by
    which our own commands find the gateway. None of our addresses: a `SOURCIER_…_URL` tells `up` that this part runs
    elsewhere, and the shell keeps it when this stack is gone.
    """
    found = running(folder)
    if found is None:
        # Not where the shell would run it.
        return _nothing_runs(folder, Display(Console(stderr=True, highlight=False, soft_wrap=True)))
    variables = {"SOURCIER_DATA_DIR": str(folder)}
    if url := found.environment.get("SOURCIER_S3_URL"):
        variables |= {
            "AWS_ENDPOINT_URL": url, "AWS_ACCESS_KEY_ID": found.environment.get("SOURCIER_S3_ACCESS_KEY", ""),
            "AWS_SECRET_ACCESS_KEY": found.environment.get("SOURCIER_S3_SECRET_KEY", ""),
            "AWS_DEFAULT_REGION": found.environment.get("SOURCIER_S3_REGION", "us-east-1"),
        }
    for name, value in sorted(variables.items()):
        sys.stdout.write(f"export {name}={shlex.quote(value)}\n")
    return EXIT_OK


def _nothing_runs(folder: Path, display: Display) -> int:
    display.say(f"nothing runs on {folder}; start it with `sourcier up`")
    return EXIT_NOT_RUNNING
