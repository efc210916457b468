"""`sourcier faq add | approve | list | retire`."""

from __future__ import annotations

import getpass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.inputs import read_standard_input
from sourcier.cli.text import json_line, moment, one_line, printable, word, write_table

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from sourcier.client import Client
    from sourcier.gateway.v1 import answer_pb2, curation_pb2

vouches = click.option("--by", "validated_by", metavar="NAME", help="Who vouches for it; by default who is logged in.")


@click.group()
def faq() -> None:
    """Keep the questions of an agent whose answers a person has validated."""


@faq.command()
@click.argument("question")
@click.argument("answer")
@click.option("--agent", required=True, help="The agent that answers.")
@click.option("--document", "document_ids", multiple=True, metavar="ID",
              help="A document that the answer rests on: it answers until that changes; may be repeated.")
@click.option("--source", default="", help="What the answer names as its source; `FAQ validée` by default.")
@click.option("--heading", "heading_path", multiple=True, metavar="TEXT",
              help="A heading above the passage, outermost first; may be repeated.")
@vouches
@connects
def add(
    question: str, answer: str, agent: str, document_ids: tuple[str, ...], source: str, heading_path: tuple[str, ...],
    validated_by: str | None, connection: Connection,
) -> None:
    """Add a QUESTION and its ANSWER; from then on the agent gives it without the language model."""
    async def use(client: Client) -> curation_pb2.FaqEntry:
        return await client.add_faq_entry(
            question, answer, agent=agent, validated_by=who(validated_by), source=source, heading_path=heading_path,
            document_ids=document_ids,
        )

    _tell("added", connection.run(use))


@faq.command()
@click.argument("entry_or_file", required=False)
@click.option("--message", "message_id", metavar="ID", help="The answer's message in a conversation that is kept.")
@click.option("--agent", default="", help="The agent that answers; needed with a file or a message.")
@click.option("--question", default="", help="With --message: the question in better words.")
@click.option("--answer", "corrected_answer", default="", help="The answer as it should be, where it is not right.")
@vouches
@connects
def approve(
    entry_or_file: str | None, message_id: str | None, agent: str, question: str, corrected_answer: str,
    validated_by: str | None, connection: Connection,
) -> None:
    """Approve an answer: one that was given, or an entry that waits because its document changed.

    \b
    sourcier ask --agent support --json "Combien de jours ?" > answer.jsonl
    sourcier faq approve answer.jsonl --agent support

    ENTRY_OR_FILE is the id of an entry, or a file with the events of an answer (`-` for standard input). An answer of a
    conversation is named with --message instead; `sourcier conversations show` tells the ids. With --answer it is
    corrected.
    """
    if (entry_or_file is None) == (message_id is None):
        raise Failure("name one thing to approve: an entry, a file, or a message", hint="sourcier faq approve --help",
                      exit_code=2)
    if question and message_id is None:
        raise Failure("--question goes with --message", hint="sourcier faq approve --help", exit_code=2)
    if message_id is not None:
        _needs(agent)

        async def approve_message(client: Client) -> curation_pb2.FaqEntry:
            return await client.approve_message(
                message_id, agent=agent, question=question, corrected_answer=corrected_answer,
                validated_by=who(validated_by),
            )

        _tell("approved", connection.run(approve_message))
        return
    assert entry_or_file is not None
    events = _read_events(entry_or_file)

    async def use(client: Client) -> curation_pb2.FaqEntry:
        if events is None:
            return await client.confirm_faq_entry(
                entry_or_file, corrected_answer=corrected_answer, validated_by=who(validated_by)
            )
        from sourcier.results import gather_answer

        asked = next((event.started.question for event in events if event.HasField("started")), "")
        try:
            return await client.approve_answer(
                asked, await gather_answer(_each(events)), agent=agent, corrected_answer=corrected_answer,
                validated_by=who(validated_by),
            )
        except ValueError as error:
            raise Failure(str(error), hint='sourcier faq approve --answer "…"', exit_code=2) from None

    if events is not None:
        _needs(agent)
    _tell("approved", connection.run(use))


@faq.command("list")
@click.option("--agent", default="", help="Only those of this agent.")
@click.option("--state", type=click.Choice(["active", "flagged", "retired"]),
              help="Only those in this state; by default all but those that were retired.")
@click.option("--json", "as_json", is_flag=True, help="Write one JSON object a line.")
@connects
def list_entries(agent: str, state: str | None, as_json: bool, connection: Connection) -> None:
    """List entries; those that are flagged wait for a person, because a document changed."""
    async def use(client: Client) -> list[curation_pb2.FaqEntry]:
        return [entry async for entry in client.faq_entries(agent=agent, state=state)]  # type: ignore[arg-type]

    found = connection.run(use)
    if as_json:
        for entry in found:
            click.echo(json_line(entry))
        return
    write_table(("ID", "AGENT", "STATE", "QUESTION", "ANSWER", "BY", "VALIDATED"), [
        (each.entry_id, each.agent, _state(each), one_line(each.question, characters_max=60),
         one_line(each.answer, characters_max=60), each.validated_by, moment(each.validated_at))
        for each in found
    ])


@faq.command()
@click.argument("entry_id")
@connects
def retire(entry_id: str, connection: Connection) -> None:
    """Let an entry answer no more; it stays to be read with `faq list --state retired`."""
    async def use(client: Client) -> curation_pb2.FaqEntry:
        return await client.retire_faq_entry(entry_id)

    _tell("retired", connection.run(use))


def _needs(agent: str) -> None:
    if not agent:
        raise Failure("--agent is missing: who is to give this answer?", hint="sourcier agents list", exit_code=2)


def who(name: str | None) -> str:
    """Return who vouches for something: the name given, or who is logged in."""
    if name:
        return name
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        raise Failure("who vouches for the answer is not known", hint="name them with --by NAME", exit_code=2) from None


def _read_events(path: str) -> list[answer_pb2.AskEvent] | None:
    """Return the events of a saved answer; None where the argument is no file."""
    if path != "-" and not Path(path).is_file():
        return None
    from google.protobuf import json_format

    from sourcier.gateway.v1 import answer_pb2

    try:
        text = read_standard_input() if path == "-" else Path(path).read_text("utf-8")
        return [json_format.Parse(line, answer_pb2.AskEvent()) for line in text.splitlines() if line.strip()]
    except (json_format.ParseError, UnicodeDecodeError):
        raise Failure(f"{path} holds no answer", exit_code=2,
                      hint='sourcier ask --agent support --json "…" writes one') from None


async def _each(events: list[answer_pb2.AskEvent]) -> AsyncGenerator[answer_pb2.AskEvent, None]:
    for event in events:
        yield event


def _state(entry: curation_pb2.FaqEntry) -> str:
    from sourcier.gateway.v1 import curation_pb2

    name = word(curation_pb2.FaqState, entry.state)
    return f"{name} ({entry.state_reason})" if entry.state_reason else name


def _tell(done: str, entry: curation_pb2.FaqEntry) -> None:
    click.echo(f"{done} {entry.entry_id}: {one_line(printable(entry.question))}")
