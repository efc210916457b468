"""`sourcier documents coverage`: every document of a collection accounted for, in one look."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import in_french, json_line, one_line, printable

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import knowledge_pb2

EXAMPLES_MAX = 20
_WORDS = {
    "documents": ("documents", "documents"),
    "whole": ("answer, and all of them was read", "répondent, lus en entier"),
    "partial": ("answer, but not all of them was read", "répondent, lus en partie"),
    "under_way": ("are under way", "sont en cours de lecture"),
    "failed": ("were given up, and do not answer", "ont été abandonnés et ne répondent pas"),
    "updating": ("answer in an earlier version: a newer one is under way",
                 "répondent dans une version antérieure : une nouvelle est en cours de lecture"),
    "outdated": ("answer in an earlier version: the newest was given up",
                 "répondent dans une version antérieure : la dernière a été abandonnée"),
    "unread": ("Not read", "Non lu"),
    "failures": ("Given up", "Abandonnés"),
}


@click.command()
@click.option("-c", "--collection", default="", help="The collection; `default` when left out.")
@click.option("-n", "--examples", type=click.IntRange(1, EXAMPLES_MAX), default=3, show_default=True,
              help="Most documents named for each reason.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def coverage(collection: str, examples: int, as_json: bool, connection: Connection) -> None:
    """Account for every document: read whole, read in part, under way or given up, and why."""
    async def use(client: Client) -> knowledge_pb2.GetCoverageResponse:
        return await client.coverage(collection, examples=examples)

    found = connection.run(use)
    if as_json:
        click.echo(json_line(found))
        return
    click.echo(printable(f"{found.collection}: {found.document_count:,} {_word('documents')}"))
    for name, count in (
        ("whole", found.whole_count), ("partial", found.partial_count), ("under_way", found.under_way_count),
        ("failed", found.failed_count), ("updating", found.updating_count), ("outdated", found.outdated_count),
    ):
        # What is rare is shown where there is some.
        if count or name in ("whole", "partial", "failed"):
            click.echo(f"{count:>8,}  {_word(name)}")
    _write_gaps(_word("unread"), [(_told(gap), gap) for gap in found.unread])
    _write_gaps(_word("failures"), [(gap.reason, gap) for gap in found.failures])


def _write_gaps(heading: str, gaps: Sequence[tuple[str, knowledge_pb2.CoverageGap]]) -> None:
    if not gaps:
        return
    click.secho(f"\n{heading}", bold=True)
    for told, gap in gaps:
        click.echo(printable(f"{gap.document_count:>8,}  {told}"))
        for document in gap.examples:
            message = f": {one_line(document.message)}" if document.message else ""
            click.secho(printable(f"{'':10}{document.source}{message}"), dim=True)
        if gap.document_count > len(gap.examples):
            click.secho(f"{'':10}…", dim=True)


def _told(gap: knowledge_pb2.CoverageGap) -> str:
    """Return what was not read, and how often in all these documents."""
    from sourcier.cli.documents.reading_warnings import sentences
    from sourcier.gateway.v1 import knowledge_pb2

    count = min(gap.count, 2**32 - 1)
    (sentence,) = sentences([knowledge_pb2.ReadingWarning(code=gap.reason, count=count)])
    return sentence


def _word(name: str) -> str:
    return _WORDS[name][in_french()]
