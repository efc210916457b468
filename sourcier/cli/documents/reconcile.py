"""`sourcier reconcile`: compares the watched buckets with what was taken in."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.documents.buckets import UNWATCHED_HINT
from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import json_line, printable

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import operations_pb2

EXAMPLES_SHOWN = 20


@click.command()
@click.option("--bucket", default="", help="Only this bucket; every watched one by default.")
@click.option("--dry-run", is_flag=True, help="Count what differs, and change nothing.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a message.")
@connects
def reconcile(bucket: str, dry_run: bool, as_json: bool, connection: Connection) -> None:
    """Compare the watched buckets with what was taken in, and take in what differs.

    Notifications may be lost; this finds what they did not tell. A comparison that is cut off goes on from there when
    it is asked for again.
    """
    async def use(client: Client) -> None:
        from contextlib import aclosing

        examples = list[str]()
        rules = 0
        with _progress(as_json=as_json) as shown:
            async with aclosing(client.reconcile(bucket=bucket, dry_run=dry_run)) as comparison:
                async for progress in comparison:
                    rules += progress.finished
                    if as_json:
                        click.echo(json_line(progress))
                        continue
                    examples = [*examples, *progress.examples][:EXAMPLES_SHOWN]
                    if shown is not None:
                        shown.update(_line(progress))
                    if progress.finished:
                        click.echo(_line(progress))
                        for key in examples:
                            click.echo(f"  {printable(key)}")
                        examples = []
        if rules == 0:
            raise Failure("no bucket is watched for this tenant", hint=UNWATCHED_HINT)

    try:
        connection.run(use)
    except KeyboardInterrupt:
        click.echo("interrupted; asked for again, the comparison goes on from here", err=True)
        raise


def _progress(*, as_json: bool) -> Any:
    """Return what shows how far a comparison is: one line on a terminal, nothing elsewhere."""
    if as_json or not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("comparing")


def _line(progress: operations_pb2.ReconcileResponse) -> str:
    place = f"{progress.bucket}/{progress.prefix}"
    return (f"{printable(place)}: {progress.listed:,} listed, {progress.missing:,} missing, "
            f"{progress.changed:,} changed, {progress.gone:,} gone")
