"""`sourcier chunks list | show | edit`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sourcier.cli.curation.faq import who
from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import json_line, moment, one_line, printable, word, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import curation_pb2

STATES = click.Choice(["waiting", "enriched", "no_pairs", "failed"])
edits = click.option("--by", "edited_by", metavar="NAME", help="Who changes it; by default who is logged in.")


@click.group()
def chunks() -> None:
    """List, show and edit chunks: category, summary, keywords, usefulness, questions and answers."""


@chunks.command("list")
@click.option("--document", "document_id", default="", metavar="ID", help="Only those of this document.")
@click.option("--agent", default="", help="Only those of the collection that this agent answers from.")
@click.option("--state", type=STATES, help="Only those in this state.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_chunks(document_id: str, agent: str, state: str | None, as_json: bool, connection: Connection) -> None:
    """List chunks and how far each is: waiting, enriched, no_pairs or failed, with the reason."""
    async def use(client: Client) -> list[curation_pb2.Unit]:
        return [unit async for unit in client.units(
            document_id=document_id, agent=agent, state=state,  # type: ignore[arg-type]
        )]

    found = connection.run(use)
    if as_json:
        for unit in found:
            click.echo(json_line(unit))
        return
    write_table(("ID", "DOCUMENT", "CHUNK", "STATE", "PAIRS", "CATEGORY", "SUMMARY", "TOKENS"), [
        (each.unit_id, one_line(each.title, characters_max=30), str(each.chunk_index), state_of(each),
         str(len(each.pairs)), one_line(each.category, characters_max=20), one_line(each.summary, characters_max=50),
         str(each.prompt_tokens + each.completion_tokens))
        for each in found
    ])


@chunks.command()
@click.argument("chunk_id")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def show(chunk_id: str, as_json: bool, connection: Connection) -> None:
    """Show a chunk and what is known of it."""
    async def use(client: Client) -> curation_pb2.Unit:
        return await client.get_unit(chunk_id)

    unit = connection.run(use)
    if as_json:
        click.echo(json_line(unit))
        return
    write_unit(unit)


@chunks.command()
@click.argument("chunk_id")
@click.option("--category", help="The category; empty for none.")
@click.option("--summary", help="What it is about.")
@click.option("--keyword", "keywords", multiple=True, metavar="WORD",
              help="A keyword; may be repeated, and replaces those that it has.")
@click.option("--usefulness", type=click.FloatRange(0, 1), help="How much it would help to answer, 0 to 1.")
@edits
@connects
def edit(
    chunk_id: str, category: str | None, summary: str | None, keywords: tuple[str, ...], usefulness: float | None,
    edited_by: str | None, connection: Connection,
) -> None:
    """Change what is known of a chunk; its vectors are made anew, and a rebuild keeps it."""
    if category is None and summary is None and not keywords and usefulness is None:
        raise Failure("nothing to change is given", hint="sourcier chunks edit --help", exit_code=2)

    async def use(client: Client) -> curation_pb2.Unit:
        return await client.update_unit(
            chunk_id, edited_by=who(edited_by), category=category, summary=summary, keywords=keywords or None,
            usefulness=usefulness,
        )

    write_unit(connection.run(use))


def write_unit(unit: curation_pb2.Unit) -> None:
    """Write a chunk as a person reads it."""
    tokens = f"{unit.prompt_tokens:,} read, {unit.completion_tokens:,} written by {unit.model}" if unit.model else "0"
    edited = f"by {unit.edited_by} on {moment(unit.edited_at)}" if unit.edited_by else "never"
    for label, value in (
        ("chunk", f"{unit.chunk_index} of {unit.title} ({unit.unit_id})"), ("headings", " > ".join(unit.heading_path)),
        ("state", f"{state_of(unit)}{f': {unit.message}' if unit.message else ''}"), ("category", unit.category),
        ("summary", unit.summary), ("keywords", ", ".join(unit.keywords)), ("usefulness", f"{unit.usefulness:.2f}"),
        ("tokens", tokens), ("edited", edited),
    ):
        click.echo(f"{label:<12} {printable(value)}")
    for pair in unit.pairs:
        by = f"  (by {printable(pair.edited_by)})" if pair.edited_by else ""
        click.echo(f"\n{pair.pair_id}{by}\n  ? {printable(pair.question)}\n  = {printable(pair.answer)}")
    click.echo(f"\n{printable(unit.text)}")


def state_of(unit: curation_pb2.Unit) -> str:
    """Return how far a chunk is, with the reason."""
    from sourcier.gateway.v1 import curation_pb2

    name = word(curation_pb2.UnitState, unit.state)
    return f"{name}: {unit.reason}" if unit.reason else name
