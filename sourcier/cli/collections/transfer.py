"""`sourcier export` and `sourcier import`: a collection out into a folder, vectors included, and in again."""

from __future__ import annotations

import sys
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.inputs import GivenPath
from sourcier.cli.text import counted, json_line, printable

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import transfer_pb2


@click.command("export")
@click.argument("collection")
@click.argument("folder", type=GivenPath())
@click.option("--json", "as_json", is_flag=True, help="Write the manifest as one JSON object.")
@connects
def export_collection(collection: str, folder: Path, as_json: bool, connection: Connection) -> None:
    """Write a collection into a folder: texts, ids, vectors and what they were made with.

    The originals are not part of it. The folder must be empty, and appears when all is written.
    """
    async def use(client: Client) -> transfer_pb2.TransferManifest:
        with _progress("exporting") as shown:
            return await client.export_collection(collection, folder, progress=_telling(shown, "exported"))

    manifest = connection.run(use)
    if as_json:
        click.echo(json_line(manifest))
        return
    click.echo(f"exported {counted(manifest.document_count, 'document')}, {counted(manifest.chunk_count, 'chunk')} "
               f"to {printable(str(folder))}")


@click.command("import")
@click.argument("folder", type=GivenPath())
@click.option("-c", "--collection", default="", help="Where to; the name it was exported under by default.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def import_collection(folder: Path, collection: str, as_json: bool, connection: Connection) -> None:
    """Take in a collection that was exported; nothing is read or embedded again.

    The collection is created, or empty, or from the same export: an import that was cut off goes on from there.
    """
    if not folder.is_dir():
        raise Failure(f"there is no folder {folder}", hint="sourcier export makes one", exit_code=2)

    async def use(client: Client) -> transfer_pb2.ImportCollectionResponse:
        with _progress("importing") as shown:
            return await client.import_collection(
                folder, collection=collection, progress=_telling(shown, "sent")
            )

    try:
        response = connection.run(use)
    except KeyboardInterrupt:
        click.echo("interrupted; asked for again, the import goes on from here", err=True)
        raise
    if as_json:
        click.echo(json_line(response))
        return
    skipped = f"; {response.skipped_count:,} were there already" if response.skipped_count else ""
    click.echo(f"imported {counted(response.document_count, 'document')}, {counted(response.chunk_count, 'chunk')} "
               f"into {printable(response.collection)}{skipped}")


def _progress(doing: str) -> Any:
    """Return what shows how far it is: one line on a terminal, nothing elsewhere."""
    if not sys.stderr.isatty():
        return nullcontext()
    from rich.console import Console

    return Console(stderr=True).status(doing)


def _telling(shown: Any, done: str) -> Any:
    if shown is None:
        return None

    def tell(documents: int, chunks: int) -> None:
        shown.update(f"{done} {counted(documents, 'document')}, {counted(chunks, 'chunk')}")

    return tell
