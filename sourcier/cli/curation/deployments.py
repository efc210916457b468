"""`sourcier deployments create | list | show | update | delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from sourcier.cli.curation.agents import method_name, mode_name
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.ingestion.ingest import key_values
from sourcier.cli.text import json_line, moment, printable, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import curation_pb2

overlays = click.option(
    "--set", "overlay", multiple=True, metavar="KEY=VALUE",
    help="A setting that wins over the agent's: indexing_method=classic, direct_similarity=0.97, mode=tools; may be "
         "repeated.",
)


@click.group()
def deployments() -> None:
    """Deploy agents under names of their own, with settings that win over the agent's."""


@deployments.command()
@click.argument("name")
@click.option("--agent", required=True, help="The agent that is deployed.")
@overlays
@connects
def create(name: str, agent: str, overlay: tuple[str, ...], connection: Connection) -> None:
    """Deploy an agent."""
    settings = key_values(overlay, example="--set mode=tools")

    async def use(client: Client) -> curation_pb2.Deployment:
        return await client.create_deployment(name, agent=agent, overlay=settings)

    _tell("created", connection.run(use))


@deployments.command("list")
@click.option("--agent", default="", help="Only those of this agent.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_deployments(agent: str, as_json: bool, connection: Connection) -> None:
    """List deployments."""
    async def use(client: Client) -> list[curation_pb2.Deployment]:
        return [deployment async for deployment in client.deployments(agent=agent)]

    found = connection.run(use)
    if as_json:
        for deployment in found:
            click.echo(json_line(deployment))
        return
    write_table(("NAME", "AGENT", "METHOD", "OVERLAY", "CREATED"), [
        (each.name, each.agent, method_name(each.indexing_method), _overlay(each), moment(each.created_at))
        for each in found
    ])
    for deployment in found:
        _warn(deployment)


@deployments.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def show(name: str, as_json: bool, connection: Connection) -> None:
    """Show a deployment and what its overlay comes to."""
    async def use(client: Client) -> curation_pb2.Deployment:
        return await client.get_deployment(name)

    found = connection.run(use)
    if as_json:
        click.echo(json_line(found))
        return
    similarity = f"{found.direct_similarity:g}" if found.HasField("direct_similarity") else "the service's"
    for label, value in (
        ("deployment", found.name), ("agent", found.agent), ("method", method_name(found.indexing_method)),
        ("mode", mode_name(found.mode)), ("similarity", similarity), ("overlay", _overlay(found)),
        ("created", moment(found.created_at)),
    ):
        click.echo(f"{label:<12} {printable(value)}")
    _warn(found)


@deployments.command()
@click.argument("name")
@overlays
@connects
def update(name: str, overlay: tuple[str, ...], connection: Connection) -> None:
    """Replace the overlay; without --set it is emptied."""
    settings = key_values(overlay, example="--set mode=tools")

    async def use(client: Client) -> curation_pb2.Deployment:
        return await client.update_deployment(name, overlay=settings)

    _tell("updated", connection.run(use))


@deployments.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@connects
def delete(name: str, yes: bool, connection: Connection) -> None:
    """Delete a deployment; the agent stays."""
    if not yes:
        click.confirm(f"Delete the deployment {name}?", abort=True, err=True)

    async def use(client: Client) -> bool:
        return await client.delete_deployment(name)

    click.echo(f"deleted {name}" if connection.run(use) else f"there was no {name}")


def _tell(done: str, deployment: curation_pb2.Deployment) -> None:
    click.echo(f"{done} {printable(deployment.name)}: {printable(deployment.agent)}, "
               f"{method_name(deployment.indexing_method)}")
    _warn(deployment)


def _warn(deployment: curation_pb2.Deployment) -> None:
    for notice in deployment.notices:
        click.secho(f"warning: {printable(deployment.name)}: {printable(notice)}", fg="yellow", err=True)


def _overlay(deployment: curation_pb2.Deployment) -> str:
    return ", ".join(f"{key}={value}" for key, value in sorted(deployment.overlay.items()))
