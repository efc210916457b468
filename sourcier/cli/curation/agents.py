"""`sourcier agents create | list | show | update | rebuild | delete`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.text import counted, json_line, moment, printable, word, write_table

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import answer_pb2, curation_pb2

METHODS = click.Choice(["qa_atomic", "classic", "none"])
MODES = click.Choice(["injection", "tools", "service"])
CHANGES = click.Choice(["flag", "retire"])


@click.group()
def agents() -> None:
    """Create, list, show, change and delete agents: a collection to answer from, and a FAQ."""


@agents.command()
@click.argument("name")
@click.option("-c", "--collection", default="", help="The collection that it answers from; `default` by default.")
@click.option("--description", default="", help="What it is for.")
@click.option("--method", "indexing_method", type=METHODS,
              help="How its documents' chunks are indexed: `qa_atomic` by default; `none` asks nothing of the model.")
@click.option("--mode", type=MODES, help="Who searches: the service, or the language model with a tool.")
@click.option("--on-document-change", type=CHANGES,
              help="What becomes of an FAQ entry whose document changed: flagged for a person, or retired.")
@click.option("--category", "categories", multiple=True, metavar="NAME",
              help="A category that chunks may have; may be repeated. Without any, the language model chooses.")
@click.option("--dry-run", is_flag=True, help="Create nothing; tell how many chunks the language model would read.")
@connects
def create(name: str, connection: Connection, **options: Any) -> None:
    """Create an agent; the language model then reads the collection's chunks, when nobody asks it anything."""
    async def use(client: Client) -> curation_pb2.CreateAgentResponse:
        return await client.plan_agent(name, **options)

    planned = connection.run(use)
    agent, done = planned.agent, "would create" if options["dry_run"] else "created"
    click.echo(f"{done} {printable(agent.name)}, which answers from {printable(agent.collection)}")
    if planned.chunk_count:
        click.echo(f"the language model reads {counted(planned.chunk_count, 'chunk')} for it, beside what people ask; "
                   "`--method none` leaves that out", err=True)


@agents.command("list")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_agents(as_json: bool, connection: Connection) -> None:
    """List agents."""
    async def use(client: Client) -> list[curation_pb2.Agent]:
        return [agent async for agent in client.agents()]

    found = connection.run(use)
    if as_json:
        for agent in found:
            click.echo(json_line(agent))
        return
    write_table(("NAME", "COLLECTION", "METHOD", "FAQ", "FLAGGED", "CREATED", "MODE"), [
        (each.name, each.collection, method_name(each.indexing_method), str(each.faq_count), str(each.flagged_count),
         moment(each.created_at), mode_name(each.mode))
        for each in found
    ])


@agents.command()
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object.")
@connects
def show(name: str, as_json: bool, connection: Connection) -> None:
    """Show an agent."""
    async def use(client: Client) -> tuple[curation_pb2.Agent, curation_pb2.GetAgentIndexResponse]:
        return await client.get_agent(name), await client.agent_index(name)

    agent, index = connection.run(use)
    if as_json:
        click.echo(json_line(agent))
        return
    for label, value in (
        ("agent", agent.name), ("description", agent.description), ("collection", agent.collection),
        ("method", method_name(agent.indexing_method)), ("mode", mode_name(agent.mode)),
        ("FAQ", counted(agent.faq_count, "answer")),
        ("flagged", f"{counted(agent.flagged_count, 'answer')} for a person to confirm"),
        ("on change", "flag" if agent.on_document_change == 1 else "retire"),
        ("categories", ", ".join(agent.categories) or "any"), ("created", moment(agent.created_at)),
        ("index", set_line(index.live) if index.HasField("live") else "none: nobody has made knowledge units yet"),
        *([("rebuild", set_line(index.building))] if index.HasField("building") else []),
    ):
        click.echo(f"{label:<12} {printable(value)}")


@agents.command()
@click.argument("name")
@click.option("-c", "--collection", help="The collection that it answers from.")
@click.option("--description", help="What it is for.")
@click.option("--method", "indexing_method", type=METHODS, help="How its documents' chunks are indexed.")
@click.option("--mode", type=MODES, help="Who searches; `service` leaves it to the service's setting.")
@click.option("--on-document-change", type=CHANGES, help="What becomes of an FAQ entry whose document changed.")
@click.option("--category", "categories", multiple=True, metavar="NAME",
              help="A category that chunks may have; may be repeated, and replaces those that it has.")
@connects
def update(name: str, connection: Connection, categories: tuple[str, ...], **options: Any) -> None:
    """Change an agent; what is left out stays."""
    options["categories"] = categories or None
    if all(value is None for value in options.values()):
        raise Failure("nothing to change is given", hint="sourcier agents update --help", exit_code=2)

    async def use(client: Client) -> curation_pb2.Agent:
        return await client.update_agent(name, **options)

    updated = connection.run(use)
    click.echo(f"updated {printable(updated.name)}: {printable(updated.collection)}, "
               f"{method_name(updated.indexing_method)}")


@agents.command()
@click.argument("name")
@click.option("--failed", "failed_only", is_flag=True, help="Only try the chunks again that could not be made.")
@click.option("--accept-failed", is_flag=True,
              help="Let what is being built answer once it is whole, although chunks of it could not be made.")
@connects
def rebuild(name: str, failed_only: bool, accept_failed: bool, connection: Connection) -> None:
    """Make the questions and answers of an agent's collection anew; the old ones answer until the new are whole.

    What people edited is kept. `sourcier agents show` tells how far it is.
    """
    async def use(client: Client) -> curation_pb2.RebuildAgentIndexResponse:
        return await client.rebuild_agent_index(name, failed_only=failed_only, accept_failed=accept_failed)

    rebuilt = connection.run(use)
    if failed_only:
        click.echo(f"{counted(rebuilt.retried_count, 'chunk')} to be tried again")
    for label, units in (("index", "live"), ("rebuild", "building")):
        if rebuilt.HasField(units):  # type: ignore[arg-type]
            click.echo(f"{label:<12} {printable(set_line(getattr(rebuilt, units)))}")


@agents.command()
@click.argument("name")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@connects
def delete(name: str, yes: bool, connection: Connection) -> None:
    """Delete an agent with its deployments and its FAQ; the documents stay."""
    if not yes:
        click.confirm(f"Delete the agent {name} with its deployments and its FAQ?", abort=True, err=True)

    async def use(client: Client) -> bool:
        return await client.delete_agent(name)

    click.echo(f"deleted {name}" if connection.run(use) else f"there was no {name}")


def set_line(units: curation_pb2.UnitSet) -> str:
    """Return how far a set of knowledge units is, on one line."""
    methods = ", ".join(map(method_name, units.methods))
    counts = ", ".join(
        f"{count:,} {what}" for count, what in (
            (units.enriched, "enriched"), (units.no_pairs, "without pairs"), (units.failed, "failed"),
            (units.waiting, "waiting"), (units.without_vectors, "without vectors"),
        ) if count or what == "enriched"
    )
    planned = "" if units.planned else ", more to come"
    tokens = units.prompt_tokens + units.completion_tokens
    return f"{methods}: {counts}{planned}; {tokens:,} tokens{f'; {units.error}' if units.error else ''}"


def mode_name(mode: answer_pb2.AnswerMode.ValueType) -> str:
    """Return who searches, as it is typed."""
    from sourcier.gateway.v1 import answer_pb2

    return word(answer_pb2.AnswerMode, mode) if mode else "service"


def method_name(method: curation_pb2.IndexingMethod.ValueType) -> str:
    """Return an indexing method as it is typed."""
    from sourcier.gateway.v1 import curation_pb2

    return word(curation_pb2.IndexingMethod, method)
