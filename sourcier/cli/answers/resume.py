"""`sourcier resume` and `sourcier cancel`: an answer by its id, after its connection broke or from another place."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sourcier.cli.answers.ask import write_answer, write_events
from sourcier.cli.gateway import Connection, connects

if TYPE_CHECKING:
    from sourcier.client import Client


@click.command()
@click.argument("answer_id")
@click.option("--after", "after_sequence", type=click.IntRange(0, 2**64 - 1), default=0, metavar="SEQUENCE",
              help="Leave out the events up to this one.")
@click.option("--timeout", "timeout_seconds", type=click.FloatRange(min=0, min_open=True), default=300.0,
              show_default=True, metavar="SECONDS", help="The longest the answer may take.")
@click.option("--json", "as_json", is_flag=True, help="Write one AskEvent a line, as JSON.")
@connects
def resume(
    answer_id: str, after_sequence: int, timeout_seconds: float, as_json: bool, connection: Connection
) -> int:
    """Read the answer ANSWER_ID, what was said of it before and what is still to come, for 15 minutes.

    The id is in each event of `sourcier ask --json`, and is shown where an answer's connection breaks. Ctrl-C leaves
    the answer alone. Exit codes: as those of `sourcier ask`.
    """
    async def use(client: Client) -> int:
        from contextlib import aclosing

        events = client.resume(answer_id, after_sequence, timeout_seconds=timeout_seconds)
        async with aclosing(events):
            return await (write_events(events) if as_json else write_answer(events))

    return connection.run(use)


@click.command()
@click.argument("answer_id")
@connects
def cancel(answer_id: str, connection: Connection) -> None:
    """Stop the answer ANSWER_ID for all who read it."""
    async def use(client: Client) -> bool:
        return await client.cancel(answer_id)

    click.echo("stopped" if connection.run(use) else "it had ended before")
