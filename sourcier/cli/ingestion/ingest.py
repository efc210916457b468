"""`sourcier ingest`: brings files and folders in."""

from __future__ import annotations

import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.ingestion.files import Selection, select
from sourcier.cli.text import counted, one_line

if TYPE_CHECKING:
    from sourcier.cli.ingestion.progress import Bars, Lines
    from sourcier.cli.ingestion.sending import Outcome
    from sourcier.client import Client
    from sourcier.gateway.v1 import knowledge_pb2

INTERACTIVE_FILES_MAX = 20
HIDDEN_SHOWN = 5
MISSING_SHOWN = 5
METADATA_EXAMPLE = "--metadata service=rh"


@click.command()
@click.argument("paths", nargs=-1, required=True, type=click.Path(), metavar="PATH…")
@click.option("-c", "--collection", default="", help="Where to; `default` by default.")
@click.option("--create", is_flag=True, help="Create the collection when there is none of that name.")
@click.option("--wait", is_flag=True, help="Wait until every document can be found or has failed.")
@click.option("--lane", type=click.Choice(["interactive", "bulk"]),
              help=f"Interactive documents overtake bulk ones; bulk over {INTERACTIVE_FILES_MAX} files by default.")
@click.option("--category", default="", help="The documents' category.")
@click.option("--metadata", multiple=True, metavar="KEY=VALUE", help="A fact to filter by; may be repeated.")
@click.option("--concurrency", type=click.IntRange(1, 64), default=8, show_default=True, help="Uploads at once.")
@click.option("--timeout", "timeout_seconds", type=click.FloatRange(min=0, min_open=True), default=3600.0,
              show_default=True, metavar="SECONDS", help="With --wait, the longest one document may take.")
@click.option("--remove-missing", is_flag=True,
              help="Delete the documents of the folders given whose file is gone.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a file.")
@connects
def ingest(
    paths: tuple[str, ...], collection: str, create: bool, wait: bool, lane: str | None, category: str,
    metadata: tuple[str, ...], concurrency: int, timeout_seconds: float, remove_missing: bool, as_json: bool,
    connection: Connection,
) -> int:
    """Bring in files, folders with all they hold, and patterns ('docs/**/*.pdf').

    A document is identified by its path from the folder you stand in, however it is given; what lies elsewhere by its
    path from the root. The same path again is a new version (`replaced`); the same content again changes nothing; a
    file that was renamed or moved stays the document that it was (`renamed`). Hidden files and links to folders are
    passed over in folders. The exit code is 1 when any file failed.
    """
    facts = key_values(metadata, example=METADATA_EXAMPLE)
    selection = select(paths)
    tell_left_out(selection)
    count = len(selection.files)
    document: dict[str, Any] = {
        "collection": collection, "category": category, "metadata": facts,
        "lane": lane or ("bulk" if count > INTERACTIVE_FILES_MAX else "interactive"),
    }

    if remove_missing and not selection.folders:
        raise Failure("--remove-missing looks for documents of folders, and no folder is given", exit_code=2,
                      hint="name the folder; or: sourcier documents delete")

    async def use(client: Client) -> list[Outcome]:
        from sourcier.cli.ingestion.identity import identify
        from sourcier.cli.ingestion.sending import Ingestion

        await ensure_collection(client, collection, create=create)
        identified = await identify(client, selection, collection=collection)
        if not identified.complete:
            click.echo("the collection is large: files are not compared with its documents, to find those that were "
                       "renamed or are missing", err=True)
        with shown(count, wait=wait, as_json=as_json) as progress:
            outcomes = await Ingestion(
                client=client, progress=progress, document=document, wait=wait, uploads_at_once=concurrency,
                timeout_seconds=timeout_seconds, contents=identified.contents,
            ).run(identified.files)
        if remove_missing:
            await delete_missing(client, identified.missing, as_json=as_json)
        else:
            tell_missing(identified.missing)
        return outcomes

    started = time.monotonic()
    try:
        outcomes = connection.run(use)
    except KeyboardInterrupt:
        click.echo("interrupted; what was sent goes on being indexed: sourcier jobs list", err=True)
        raise
    summarise(outcomes, seconds=time.monotonic() - started, to_error=as_json, wait=wait)
    return int(any(outcome.status == "failed" for outcome in outcomes))


async def ensure_collection(client: Client, name: str, *, create: bool) -> None:
    """Make sure that the collection exists before the first file is sent; `default` is made by its first document."""
    from sourcier.errors import AlreadyExists

    names = {collection.name async for collection in client.collections()}
    if name in {"", "default", *names}:
        return
    if not create:
        raise Failure(f'there is no collection "{name}"', hint=f"add --create, or: sourcier collections create {name}")
    try:
        await client.create_collection(name)
    except AlreadyExists:
        return


def shown(count: int, *, wait: bool, as_json: bool) -> Bars | Lines:
    """Return the way to show progress: bars need a terminal."""
    from sourcier.cli.ingestion.progress import Bars, JsonLines, Lines

    if as_json:
        return JsonLines()
    return Bars(total=count, wait=wait) if sys.stderr.isatty() else Lines()


def summarise(outcomes: list[Outcome], *, seconds: float, to_error: bool, wait: bool) -> None:
    """Write the counts; each file that failed was told with its reason as it ended."""
    counts = Counter[str](outcome.status for outcome in outcomes)
    first = "indexed" if wait else "accepted"
    others = [f"{counts[status]} {status}" for status in ("replaced", "renamed") if counts[status]]
    parts = [f"{counts[first]} {first}", *others, f"{counts['unchanged']} unchanged", f"{counts['failed']} failed"]
    click.echo(f"{', '.join(parts)} of {counted(len(outcomes), 'file')} in {seconds:.1f} s", err=to_error)
    warned = sum(bool(outcome.warnings) for outcome in outcomes)
    if warned:
        told = f"{counted(warned, 'file')} with warnings"
        click.echo(f"{told}: sourcier documents show tells what was left out, or could not be read", err=True)
    if counts["accepted"]:
        click.echo("sourcier jobs list tells how far they are", err=True)


async def delete_missing(client: Client, missing: Sequence[knowledge_pb2.Document], *, as_json: bool) -> None:
    """Delete the documents whose file is gone, and write each."""
    for document in missing:
        await client.delete_document(document.document_id)
        if as_json:
            click.echo(json.dumps({"source": document.source, "status": "deleted",
                                   "document_id": document.document_id}, ensure_ascii=False))
        else:
            click.echo(f"deleted    {one_line(document.source)} (its file is gone)", err=True)


def tell_missing(missing: Sequence[knowledge_pb2.Document]) -> None:
    """Say which documents have no file any more, and how to delete them."""
    if not missing:
        return
    more = f" and {len(missing) - MISSING_SHOWN} more" if len(missing) > MISSING_SHOWN else ""
    named = ", ".join(one_line(document.source) for document in missing[:MISSING_SHOWN])
    have, them = ("has", "it") if len(missing) == 1 else ("have", "them")
    click.echo(f"{counted(len(missing), 'document')} {have} no file any more: {named}{more}; --remove-missing deletes "
               f"{them}", err=True)


def tell_left_out(selection: Selection) -> None:
    """Say what was passed over."""
    for kind, paths, way_out in (
        ("hidden", selection.hidden, ""), ("special", selection.special, ""),
        ("links to folders", selection.links, "; name them to bring them in"),
    ):
        if paths:
            more = f" and {len(paths) - HIDDEN_SHOWN} more" if len(paths) > HIDDEN_SHOWN else ""
            named = ", ".join(map(one_line, paths[:HIDDEN_SHOWN]))
            click.echo(f"passed over ({kind}): {named}{more}{way_out}", err=True)


def key_values(pairs: tuple[str, ...], *, example: str) -> dict[str, str]:
    """Read KEY=VALUE options; `example` shows how one is written."""
    for pair in pairs:
        if "=" not in pair or pair.startswith("="):
            raise Failure(f"{pair!r} is not KEY=VALUE", hint=f"for example: {example}", exit_code=2)
    return dict(pair.split("=", 1) for pair in pairs)
