"""`sourcier collections create | update | list | show | delete`."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, cast

import click

from sourcier.cli.answers.retrieval import read_settings, searched, told
from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.inputs import COUNT_MAX
from sourcier.cli.text import counted, json_line, moment, printable, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import knowledge_pb2, spaces_pb2
    from sourcier.options import CollectionRetrieval


@click.group()
def collections() -> None:
    """Create, change, list, show and delete collections."""


def cuts(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that say how documents are cut; it gets a `chunking` argument, None for none given."""
    @click.option("--method", type=click.Choice(["hybrid", "page", "lines"]), default=None,
                  help="How documents are cut: by structure, within pages, or by packed lines.")
    @click.option("--unit", type=click.Choice(["tokens", "characters"]), help="What the lengths count.")
    @click.option("--target", type=click.IntRange(1, COUNT_MAX), help="The length a chunk aims at.")
    @click.option("--overlap", type=click.IntRange(0, COUNT_MAX), help="How much of a chunk the next one repeats.")
    @click.option("--maximum", type=click.IntRange(1, COUNT_MAX), help="The length no chunk exceeds.")
    @functools.wraps(command)
    def wrapped(
        *arguments: Any, method: str | None, unit: str | None, target: int | None, overlap: int | None,
        maximum: int | None, **options: Any,
    ) -> Any:
        from sourcier.gateway.v1 import knowledge_pb2

        given = any(value is not None for value in (method, unit, target, overlap, maximum))
        chunking = knowledge_pb2.Chunking(
            method=method or "", unit=unit or "", target=target or 0, overlap=overlap, maximum=maximum or 0)
        return command(*arguments, chunking=chunking if given else None, **options)

    return wrapped


keeps = click.option(
    "--retention-days", type=click.IntRange(0, 36_500), metavar="N",
    help="Remove documents N days after they were indexed last; 0 keeps them until they are deleted.",
)


@collections.command()
@click.argument("name")
@cuts
@keeps
@searched
@click.option("--if-missing", is_flag=True, help="Succeed when there is one of that name.")
@connects
def create(
    name: str, chunking: knowledge_pb2.Chunking | None, retention_days: int | None, retrieval: tuple[str, ...],
    if_missing: bool, connection: Connection,
) -> None:
    """Create a collection; lengths left out are the method's own."""
    settings, _ = read_settings(retrieval)

    async def use(client: Client) -> knowledge_pb2.Collection | None:
        from sourcier.errors import AlreadyExists

        try:
            return await client.create_collection(
                name, chunking=chunking, retention_days=retention_days or 0, retrieval=_retrieval(settings)
            )
        except AlreadyExists:
            if not if_missing:
                raise
            return None

    created = connection.run(use)
    if created is None:
        click.echo(f"{name} exists already")
        return
    click.echo(f"created {name}: {_cut(created.chunking)}{_told(created, retention_days)}")


@collections.command()
@click.argument("name")
@cuts
@keeps
@searched
@connects
def update(
    name: str, chunking: knowledge_pb2.Chunking | None, retention_days: int | None, retrieval: tuple[str, ...],
    connection: Connection,
) -> None:
    """Change how a collection's documents are cut from now on, how long they are kept, and how they are searched.

    Of the options that say how, those left out are the method's own; without any, documents are cut as before. Those
    that it holds stay as they are until they are cut again: sourcier reprocess --from chunk.
    """
    settings, reset = read_settings(retrieval)
    if chunking is None and retention_days is None and not retrieval:
        raise Failure("nothing to change is given", hint="sourcier collections update --help", exit_code=2)

    async def use(client: Client) -> knowledge_pb2.UpdateCollectionResponse:
        return await client.update_collection(
            name, chunking=chunking, retention_days=retention_days, retrieval=_retrieval(settings),
            reset_retrieval=reset,
        )

    updated = connection.run(use)
    click.echo(f"updated {name}: {_cut(updated.collection.chunking)}{_told(updated.collection, retention_days)}")
    if updated.outdated_count:
        click.echo(f"{counted(updated.outdated_count, 'document')} cut otherwise; to cut them again: "
                   f"sourcier reprocess --from chunk --collection {shlex.quote(name)} --only-outdated")


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
    write_table(("NAME", "DOCUMENTS", "CHUNKS", "CUT", "KEPT", "SEARCHED", "CREATED"), [
        (each.name, str(each.document_count), str(each.chunk_count), _cut(each.chunking), _kept(each.retention_days),
         told(each.retrieval) or "by default", moment(each.created_at))
        for each in found
    ])


@collections.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def show(name: str, as_json: bool, connection: Connection) -> None:
    """Show what a collection's index was made of and with, how long documents are kept, and how they are searched."""
    async def use(client: Client) -> tuple[spaces_pb2.BuildManifest, knowledge_pb2.Collection | None]:
        manifest = await client.build_manifest(name)
        async with aclosing(client.collections()) as found:
            held = [each async for each in found if each.name == manifest.collection]
        return manifest, held[0] if held else None

    manifest, held = connection.run(use)
    if as_json:
        click.echo(json_line(manifest))
        return
    cut = (f"{manifest.chunking_method} {manifest.chunking_target}/{manifest.chunking_overlap}/"
           f"{manifest.chunking_maximum} {manifest.chunking_unit}")
    if manifest.outdated_count:
        cut += f"; {counted(manifest.outdated_count, 'document')} otherwise"
    for label, value in (
        ("collection", manifest.collection), ("built", moment(manifest.built_at)),
        ("documents", f"{manifest.document_count:,}"), ("chunks", f"{manifest.chunk_count:,}"),
        ("corpus", manifest.corpus_sha256), ("cut", cut), ("parser", manifest.parser_version),
        ("model", f"{manifest.model}, revision {manifest.revision}"), ("dimension", str(manifest.dimension)),
        ("space", manifest.space_id), ("kept", _kept(held.retention_days if held else 0)),
        ("searched", (told(held.retrieval) if held else "") or "by default"),
    ):
        click.echo(f"{label:<12} {printable(value)}")


@collections.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--timeout", "timeout_seconds", type=click.FloatRange(min=0, min_open=True), default=3600.0,
              show_default=True, metavar="SECONDS", help="How long to wait until all is deleted.")
@connects
def delete(name: str, yes: bool, timeout_seconds: float, connection: Connection) -> None:
    """Delete a collection with all its documents.

    They go page by page. Cut off, what is deleted stays deleted, and the same command goes on with the rest.
    """
    if not yes:
        click.confirm(f"Delete the collection {name} and all its documents?", abort=True, err=True)

    async def use(client: Client) -> knowledge_pb2.DeleteCollectionResponse:
        from sourcier.errors import DeadlineExceeded

        try:
            return await client.delete_collection(name, timeout_seconds=timeout_seconds)
        except DeadlineExceeded as error:
            raise Failure(
                f"the time allowed ran out before all of {name} was deleted",
                hint="what is deleted stays deleted; the same command goes on with the rest",
            ) from error

    deleted = connection.run(use)
    click.echo(f"deleted {name} and {deleted.document_count} documents" if deleted.existed else f"there was no {name}")


def _retrieval(settings: dict[str, Any]) -> CollectionRetrieval | None:
    return cast("CollectionRetrieval", settings) if settings else None


def _cut(chunking: knowledge_pb2.Chunking) -> str:
    lengths = f" {chunking.target}/{chunking.overlap}/{chunking.maximum} {chunking.unit}" if chunking.target else ""
    return f"{chunking.method or 'hybrid'}{lengths}"


def _kept(retention_days: int) -> str:
    return counted(retention_days, "day") if retention_days else "for ever"


def _told(collection: knowledge_pb2.Collection, asked: int | None) -> str:
    """Return how long documents are kept where somebody set it, now or before."""
    return f", kept {_kept(collection.retention_days)}" if collection.retention_days or asked is not None else ""
