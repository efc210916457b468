"""`sourcier facets`: the values of the documents' fields, and how many documents have them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.answers.filtering import where_options, where_to_search
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import counted, json_line, one_line, printable

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import answer_pb2


@click.command()
@click.argument("fields", nargs=-1, metavar="[FIELD]...")
@where_to_search
@click.option("-n", "--limit", type=click.IntRange(1, 1_000), help="Most values of each field, 20 by default.")
@click.option("--json", "as_json", is_flag=True, help="Write one facet a line, as JSON.")
@connects
def facets(
    fields: tuple[str, ...], limit: int | None, as_json: bool, connection: Connection, **options: Any
) -> None:
    """Count the values of each FIELD under a filter: what a search can be narrowed to.

    Without a FIELD: category, language, media_type, and whatever the documents' metadata has.
    """
    where = where_options(options)

    async def use(client: Client) -> answer_pb2.GetFacetsResponse:
        return await client.facets(fields, limit=limit or 0, **where)

    found = connection.run(use)
    for facet in found.facets:
        if as_json:
            click.echo(json_line(facet))
        else:
            write(facet)
    if not as_json:
        click.secho(f"of {counted(found.document_count, 'document')}", dim=True, err=True)


def write(facet: answer_pb2.Facet) -> None:
    """Write a facet for a person."""
    click.secho(f"{printable(facet.field)}  {counted(facet.document_count, 'document')}", bold=True)
    width = max((len(str(each.document_count)) for each in facet.values), default=0)
    for each in facet.values:
        click.echo(f"  {each.document_count:>{width}}  {one_line(each.value)}")
    more = facet.value_count - len(facet.values)
    if more > 0:
        click.secho(f"  and {counted(more, 'other value')}", dim=True)
