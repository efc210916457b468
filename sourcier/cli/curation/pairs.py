"""`sourcier pairs add | edit | delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sourcier.cli.curation.chunks import edits, write_unit
from sourcier.cli.curation.faq import who
from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import curation_pb2


@click.group()
def pairs() -> None:
    """Add, edit and delete the questions that a chunk answers; `sourcier chunks show` lists them."""


@pairs.command()
@click.argument("chunk_id")
@click.argument("question")
@click.argument("answer")
@edits
@connects
def add(chunk_id: str, question: str, answer: str, edited_by: str | None, connection: Connection) -> None:
    """Add a QUESTION and its ANSWER to a chunk."""
    async def use(client: Client) -> curation_pb2.Unit:
        return await client.add_pair(chunk_id, question, answer, edited_by=who(edited_by))

    write_unit(connection.run(use))


@pairs.command()
@click.argument("pair_id")
@click.option("--question", default="", help="The question as it should be.")
@click.option("--answer", default="", help="The answer as it should be.")
@edits
@connects
def edit(pair_id: str, question: str, answer: str, edited_by: str | None, connection: Connection) -> None:
    """Change a question or its answer; what is left out stays."""
    if not question and not answer:
        raise Failure("nothing to change is given", hint="sourcier pairs edit --help", exit_code=2)

    async def use(client: Client) -> curation_pb2.Unit:
        return await client.update_pair(pair_id, edited_by=who(edited_by), question=question, answer=answer)

    write_unit(connection.run(use))


@pairs.command()
@click.argument("pair_id")
@edits
@connects
def delete(pair_id: str, edited_by: str | None, connection: Connection) -> None:
    """Delete a question and its answer."""
    async def use(client: Client) -> curation_pb2.Unit:
        return await client.delete_pair(pair_id, edited_by=who(edited_by))

    write_unit(connection.run(use))
