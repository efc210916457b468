"""`sourcier documents set-date | supersedes | conflicts`, and how dates and relations are shown."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from sourcier.cli.documents.documents import identified
from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import counted, days, json_line, one_line, printable

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import knowledge_pb2

_KINDS = ("effect", "end", "signature", "publication", "document")
_DOES = {"replaces": "replaces", "amends": "amends", "rider": "rider to"}
_IS_DONE = {"replaces": "replaced by", "amends": "amended by", "rider": "has rider"}
_WHY = {"replaced": "it replaces the other", "later": "it is later", "ended": "the other no longer holds",
        "not_yet": "the other does not hold yet"}


@click.command("set-date")
@click.argument("document")
@click.option("--effect", help="Since when it holds: 2024-03-01, 2024-03 or 2024.")
@click.option("--end", help="Until when it holds.")
@click.option("--signature", help="When it was signed.")
@click.option("--publication", help="When it was published.")
@click.option("--document", "own", help="Its own date, where none of these is meant.")
@click.option("--clear", multiple=True, type=click.Choice(_KINDS), help="Go back to the date that was read.")
@click.option("-c", "--collection", default="", help="Where a source is looked up; everywhere by default.")
@click.option("--json", "as_json", is_flag=True, help="Write the document as JSON.")
@connects
def set_date(
    document: str, effect: str | None, end: str | None, signature: str | None, publication: str | None,
    own: str | None, clear: tuple[str, ...], collection: str, as_json: bool, connection: Connection,
) -> None:
    """Set dates of a DOCUMENT, named by its id or its source, in the place of those that were read."""
    told = dict(zip(_KINDS, (effect, end, signature, publication, own), strict=True))
    changes = {kind: date for kind, date in told.items() if date is not None}
    if empty := next((kind for kind, date in changes.items() if not date.strip()), None):
        raise Failure(f"--{empty} is empty", hint=f"--clear {empty} goes back to the date that was read", exit_code=2)
    if both := next((kind for kind in clear if kind in changes), None):
        raise Failure(f"--{both} and --clear {both} are given", hint="give one of them", exit_code=2)
    changes |= dict.fromkeys(clear, "")
    if not changes:
        raise Failure("no date is given", hint="sourcier documents set-date DOCUMENT --effect 2024-03-01", exit_code=2)

    async def use(client: Client) -> knowledge_pb2.Document:
        document_id = await identified(client, document, collection)
        for kind, date in changes.items():
            found = await client.set_document_date(document_id, kind, date)
        return found

    _write(connection.run(use), as_json=as_json)


@click.command()
@click.argument("new")
@click.argument("old")
@click.option("--remove", is_flag=True, help="Say that it does not replace it, whatever its text says.")
@click.option("-c", "--collection", default="", help="Where a source is looked up; everywhere by default.")
@click.option("--json", "as_json", is_flag=True, help="Write the document as JSON.")
@connects
def supersedes(
    new: str, old: str, remove: bool, collection: str, as_json: bool, connection: Connection
) -> None:
    """Say that the document NEW replaces OLD, each named by its id or its source."""
    async def use(client: Client) -> knowledge_pb2.Document:
        return await client.supersede_document(
            await identified(client, new, collection), await identified(client, old, collection), remove=remove
        )

    _write(connection.run(use), as_json=as_json)


@click.command()
@click.option("-c", "--collection", default="default", show_default=True, help="Whose documents are compared.")
@click.option("-n", "--limit", type=click.IntRange(1, 1_000), default=100, show_default=True, help="Most to show.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON.")
@connects
def conflicts(collection: str, limit: int, as_json: bool, connection: Connection) -> None:
    """Find passages that say the same of another figure or date, or no to a yes, and tell which one holds."""
    found = connection.run(lambda client: client.conflicts(collection, limit=limit))
    if as_json:
        click.echo(json_line(found))
        return
    for each in found.conflicts:
        why = _WHY.get(each.reason, each.reason)
        for name, side in (("holds" if each.reason else "one says", each.holds), ("other", each.other)):
            date = f" ({days(side.date_start, side.date_end)})" if side.date_start else ""
            page = f", page {side.page}" if side.page else ""
            click.echo(f"{name:<9} {one_line(side.title) or side.document_id}{date}{page}: « {one_line(side.quote)} »")
        click.echo(f"{'because':<9} {why}\n" if why else f"{'':<9} nothing tells which one holds\n")
    more = "; there is more than was compared or shown" if found.truncated else ""
    passages = counted(found.passages, "passage")
    click.echo(f"{counted(len(found.conflicts), 'conflict')} in {passages}{more}")


def shown(document: knowledge_pb2.Document) -> Iterator[tuple[str, str]]:
    """Yield what is shown of a document's dates and relations: a name and a line each."""
    for date in document.dates:
        words = f": {one_line(date.words, characters_max=80)}" if date.words else ""
        yield f"date.{date.kind}", f"{days(date.start, date.end)} ({date.origin}{words})"
    for names, relations in ((_DOES, document.relations), (_IS_DONE, document.related_by)):
        for each in relations:
            part = f", {each.part}" if each.part else ""
            yield names.get(each.kind, each.kind), f"{one_line(each.title)} {each.document_id} ({each.origin}{part})"


def _write(document: knowledge_pb2.Document, *, as_json: bool) -> None:
    if as_json:
        click.echo(json_line(document))
        return
    for name, value in (("id", document.document_id), ("title", document.title), *shown(document)):
        click.echo(f"{name:<16} {printable(value)}")
