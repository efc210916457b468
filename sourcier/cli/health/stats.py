"""`sourcier stats`: what the collections hold, and how their jobs ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import json_line, moment, printable

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import operations_pb2


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def stats(as_json: bool, connection: Connection) -> None:
    """Count documents, chunks and jobs, and show the last failures."""
    async def use(client: Client) -> operations_pb2.GetStatisticsResponse:
        return await client.statistics()

    counted = connection.run(use)
    if as_json:
        click.echo(json_line(counted))
        return
    jobs = ", ".join(f"{entry.count:,} {entry.status}" for entry in counted.jobs)
    for name, value in (
        ("collections", f"{counted.collection_count:,}"), ("documents", f"{counted.document_count:,}"),
        ("chunks", f"{counted.chunk_count:,}"), ("tokens a chunk", f"{counted.mean_chunk_tokens:.1f}"),
        ("chunks a document", f"{counted.mean_document_chunks:.1f}"), ("jobs", jobs),
        ("last failures", f"{len(counted.last_failures)}" if counted.last_failures else "none"),
    ):
        click.echo(f"{name:18} {value}")
    for failure in counted.last_failures:
        click.echo(printable(f"  {moment(failure.failed_at)}  {failure.stage}  {failure.reason}  {failure.source}"))
