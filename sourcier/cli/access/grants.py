"""`sourcier grants`: who may read, write and manage which collection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import json_line, moment, printable, word, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import access_pb2

RIGHTS = ("read", "write", "manage", "conversations")
ALL = "(all)"


@click.group()
def grants() -> None:
    """Give people, groups and keys rights on collections."""


@grants.command()
@click.option("--to", "grantee", required=True, metavar="WHO",
              help="user:SUBJECT, group:NAME, key:ID, or everyone: all who sign in to the tenant.")
@click.option("--collection", default="", help="The collection.")
@click.option("--all-collections", is_flag=True, help="All collections, those to come included; for operators.")
@click.option("--right", type=click.Choice(RIGHTS), default="read", show_default=True,
              help="Each includes those before it; conversations lets an operator read those of others.")
@connects
def add(grantee: str, collection: str, all_collections: bool, right: Any, connection: Connection) -> None:
    """Give a right; it takes the place of what they had on the collection."""
    if bool(collection) == (all_collections or right == "conversations"):
        raise Failure("name the collection, or give --all-collections", exit_code=2)

    async def use(client: Client) -> access_pb2.Grant:
        return await client.add_grant(grantee, collection=collection, right=right)

    given = connection.run(use)
    click.echo(f"{printable(given.grantee)} may {right} {printable(given.collection) or ALL}: {given.grant_id}")


@grants.command("list")
@click.option("--collection", default="", help="Only those on this collection.")
@click.option("--to", "grantee", default="", metavar="WHO", help="Only those of this grantee.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_grants(collection: str, grantee: str, as_json: bool, connection: Connection) -> None:
    """List the grants on the collections that you manage."""
    async def use(client: Client) -> list[access_pb2.Grant]:
        return [grant async for grant in client.grants(collection=collection, grantee=grantee)]

    found = connection.run(use)
    if as_json:
        for grant in found:
            click.echo(json_line(grant))
        return
    write_table(("GRANT", "TO", "COLLECTION", "RIGHT", "GIVEN", "BY"), [
        (grant.grant_id, printable(grant.grantee), printable(grant.collection) or ALL, _right(grant),
         moment(grant.granted_at), printable(grant.granted_by))
        for grant in found
    ])


@grants.command()
@click.argument("grant_id")
@connects
def remove(grant_id: str, connection: Connection) -> None:
    """Take a grant back."""
    async def use(client: Client) -> bool:
        return await client.remove_grant(grant_id)

    if not connection.run(use):
        raise Failure(f"there is no grant {grant_id}", hint="sourcier grants list shows them")
    click.echo(f"removed {grant_id}")


def _right(grant: access_pb2.Grant) -> str:
    from sourcier.gateway.v1 import access_pb2

    return word(access_pb2.AccessRight, grant.right)
