"""`sourcier failures list | show | replay | discard`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, get_args

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import counted, json_line, moment, printable, write_table
from sourcier.options import FailureStageName

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import operations_pb2
    from sourcier.options import FailureOptions, FailureStateName

STATES = {0: "unknown", 1: "open", 2: "replayed", 3: "discarded"}


def filters(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say which failures; it gets a `which` argument."""
    @click.option("--stage", type=click.Choice(get_args(FailureStageName)),
                  help="Only those of this stage.")
    @click.option("--reason", help="Only those with this reason, for example UNAVAILABLE.")
    @click.option("-c", "--collection", help="Only those of this collection.")
    @functools.wraps(command)
    def wrapped(
        *arguments: Any, stage: str | None, reason: str | None, collection: str | None, **options: Any
    ) -> Any:
        given = {"stage": stage, "reason": reason, "collection": collection}
        return command(*arguments, which={name: value for name, value in given.items() if value}, **options)

    return wrapped


@click.group()
def failures() -> None:
    """List, show, replay and discard what could not be indexed."""


@failures.command("list")
@filters
@click.option("--state", type=click.Choice(["open", "replayed", "discarded"]), default="open", show_default=True,
              help="Only those in this state.")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Most failures.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_failures(
    which: FailureOptions, state: FailureStateName, limit: int, as_json: bool, connection: Connection
) -> None:
    """List failures, the last one first."""
    async def use(client: Client) -> list[operations_pb2.Failure]:
        from contextlib import aclosing

        found: list[operations_pb2.Failure] = []
        async with aclosing(client.failures(state=state, page_size=min(limit + 1, 200), **which)) as listed:
            async for failure in listed:
                found.append(failure)
                if len(found) > limit:
                    break
        return found

    found = connection.run(use)
    if as_json:
        for failure in found[:limit]:
            click.echo(json_line(failure))
    else:
        # What fits a terminal; `show` tells the rest.
        write_table(("ID", "STAGE", "REASON", "SOURCE", "FAILED"), [
            (each.failure_id, each.stage, each.reason, each.source, moment(each.failed_at)) for each in found[:limit]
        ])
    if len(found) > limit:
        click.echo(f"there are more than {limit:,}: --limit shows them", err=True)


@failures.command()
@click.argument("failure_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@connects
def show(failure_id: str, as_json: bool, connection: Connection) -> None:
    """Show a failure: what is wrong, where the document came from, and what the logs call it."""
    async def use(client: Client) -> operations_pb2.Failure:
        return await client.get_failure(failure_id)

    failure = connection.run(use)
    if as_json:
        click.echo(json_line(failure))
        return
    for name, value in (
        ("id", failure.failure_id), ("state", STATES[failure.state]),
        ("failed", f"{moment(failure.failed_at)}, stage {failure.stage}, {_tries(failure.attempts)}"),
        ("error", f"{failure.message} [{failure.reason}]"), ("source", failure.source),
        ("collection", failure.collection), ("file", failure.filename), ("original", failure.original_key),
        ("document", failure.document_id), ("version", failure.version_id), ("job", failure.job_id),
        ("request", failure.request_id),
    ):
        if value:
            click.echo(f"{name:<12} {printable(value)}")


@failures.command()
@click.argument("failure_ids", nargs=-1, metavar="[ID]…")
@click.option("--all", "every", is_flag=True, help="All open ones that the other options describe, instead of ids.")
@filters
@connects
def replay(failure_ids: tuple[str, ...], every: bool, which: FailureOptions, connection: Connection) -> None:
    """Have the stage that gave up try again; a failure that was replayed before is left alone."""
    _check_choice(failure_ids, every=every, which=which, command="replay")

    async def use(client: Client) -> operations_pb2.ReplayFailuresResponse:
        return await client.replay_failures(failure_ids, **which)

    done = connection.run(use)
    click.echo(f"replayed {done.replayed_count:,}, skipped {done.skipped_count:,}")
    if done.skipped_count:
        click.echo("skipped: closed before, or the document has a newer version or is deleted", err=True)
    if done.replayed_count:
        click.echo("sourcier jobs list tells how far they are", err=True)


@failures.command()
@click.argument("failure_ids", nargs=-1, metavar="[ID]…")
@click.option("--all", "every", is_flag=True, help="All open ones that the other options describe, instead of ids.")
@click.option("-y", "--yes", is_flag=True, help="With --all, do not ask.")
@filters
@connects
def discard(
    failure_ids: tuple[str, ...], every: bool, yes: bool, which: FailureOptions, connection: Connection
) -> None:
    """Close failures without trying again; closing one twice changes nothing."""
    _check_choice(failure_ids, every=every, which=which, command="discard")
    if every and not yes:
        described = ", ".join(f"{name} {value}" for name, value in which.items())
        click.confirm(f"Close all open failures{f' ({described})' if described else ''} without trying again?",
                      abort=True, err=True)

    async def use(client: Client) -> int:
        return await client.discard_failures(failure_ids, **which)

    click.echo(f"discarded {counted(connection.run(use), 'failure')}")


def _check_choice(failure_ids: tuple[str, ...], *, every: bool, which: FailureOptions, command: str) -> None:
    """Refuse what would be taken for more, or for less, than was meant."""
    hint = f"sourcier failures {command} ID…, or: sourcier failures {command} --all [--stage …] [--reason …]"
    if failure_ids and (every or which):
        raise Failure("ids are given, and --all or a filter, too", hint=hint, exit_code=2)
    if not failure_ids and not every:
        raise Failure("neither ids nor --all is given", hint=hint, exit_code=2)


def _tries(attempts: int) -> str:
    return "1 try" if attempts == 1 else f"{attempts:,} tries"
