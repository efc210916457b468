"""`sourcier jobs list | show | watch`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import json_line, moment, printable, size, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import knowledge_pb2
    from sourcier.options import JobStatusName

STATUSES = {0: "unknown", 1: "pending", 2: "processing", 3: "completed", 4: "failed"}
FAILED = 4


@click.group()
def jobs() -> None:
    """List, show and watch ingestion jobs."""


@jobs.command("list")
@click.option("-c", "--collection", default="", help="Only this collection; all by default.")
@click.option("--status", type=click.Choice(["pending", "processing", "completed", "failed"]), help="Only these.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Most jobs.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_jobs(
    collection: str, status: JobStatusName | None, limit: int, as_json: bool, connection: Connection
) -> None:
    """List jobs, newest first."""
    async def use(client: Client) -> list[knowledge_pb2.Job]:
        from contextlib import aclosing

        found: list[knowledge_pb2.Job] = []
        async with aclosing(client.jobs(collection=collection, status=status, page_size=min(limit, 200))) as listed:
            async for job in listed:
                found.append(job)
                if len(found) == limit:
                    break
        return found

    found = connection.run(use)
    if as_json:
        for job in found:
            click.echo(json_line(job))
        return
    write_table(("ID", "COLLECTION", "SOURCE", "STATUS", "STAGE", "%", "CHUNKS", "CREATED", "ERROR"), [
        (each.job_id, each.collection, each.source, STATUSES[each.status], each.stage, str(each.percentage),
         str(each.chunk_count), moment(each.created_at), each.error.message)
        for each in found
    ])


@jobs.command()
@click.argument("job_id")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@connects
def show(job_id: str, as_json: bool, connection: Connection) -> None:
    """Show a job: how far it is, the time of each stage, why it failed."""
    async def use(client: Client) -> knowledge_pb2.Job:
        return await client.get_job(job_id)

    job = connection.run(use)
    if as_json:
        click.echo(json_line(job))
        return
    stages = ", ".join(f"{each.stage} {each.elapsed.ToTimedelta().total_seconds():.1f} s" for each in job.stage_times)
    for name, value in (
        ("id", job.job_id), ("document", job.document_id), ("source", job.source), ("collection", job.collection),
        ("file", f"{job.filename}, {size(job.size_bytes)}"),
        ("status", f"{STATUSES[job.status]}, {job.stage or 'not begun'}, {job.percentage} %"),
        ("chunks", str(job.chunk_count)), ("created", moment(job.created_at)), ("finished", moment(job.finished_at)),
        ("stages", stages), ("error", f"{job.error.message} [{job.error.reason}]" if job.error.reason else ""),
    ):
        if value:
            click.echo(f"{name:<12} {printable(value)}")


@jobs.command()
@click.argument("job_id")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def watch(job_id: str, as_json: bool, connection: Connection) -> int:
    """Follow a job until it ends; the exit code is 1 when it failed."""
    async def use(client: Client) -> int:
        from contextlib import aclosing

        status = 0
        async with aclosing(client.watch_job(job_id)) as moves:
            async for job in moves:
                error = f": {printable(job.error.message)} [{job.error.reason}]" if job.status == FAILED else ""
                stage = job.stage or "not begun"
                click.echo(json_line(job) if as_json else f"{job.percentage:3} %  {stage:<10} "
                           f"{STATUSES[job.status]}{error}")
                status = int(job.status == FAILED)
        return status

    return connection.run(use)
