"""`sourcier tenants`: erase everything that is a tenant's, and tell where bytes of it stay until when."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import json_line, moment, printable, word, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import operations_pb2


@click.group()
def tenants() -> None:
    """Erase a tenant with everything that is its own."""


@tenants.command()
@click.argument("name")
@click.option("--dry-run", is_flag=True, help="Count what is there, and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a message; the last one is the report.")
@connects
def erase(name: str, dry_run: bool, yes: bool, as_json: bool, connection: Connection) -> None:
    """Delete documents, conversations, answers, agents, keys and all else of the tenant NAME, for good.

    Only an operator of the tenant may. It goes on where it is cut off: the same command follows it. The report says
    where bytes of what was deleted stay, and until when.
    """
    # Where no account is asked for, the call is made for the tenant that it is about.
    connection = replace(connection, tenant=name)

    async def count(client: Client) -> operations_pb2.EraseTenantResponse:
        return await _last(client, name, dry_run=True)

    if dry_run or not (yes or as_json):
        counted = connection.run(count)
        if as_json:
            click.echo(json_line(counted))
            return
        _write_counts(counted, "THERE")
        if dry_run:
            return
    if not yes and click.prompt(f"All of it goes, for good. Write the tenant's name to erase it ({name})",
                                default="", show_default=False, err=True) != name:
        raise Failure("nothing was erased: that is not the tenant's name", exit_code=2)

    async def use(client: Client) -> operations_pb2.EraseTenantResponse:
        return await _last(client, name, dry_run=False, as_json=as_json)

    try:
        report = connection.run(use)
    except KeyboardInterrupt:
        click.echo("interrupted; the erasure goes on, and the same command follows it", err=True)
        raise
    if not as_json:
        _write_report(name, report)


async def _last(
    client: Client, name: str, *, dry_run: bool, as_json: bool = False
) -> operations_pb2.EraseTenantResponse:
    """Return the last message, having told the step of each one before it."""
    from contextlib import aclosing

    last, step = None, ""
    async with aclosing(client.erase_tenant(name, dry_run=dry_run)) as erasure:
        async for progress in erasure:
            last = progress
            if as_json:
                click.echo(json_line(progress))
            elif progress.step not in (step, "done"):
                step = progress.step
                click.echo(f"erasing {step} …", err=True)
    if last is None:
        raise Failure("the gateway said nothing of the erasure", hint="the same command follows it")
    return last


def _write_report(name: str, report: operations_pb2.EraseTenantResponse) -> None:
    click.echo(f"erased {printable(name)}, {moment(report.finished_at)}")
    _write_counts(report, "GONE")
    click.echo()
    from sourcier.gateway.v1 import operations_pb2

    write_table(("WHERE", "TRACES", "UNTIL"), [
        (trace.place, word(operations_pb2.TraceState, trace.state),
         moment(trace.until) if trace.HasField("until") else "-")
        for trace in report.traces
    ])
    for trace in report.traces:
        click.echo(f"{trace.place}: {printable(trace.explanation)}")


def _write_counts(told: operations_pb2.EraseTenantResponse, header: str) -> None:
    write_table(("WHAT", header), [
        (each.kind.replace("_", " "), f"{each.count:,}") for each in told.counts if each.count
    ] or [("nothing", "0")])
