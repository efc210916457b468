"""`sourcier reprocess`: indexes documents again, from a stage on."""

from __future__ import annotations

import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import counted, printable

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import knowledge_pb2
    from sourcier.options import ReprocessStageName

FOLLOWED_AT_ONCE = 32
COMPLETED = 3
REPLACED = "SUPERSEDED"


@click.command()
@click.option("--from", "from_stage", type=click.Choice(["parse", "chunk", "embed"]), required=True,
              help="The first stage to run again; what those before it made is used as it is.")
@click.option("-c", "--collection", default="", help="Only this collection; all by default.")
@click.option("--only-outdated", is_flag=True, help="Only documents cut otherwise than their collection says now.")
@click.option("--wait", is_flag=True, help="Wait until every document can be found anew or has failed.")
@connects
def reprocess(
    from_stage: ReprocessStageName, collection: str, only_outdated: bool, wait: bool, connection: Connection
) -> int:
    """Index documents again, from a stage on; each answers as it was until its new version is whole.

    With --wait, the exit code is 1 when any of them failed; the versions before go on answering.
    """
    async def use(client: Client) -> int:
        before = await _newest_job(client, collection)
        count = await client.reprocess(from_stage=from_stage, collection=collection, only_outdated=only_outdated)
        click.echo(f"{counted(count, 'document')} sent through the pipeline again, from {from_stage} on")
        if not wait or not count:
            if count:
                click.echo("sourcier jobs list tells how far they are", err=True)
            return 0
        return _summarise(await _follow(client, await _jobs_since(client, collection, before)))

    try:
        return connection.run(use)
    except KeyboardInterrupt:
        click.echo("interrupted; what was sent goes on being indexed: sourcier jobs list", err=True)
        raise


async def _newest_job(client: Client, collection: str) -> str:
    """Return the newest job's id: ids sort by time, so those of the jobs to come are greater."""
    from contextlib import aclosing

    async with aclosing(client.jobs(collection=collection, page_size=1)) as jobs:
        async for job in jobs:
            return job.job_id
    return ""


async def _jobs_since(client: Client, collection: str, before: str) -> list[str]:
    from contextlib import aclosing

    found = list[str]()
    async with aclosing(client.jobs(collection=collection)) as jobs:
        async for job in jobs:
            if job.job_id <= before:
                break
            found.append(job.job_id)
    return found


async def _follow(client: Client, job_ids: Sequence[str]) -> list[knowledge_pb2.Job]:
    """Return the jobs once they have ended, a bounded number of them watched at a time."""
    from sourcier.errors import JobFailed

    waiting = list(job_ids)
    ended: list[knowledge_pb2.Job] = []

    async def follow(shown: Any) -> None:
        while waiting:
            # The oldest first: they end first.
            job_id = waiting.pop()
            try:
                job = await client.wait_for_job(job_id)
            except JobFailed:
                job = await client.get_job(job_id)
            ended.append(job)
            if shown is not None:
                shown.update(f"{len(ended):,} of {len(job_ids):,} ended")

    with _progress() as shown:
        async with asyncio.TaskGroup() as tasks:
            for number in range(min(FOLLOWED_AT_ONCE, len(job_ids))):
                tasks.create_task(follow(shown), name=f"follow-{number}")
    return ended


def _progress() -> Any:
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status("waiting")


def _summarise(ended: Sequence[knowledge_pb2.Job]) -> int:
    outcomes = Counter[str](
        "indexed" if job.status == COMPLETED else "replaced" if job.error.reason == REPLACED else "failed"
        for job in ended
    )
    replaced = f", {outcomes['replaced']:,} replaced by a newer version" if outcomes["replaced"] else ""
    click.echo(f"{outcomes['indexed']:,} indexed, {outcomes['failed']:,} failed{replaced}")
    for job in ended:
        if job.status != COMPLETED and job.error.reason != REPLACED:
            click.echo(f"  {printable(job.source)}: {printable(job.error.message)} [{job.error.reason}]")
    return int(outcomes["failed"] > 0)
