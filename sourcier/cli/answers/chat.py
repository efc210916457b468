"""`sourcier chat`: a conversation, question by question, with streamed answers, their sources and ratings."""

from __future__ import annotations

import asyncio
import re
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any

import click

from sourcier.cli.answers.ask import AnswerWriter
from sourcier.cli.failure import explain
from sourcier.cli.gateway import Connection, connects
from sourcier.cli.inputs import NOT_UTF8, RECODE, is_utf8
from sourcier.cli.interrupts import interruptible
from sourcier.cli.text import one_line
from sourcier.errors import SourcierError

if TYPE_CHECKING:
    from sourcier.client import Client
    from sourcier.gateway.v1 import answer_pb2

PROMPT = "› "
COMMANDS = """/rate up|down [comment]  rate the last answer
/new                     begin a new conversation
/help                    show this
/quit                    leave; so does the end of the input"""

HISTORY_MESSAGES = 4
"""What the service uses of a history; sending more would change nothing."""
HISTORY_CHARACTERS_MAX = 20_000

_COMMAND = re.compile(r"/(?P<name>[a-z]+)(?:\s+(?P<rest>.*))?", re.DOTALL)


@click.command()
@click.option("--conversation", "conversation_id", metavar="ID", default="", help="Go on with this conversation.")
@click.option("-c", "--collection", default="", help="Where to search; `default` by default.")
@click.option("--mode", type=click.Choice(["injection", "tools"]),
              help="Who searches: the service, or the language model with a tool; the service decides by default.")
@click.option("--session-only", is_flag=True, help="Keep nothing on the service; follow-ups work all the same.")
@connects
def chat(
    conversation_id: str, collection: str, mode: str | None, session_only: bool, connection: Connection
) -> int:
    """Ask one question after another; follow-ups such as « et celle de Lyon ? » refer to what came before.

    Ctrl-C stops the answer being written, and leaves where none is. Questions are read line by line where the input
    is no terminal; then a question that fails makes the exit code 1.

    \b
    /rate up|down [comment]  rate the last answer
    /new                     begin a new conversation
    /quit                    leave
    """
    if conversation_id and session_only:
        raise click.UsageError("--conversation is kept on the service, and --session-only keeps nothing; give one")
    with asyncio.Runner() as runner:
        client = connection.client()
        runner.run(client.__aenter__())
        try:
            where = {"collection": collection} if collection else {}
            talk = Chat(client, runner, conversation_id=conversation_id, kept=not session_only,
                        options=where | ({"mode": mode} if mode else {}))
            return talk.run()
        finally:
            runner.run(client.__aexit__(None, None, None))


class Chat:
    """One person's conversation; the input is read outside of the event loop, which runs while calls are made."""

    def __init__(
        self, client: Client, runner: asyncio.Runner, *, conversation_id: str, kept: bool, options: dict[str, Any]
    ) -> None:
        self._client = client
        self._runner = runner
        self._conversation_id = conversation_id
        self._options = options
        self._kept = kept
        self._history: list[tuple[Any, str]] = []
        self._message_id = ""
        self._failed = False
        self._interactive = sys.stdin.isatty()

    def run(self) -> int:
        """Talk until the input ends; return the exit code."""
        if self._conversation_id:
            found = self._runner.run(interruptible(self._client.get_conversation(self._conversation_id)))
            click.secho(f"{one_line(found.title)} · {found.message_count} messages", dim=True, err=True)
        elif self._interactive:
            click.secho("Ask a question; /help tells what else there is.", dim=True, err=True)
        try:
            while (line := self._read()) is not None:
                if not self._take(line.strip()):
                    break
        finally:
            if self._conversation_id:
                click.secho(f"to go on: sourcier chat --conversation {self._conversation_id}", dim=True, err=True)
        return 1 if self._failed and not self._interactive else 0

    def _read(self) -> str | None:
        """Return the next line; None at the end."""
        if not self._interactive:
            return sys.stdin.readline() or None
        with suppress(ImportError):  # Windows
            import readline  # noqa: F401 - line editing
        try:
            return input(PROMPT)
        except EOFError:
            click.echo()
            return None

    def _take(self, line: str) -> bool:
        """Do what a line says; return whether to go on."""
        command = _COMMAND.fullmatch(line)
        if not line:
            return True
        if not is_utf8(line):
            self._tell(f"“{one_line(line)}” {NOT_UTF8}", RECODE)
            return True
        if command is None:
            self._do(self._ask(line))
            return True
        match command["name"]:
            case "quit" | "exit":
                return False
            case "new":
                self._conversation_id, self._message_id = "", ""
                self._history.clear()
                click.echo("a new conversation begins", err=True)
            case "rate":
                self._rate((command["rest"] or "").strip())
            case "help":
                click.echo(COMMANDS)
            case name:
                self._tell(f"/{name} is no command", "/help lists them")
        return True

    def _do(self, work: Any) -> bool:
        """Run calls to their end, and return whether they got there; Ctrl-C ends them, and in a script everything."""
        try:
            self._runner.run(interruptible(work))
            return True
        except KeyboardInterrupt:
            if not self._interactive:
                raise
            click.echo()
            click.secho("stopped; Ctrl-C once more leaves", dim=True, err=True)
        except SourcierError as error:
            self._tell(*explain(error))
        return False

    async def _ask(self, question: str) -> None:
        from sourcier.results import gather_answer

        options = dict(self._options)
        if self._kept:
            if not self._conversation_id:
                self._conversation_id = (await self._client.create_conversation()).conversation_id
            options["conversation_id"] = self._conversation_id
        else:
            options["history"] = self._history[-HISTORY_MESSAGES:]
        # One that is stopped on the way must not have the answer before it rated in its place.
        self._message_id = ""
        async with aclosing(self._client.ask(question, **options)) as events:
            answer = await gather_answer(shown(events))
        self._message_id = answer.message_id
        self._history += [("user", question), ("assistant", answer.text[:HISTORY_CHARACTERS_MAX])]
        click.echo()

    def _rate(self, said: str) -> None:
        rating, _, comment = said.partition(" ")
        if rating not in ("up", "down"):
            self._tell(f"{rating or 'nothing'} is no rating", "/rate up, or /rate down and why")
        elif not self._message_id:
            self._tell("there is no answer to rate", "ask a question" if self._kept else "--session-only keeps none")
        elif self._do(self._client.rate_message(self._message_id, rating, comment=comment.strip())):  # type: ignore[arg-type]
            click.echo(f"rated {rating}", err=True)

    def _tell(self, message: str, hint: str) -> None:
        self._failed = True
        click.echo(f"error: {message}", err=True)
        if hint:
            click.echo(f"hint:  {hint}", err=True)


async def shown(events: AsyncIterator[answer_pb2.AskEvent]) -> AsyncIterator[answer_pb2.AskEvent]:
    """Write each event as a person reads it, and pass it on."""
    writer = AnswerWriter(steps=sys.stderr.isatty())
    async for event in events:
        writer.write(event)
        yield event
