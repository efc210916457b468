"""`sourcier import-points`: the points of another system's vector index, from a file of JSON lines."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.inputs import GivenPath
from sourcier.cli.text import counted, json_line, printable

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import transfer_pb2

TOLD_MAX = 20
# The first is of a message that says both.
_TYPED = (("POINT_VECTORS_EMBED, `--vectors embed`", "`--vectors embed`"), ("POINT_VECTORS_EMBED", "`--vectors embed`"),
          ("POINT_VECTORS_KEEP", "`--vectors keep`"))


@click.command("import-points")
@click.argument("file", type=GivenPath())
@click.option("-c", "--collection", required=True, help="Where to; it is created where there is none.")
@click.option("--vectors", type=click.Choice(["embed", "keep"]), default="embed", show_default=True,
              help="Embed the texts anew, or keep the file's vectors: --model has to be the collection's own then.")
@click.option("--model", default="", help="The model that made the vectors, as `sourcier spaces list` names it.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def import_points(
    file: Path, collection: str, vectors: Any, model: str, as_json: bool, connection: Connection
) -> int:
    """Take in a FILE of points, one JSON object a line, beside what the collection holds.

    Both known forms are read, fields under `payload` or at the top. Points that are there already stay as they are.
    Exit codes: 0 all lines taken in, 1 some rejected, which are told with their numbers.
    """
    if not file.is_file():
        raise Failure(f"there is no file {printable(str(file))}", hint="name a file of JSON lines", exit_code=2)

    async def use(client: Client) -> transfer_pb2.ImportPointsResponse:
        with _progress() as shown:
            return await client.import_points(
                file, collection=collection, vectors=vectors, model=model, progress=_telling(shown)
            )

    response = run_told(connection, use)
    if as_json:
        click.echo(json_line(response))
        return 1 if response.rejected_count else 0
    for rejected in response.rejected[:TOLD_MAX]:
        click.secho(f"line {rejected.number}: {printable(rejected.reason)}", fg="yellow", err=True)
    if response.rejected_count > TOLD_MAX:
        click.secho(f"and {counted(response.rejected_count - TOLD_MAX, 'line')} more; --json lists up to 1,000",
                    fg="yellow", err=True)
    click.echo(
        f"{counted(response.line_count, 'line')}: imported {counted(response.imported_count, 'point')} into "
        f"{printable(response.collection)}; {response.skipped_count:,} were there already, "
        f"{response.rejected_count:,} rejected"
    )
    return 1 if response.rejected_count else 0


def run_told(
    connection: Connection, use: Callable[[Client], Awaitable[transfer_pb2.ImportPointsResponse]]
) -> transfer_pb2.ImportPointsResponse:
    """Run the import; a refusal names the options that are typed, not the contract's."""
    from sourcier.errors import SourcierError

    try:
        return connection.run(use)
    except SourcierError as error:
        for named, typed in _TYPED:
            error.message = error.message.replace(named, typed)
        raise


def _progress() -> Any:
    """Return what shows how far it is: one line on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("importing")


def _telling(shown: Any) -> Any:
    return None if shown is None else lambda lines: shown.update(f"sent {counted(lines, 'line')}")
