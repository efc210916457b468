"""`sourcier documents list | show | get | delete`; its other commands stand in modules of their own."""

from __future__ import annotations

import re
from contextlib import aclosing
from importlib import import_module
from typing import TYPE_CHECKING

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.groups import ClosableGroup
from sourcier.cli.ingestion.files import composed
from sourcier.cli.text import json_line, moment, printable, size, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import knowledge_pb2
    from sourcier.options import DocumentOrderName

_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


# Commands in modules of their own, which are imported when they are used.
_ELSEWHERE = {
    "coverage": "coverage:coverage", "set-date": "times:set_date", "supersedes": "times:supersedes",
    "conflicts": "times:conflicts",
}


class _Documents(ClosableGroup):
    """Some commands of the group stand elsewhere."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*super().list_commands(ctx), *_ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _ELSEWHERE:
            return super().get_command(ctx, cmd_name)
        module, _, attribute = _ELSEWHERE[cmd_name].partition(":")
        command = getattr(import_module(f"sourcier.cli.documents.{module}"), attribute)
        assert isinstance(command, click.Command)
        return command


@click.group(cls=_Documents)
def documents() -> None:
    """List, show and delete documents, tell what of them was read, and say when they hold."""


@documents.command("list")
@click.option("-c", "--collection", default="", help="Only this collection; all by default.")
@click.option("-f", "--filter", "filter", metavar="FILTER",
              help="Only documents that meet this: 'date >= 2024 and type = avenant'.")
@click.option("--name", default="", help="Only documents whose title, file name or source holds this text.")
@click.option("--sort", "order", type=click.Choice(["title", "date", "indexed", "size"]),
              help="In this order; in the order in which they came by default.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_documents(
    collection: str, filter: str | None, name: str, order: DocumentOrderName | None,
    as_json: bool, connection: Connection,
) -> None:
    """List documents: all, or those that a filter or a name tells."""
    async def use(client: Client) -> list[knowledge_pb2.Document]:
        return [document async for document in client.documents(
            collection=collection, filter=filter, name=name, order=order
        )]

    found = connection.run(use)
    if as_json:
        for document in found:
            click.echo(json_line(document))
        return
    write_table(("ID", "COLLECTION", "SOURCE", "TITLE", "CHUNKS", "SIZE", "INDEXED"), [
        (each.document_id, each.collection, each.source, each.title, str(each.chunk_count), size(each.size_bytes),
         moment(each.indexed_at) or "not yet")
        for each in found
    ])


@documents.command()
@click.argument("document")
@click.option("-c", "--collection", default="", help="Where a source is looked up; everywhere by default.")
@click.option("--text", "as_text", is_flag=True, help="Write what was read of it, as Markdown.")
@click.option("--page", type=click.IntRange(min=1), help="The page that --image draws; the chunk's by default.")
@click.option("--image", type=click.Path(dir_okay=False), help="Draw a page of a PDF into this file, as PNG.")
@click.option("--picture", type=click.IntRange(min=1), help="The picture inside the document that --image draws.")
@click.option("--chunk", type=click.IntRange(min=0), help="Mark the chunk of this number on the page, from 0.")
@click.option("--dpi", type=click.IntRange(36, 300), help="Dots an inch of the picture; 110 by default.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@connects
def show(
    document: str, collection: str, as_text: bool, page: int | None, image: str | None, picture: int | None,
    chunk: int | None, dpi: int | None, as_json: bool, connection: Connection,
) -> None:
    """Show a DOCUMENT, named by its id or its source.

    With --image, draw a page of it, and mark where a chunk stands; or one of the pictures inside it.
    """
    drawn = page is not None or chunk is not None or dpi is not None
    if picture is not None and drawn:
        raise Failure("--picture says all that --image draws", hint="leave out --page, --chunk and --dpi", exit_code=2)
    if image is not None:
        async def draw(client: Client) -> None:
            from sourcier.cli.documents.originals import draw_page, draw_picture

            document_id = await identified(client, document, collection)
            if picture is not None:
                await draw_picture(client, document_id, picture=picture, image=image, as_json=as_json)
                return
            await draw_page(
                client, document_id, page=page or 0, image=image, dpi=dpi or 0, chunk=chunk, as_json=as_json
            )

        connection.run(draw)
        return
    if drawn or picture is not None:
        raise Failure(
            "--page, --picture, --chunk and --dpi say what --image draws", hint="add --image FILE.png", exit_code=2
        )
    if as_text:
        connection.run(lambda client: _write_text(client, document, collection, as_json=as_json))
        return

    async def use(client: Client) -> knowledge_pb2.Document:
        return await client.get_document(await identified(client, document, collection))

    found = connection.run(use)
    if as_json:
        click.echo(json_line(found))
        return
    from sourcier.cli.documents.times import shown

    for name, value in (
        ("id", found.document_id), ("title", found.title), ("source", found.source), ("collection", found.collection),
        ("file", ", ".join(part for part in (found.filename, found.content_type, size(found.size_bytes)) if part)),
        ("sha256", found.content_sha256),
        ("category", found.category), ("version", found.version_id), ("chunks", str(found.chunk_count)),
        ("created", moment(found.created_at)), ("indexed", moment(found.indexed_at) or "not yet"),
        *shown(found), *((f"metadata.{key}", value) for key, value in sorted(found.metadata.items())),
    ):
        if value:
            click.echo(f"{name:<12} {printable(value)}")
    if found.warnings:
        from sourcier.cli.documents.reading_warnings import sentences
        from sourcier.cli.text import in_french

        name = "non lu" if in_french() else "not read"
        for number, sentence in enumerate(sentences(found.warnings)):
            click.echo(f"{'' if number else name:<12} {printable(sentence)}")


@documents.command()
@click.argument("document")
@click.option("-o", "--output", required=True, help="The file to write; - is standard output.")
@click.option("--version", "version_id", default="", help="A version's id; the one that answers now by default.")
@click.option("-c", "--collection", default="", help="Where a source is looked up; everywhere by default.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON about the file.")
@connects
def get(
    document: str, output: str, version_id: str, collection: str, as_json: bool, connection: Connection
) -> None:
    """Save the file that a DOCUMENT was read from, as it was uploaded."""
    async def use(client: Client) -> None:
        from sourcier.cli.documents.originals import get_original

        await get_original(client, await identified(client, document, collection), output=output,
                           version_id=version_id, as_json=as_json)

    connection.run(use)


async def _write_text(client: Client, document: str, collection: str, *, as_json: bool) -> None:
    document_id = await identified(client, document, collection)
    async with aclosing(client.document_text(document_id)) as pieces:
        async for piece in pieces:
            click.echo(json_line(piece) if as_json else printable(piece.text), nl=as_json)
    if not as_json:
        click.echo()


@documents.command()
@click.argument("names", nargs=-1, required=True, metavar="DOCUMENT…")
@click.option("-c", "--collection", default="", help="Where a source is looked up; everywhere by default.")
@click.option("-y", "--yes", is_flag=True, expose_value=False, help="Taken as elsewhere; nothing is asked.")
@connects
def delete(names: tuple[str, ...], collection: str, connection: Connection) -> None:
    """Delete documents, named by id or source; they are never found again."""
    async def use(client: Client) -> None:
        for name in names:
            existed = await client.delete_document(await identified(client, name, collection))
            click.echo(f"{'deleted' if existed else 'there was none:'} {name}")

    connection.run(use)


async def identified(client: Client, name: str, collection: str) -> str:
    """Return a document's id: the name is one, or a source that exactly one document has.

    An accent may be a character of its own in the one and part of a letter in the other, as macOS and Linux have it.
    """
    if _ID.fullmatch(name):
        return name
    alike = [each async for each in client.documents(collection=collection)
             if composed(name) in (composed(each.source), each.document_id)]
    found = [each for each in alike if each.source == name] or alike
    if not found:
        raise Failure(f"no document has the id or the source {name!r}", hint="sourcier documents list")
    if len(found) > 1:
        raise Failure(f"{len(found)} documents are from {name!r}",
                      hint="name one with --collection, or give the document's id")
    return found[0].document_id

