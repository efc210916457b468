"""`sourcier doctor`: one line for each thing that was looked at, and for a fault what follows and what mends it."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import json_line, printable, word
from sourcier.errors import SourcierError

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import operations_pb2

EXIT_FAULTS = 1
FREE_BYTES_MIN, FREE_BYTES_LAST = 2 * 1024**3, 256 * 1024**2
"""On the disk of a stack's folder: below the first it is told, below the second the database soon stops writing."""


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a check.")
@connects
def doctor(as_json: bool, connection: Connection) -> None:
    """Look whether all works, and say what to do where it does not; the exit code is 1 then."""
    from sourcier.gateway.v1 import operations_pb2

    checks = [*_looked(connection), *_of_this_machine(connection)]
    for check in checks:
        click.echo(json_line(check) if as_json else line(check))
    if any(check.state != operations_pb2.CHECK_STATE_OK for check in checks):
        sys.exit(EXIT_FAULTS)


def line(check: operations_pb2.Check) -> str:
    """Return a check as one line: state, name, finding; then what follows, and the command that mends it."""
    from sourcier.gateway.v1 import operations_pb2

    state = word(operations_pb2.CheckState, check.state)
    told = f"{state:8} {check.name:9} {check.finding}"
    if check.consequence:
        told += f": {check.consequence}"
    if check.remedy:
        told += f" → {check.remedy}"
    return printable(told)


def _looked(connection: Connection) -> list[operations_pb2.Check]:
    """Return the gateway's checks; where it cannot be reached, that is the one check there is."""
    from sourcier.gateway.v1 import operations_pb2

    async def use(client: Client) -> list[operations_pb2.Check]:
        return await client.diagnose()

    try:
        return connection.run(use)
    except (Failure, SourcierError) as error:
        if isinstance(error, Failure) and error.exit_code == 2:
            raise
        message = error.message
    return [operations_pb2.Check(
        name="gateway", state=operations_pb2.CHECK_STATE_FAILED, finding=message,
        consequence="nothing can be asked or taken in", remedy="sourcier status; sourcier up --detach",
    )]


def _of_this_machine(connection: Connection) -> list[operations_pb2.Check]:
    """Return what can be seen here alone: the disk of the stack's folder, where it is the stack that was asked."""
    folder = connection.data_dir
    return [of_disk(folder, shutil.disk_usage(folder).free)] if not connection.gateway and folder.is_dir() else []


def of_disk(folder: Path, free_bytes: int) -> operations_pb2.Check:
    """Return whether a stack's folder has room to grow."""
    from sourcier.gateway.v1 import operations_pb2

    free = f"{free_bytes / 1024**3:.1f} GiB free where {folder} lies"
    if free_bytes >= FREE_BYTES_MIN:
        return operations_pb2.Check(name="disk", state=operations_pb2.CHECK_STATE_OK, finding=free)
    last = free_bytes < FREE_BYTES_LAST
    return operations_pb2.Check(
        name="disk", state=operations_pb2.CHECK_STATE_FAILED if last else operations_pb2.CHECK_STATE_WARNING,
        finding=free,
        consequence="once it is full, no document is taken in and no conversation is kept",
        remedy=f"du -sh {folder}/*",
    )
