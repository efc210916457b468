"""`sourcier login`, `logout`, `whoami`: a person at a terminal signs in with a browser, wherever that is."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import json_line, moment, printable, word

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import access_pb2


@click.command()
@connects
def login(connection: Connection) -> None:
    """Sign in at the gateway's identity provider; the sign-in is kept in a file of your own."""
    from sourcier.connection import signing_in

    async def use(client: Client) -> access_pb2.GetSignInResponse:
        return await client.sign_in()

    told = connection.run(use)
    if not told.required:
        click.echo("this gateway asks for no sign-in")
        return
    if not told.issuer or not told.client_id:
        raise Failure("this gateway signs nobody in: it takes API keys",
                      hint="an operator makes one with sourcier keys create; give it with --token or SOURCIER_TOKEN")
    answer, token_endpoint = signing_in.begin(
        issuer=told.issuer, client_id=told.client_id, scope=told.scope, audience=told.audience
    )
    address = answer.get("verification_uri_complete") or answer.get("verification_uri") or ""
    click.echo(f"Open {printable(str(address))}", err=True)
    click.echo(f"and confirm the code {printable(str(answer.get('user_code', '')))}", err=True)
    signed_in = signing_in.finish(answer, token_endpoint=token_endpoint, client_id=told.client_id)
    signing_in.keep(connection.target().address, signed_in)
    click.echo(f"signed in; kept in {signing_in.credentials_file()}")


@click.command()
@connects
def logout(connection: Connection) -> None:
    """Forget the sign-in at the gateway."""
    from sourcier.connection import signing_in

    signing_in.keep(connection.target().address, None)
    click.echo("signed out")


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def whoami(as_json: bool, connection: Connection) -> None:
    """Show whom the gateway takes you for."""
    async def use(client: Client) -> access_pb2.WhoAmIResponse:
        return await client.who_am_i()

    found = connection.run(use)
    if as_json:
        click.echo(json_line(found))
        return
    ends = f", until {moment(found.expires_at)}" if found.HasField("expires_at") else ""
    who = printable(found.name) or "nobody in particular: this gateway asks for no account"
    click.echo(f"{who} (tenant {found.tenant}, {_role(found)}{ends})")
    for group in found.groups:
        click.echo(f"  group:{printable(group)}")


def _role(found: access_pb2.WhoAmIResponse) -> str:
    from sourcier.gateway.v1 import access_pb2

    return word(access_pb2.AccountRole, found.role)
