"""`sourcier keys`: credentials for programs."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import json_line, moment, printable, word, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import access_pb2

ROLES = ("reader", "writer", "manager", "operator")


@click.group()
def keys() -> None:
    """Make, list and revoke API keys."""


@keys.command()
@click.argument("name")
@click.option("--role", type=click.Choice(ROLES), default="reader", show_default=True, help="How much it may do.")
@click.option("--collection", "collections", multiple=True, metavar="NAME",
              help="A collection that it gets its role's right on; may be repeated.")
@click.option("--days", type=click.IntRange(1, 36_500), help="How long it is valid; by default until it is revoked.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object, the secret in it.")
@connects
def create(
    name: str, role: Any, collections: tuple[str, ...], days: int | None, as_json: bool, connection: Connection
) -> None:
    """Make a key. It is shown this once: what is kept of it is a hash."""
    async def use(client: Client) -> access_pb2.CreateKeyResponse:
        return await client.create_key(
            name, role=role, collections=collections, valid_for=None if days is None else timedelta(days=days)
        )

    made = connection.run(use)
    if as_json:
        click.echo(json_line(made))
        return
    click.echo(made.secret)
    click.echo(f"key {made.key.key_id} ({role}); keep it now, it is not shown again", err=True)


@keys.command("list")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_keys(as_json: bool, connection: Connection) -> None:
    """List keys, the newest first; never their secrets."""
    async def use(client: Client) -> list[access_pb2.ApiKey]:
        return [key async for key in client.api_keys()]

    found = connection.run(use)
    if as_json:
        for key in found:
            click.echo(json_line(key))
        return
    write_table(("KEY", "NAME", "ROLE", "CREATED", "BY", "STATE"), [
        (key.key_id, printable(key.name), _role(key), moment(key.created_at), printable(key.created_by), _state(key))
        for key in found
    ])


@keys.command()
@click.argument("key_id")
@connects
def revoke(key_id: str, connection: Connection) -> None:
    """End a key for good."""
    async def use(client: Client) -> access_pb2.ApiKey:
        return await client.revoke_key(key_id)

    click.echo(f"revoked {connection.run(use).key_id}")


def _role(key: access_pb2.ApiKey) -> str:
    from sourcier.gateway.v1 import access_pb2

    return word(access_pb2.AccountRole, key.role)


def _state(key: access_pb2.ApiKey) -> str:
    if key.HasField("revoked_at"):
        return f"revoked {moment(key.revoked_at)}"
    return f"until {moment(key.expires_at)}" if key.HasField("expires_at") else "valid"
