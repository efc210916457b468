"""`sourcier collections create | list | delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import json_line, moment, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import knowledge_pb2


@click.group()
def collections() -> None:
    """Create, list and delete collections."""


@collections.command()
@click.argument("name")
@click.option("--method", type=click.Choice(["hybrid", "page", "lines"]), default=None,
              help="How documents are cut: by structure, within pages, or by packed lines.")
@click.option("--unit", type=click.Choice(["tokens", "characters"]), help="What the lengths count.")
@click.option("--target", type=click.IntRange(min=1), help="The length a chunk aims at.")
@click.option("--overlap", type=click.IntRange(min=0), help="How much of a chunk the next one repeats.")
@click.option("--maximum", type=click.IntRange(min=1), help="The length no chunk exceeds.")
@click.option("--if-missing", is_flag=True, help="Succeed when there is one of that name.")
@connects
def create(
    name: str, method: str | None, unit: str | None, target: int | None, overlap: int | None, maximum: int | None,
    if_missing: bool, connection: Connection,
) -> None:
    """Create a collection; lengths left out are the method's own."""
    async def use(client: Client) -> knowledge_pb2.Collection | None:
        from sourcier.errors import AlreadyExists
        from sourcier.gateway.v1 import knowledge_pb2

        chunking = knowledge_pb2.Chunking(
            method=method or "", unit=unit or "", target=target or 0, overlap=overlap, maximum=maximum or 0)
        given = any(value is not None for value in (method, unit, target, overlap, maximum))
        try:
            return await client.create_collection(name, chunking=chunking if given else None)
        except AlreadyExists:
            if not if_missing:
                raise
            return None

    created = connection.run(use)
    click.echo(f"created {name}: {_cut(created.chunking)}" if created is not None else f"{name} exists already")


@collections.command("list")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_collections(as_json: bool, connection: Connection) -> None:
    """List collections by name."""
    async def use(client: Client) -> list[knowledge_pb2.Collection]:
        return [collection async for collection in client.collections()]

    found = connection.run(use)
    if as_json:
        for collection in found:
            click.echo(json_line(collection))
        return
    write_table(("NAME", "DOCUMENTS", "CHUNKS", "CUT", "CREATED"), [
        (each.name, str(each.document_count), str(each.chunk_count), _cut(each.chunking), moment(each.created_at))
        for each in found
    ])


@collections.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@connects
def delete(name: str, yes: bool, connection: Connection) -> None:
    """Delete a collection with all its documents."""
    if not yes:
        click.confirm(f"Delete the collection {name} and all its documents?", abort=True, err=True)

    async def use(client: Client) -> knowledge_pb2.DeleteCollectionResponse:
        return await client.delete_collection(name)

    deleted = connection.run(use)
    click.echo(f"deleted {name} and {deleted.document_count} documents" if deleted.existed else f"there was no {name}")


def _cut(chunking: knowledge_pb2.Chunking) -> str:
    lengths = f" {chunking.target}/{chunking.overlap}/{chunking.maximum} {chunking.unit}" if chunking.target else ""
    return f"{chunking.method or 'hybrid'}{lengths}"
