"""`sourcier conversations list | show | update | delete`."""

from __future__ import annotations

from contextlib import aclosing
from typing import TYPE_CHECKING

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import counted, json_line, moment, place, printable, write_table

if TYPE_CHECKING:
    from sourcier.calls.conversations import RerankName
    from sourcier.client import Client
    from sourcier.gateway.v1 import conversation_pb2

RERANK = {1: "service", 2: "on", 3: "off"}
ASSISTANT = 2
SPEAKERS = {1: "you", ASSISTANT: "sourcier"}
STATES = {1: "unfinished", 3: "cut off", 4: "failed"}
RATINGS = {1: "up", 2: "down"}


@click.group()
def conversations() -> None:
    """List, show, change and delete conversations."""


@conversations.command("list")
@click.option("-n", "--limit", type=click.IntRange(min=1), default=50, show_default=True, help="Most conversations.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_conversations(limit: int, as_json: bool, connection: Connection) -> None:
    """List conversations, the last one used first."""
    async def use(client: Client) -> list[conversation_pb2.Conversation]:
        found: list[conversation_pb2.Conversation] = []
        async with aclosing(client.conversations(page_size=min(limit + 1, 200))) as listed:
            async for conversation in listed:
                found.append(conversation)
                if len(found) > limit:
                    break
        return found

    found = connection.run(use)
    if as_json:
        for conversation in found[:limit]:
            click.echo(json_line(conversation))
    else:
        write_table(("ID", "TITLE", "MESSAGES", "RERANK", "USED"), [
            (each.conversation_id, each.title, str(each.message_count), RERANK.get(each.rerank, ""),
             moment(each.updated_at)) for each in found[:limit]
        ])
    if len(found) > limit:
        click.echo(f"there are more than {limit:,}: --limit shows them", err=True)


@conversations.command()
@click.argument("conversation_id", metavar="ID")
@click.option("--json", "as_json", is_flag=True, help="Write one message a line, as JSON.")
@connects
def show(conversation_id: str, as_json: bool, connection: Connection) -> None:
    """Show a conversation: questions, answers, sources and ratings."""
    async def use(client: Client) -> list[conversation_pb2.ConversationMessage]:
        return [message async for message in client.messages(conversation_id)]

    for message in connection.run(use):
        if as_json:
            click.echo(json_line(message))
        else:
            _write(message)


@conversations.command()
@click.argument("conversation_id", metavar="ID")
@click.option("--title", help="The new title.")
@click.option("--rerank", type=click.Choice(["on", "off", "service"]),
              help="Whether its answers re-rank; `service` leaves it to the service's setting.")
@connects
def update(conversation_id: str, title: str | None, rerank: RerankName | None, connection: Connection) -> None:
    """Change a conversation's title, and whether its answers re-rank."""
    if title is None and rerank is None:
        raise Failure("nothing to change is given", hint="sourcier conversations update --help", exit_code=2)

    async def use(client: Client) -> conversation_pb2.Conversation:
        return await client.update_conversation(conversation_id, title=title, rerank=rerank)

    updated = connection.run(use)
    click.echo(f"updated {printable(updated.title) or updated.conversation_id}, "
               f"re-ranking {RERANK.get(updated.rerank, '')}")


@conversations.command()
@click.argument("conversation_ids", metavar="ID…", nargs=-1, required=True)
@click.option("-y", "--yes", is_flag=True, expose_value=False, help="Taken as elsewhere; nothing is asked.")
@connects
def delete(conversation_ids: tuple[str, ...], connection: Connection) -> None:
    """Delete conversations with their messages and ratings."""
    async def use(client: Client) -> int:
        return sum([await client.delete_conversation(conversation_id) for conversation_id in conversation_ids])

    deleted = connection.run(use)
    click.echo(f"deleted {counted(deleted, 'conversation')}")
    if deleted < len(conversation_ids):
        click.echo(f"{len(conversation_ids) - deleted:,} did not exist", err=True)


def _write(message: conversation_pb2.ConversationMessage) -> None:
    notes = [STATES.get(message.state, ""), message.reason]
    if message.rating:
        notes.append(f"rated {RATINGS[message.rating]}")
    told = ", ".join(printable(note) for note in notes if note)
    # By its id an answer is rated, or approved as an FAQ entry.
    own_id = message.message_id if message.role == ASSISTANT else ""
    heading = [SPEAKERS.get(message.role, ""), moment(message.created_at), told, own_id]
    click.secho(" · ".join(part for part in heading if part), bold=True)
    if message.content:
        click.echo(printable(message.content))
    if message.rewritten:
        click.echo(f"  asked as: {printable(message.rewritten)}")
    for source in message.sources:
        marker = f"[{source.marker}] " if source.marker else ""
        click.echo(f"  {marker}{place(source.title, source.source, source.page, source.places)}")
    if message.rating_comment:
        click.echo(f"  comment: {printable(message.rating_comment)}")
    click.echo()
