"""The command's entry: finds the subcommand, and turns what went wrong into one line, a way out and an exit code."""

from __future__ import annotations

import os
import sys
import warnings
from importlib import import_module
from typing import NoReturn

EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130

try:
    import click

    from sourcier.cli.failure import explain, root
    from sourcier.cli.groups import ClosableGroup
    from sourcier.cli.output import OutputClosed, closing, prepare
    from sourcier.cli.text import printable
except KeyboardInterrupt:
    # On a slow machine the modules take a second, in which a person may change their mind.
    sys.exit(EXIT_INTERRUPTED)

# Name, where it is, and its line in the help: the module is imported when the command is used.
COMMANDS = {
    "up": ("sourcier.cli.stack:up", "Start Sourcier on this machine."),
    "down": ("sourcier.cli.stack:down", "Stop it."),
    "status": ("sourcier.cli.stack:status", "Tell what is running."),
    "doctor": ("sourcier.cli.health.doctor:doctor", "Look whether all works, and say what mends it."),
    "stats": ("sourcier.cli.health.stats:stats", "Count documents, chunks and jobs."),
    "backup": ("sourcier.cli.stack:backup", "Write all that is kept into a folder."),
    "restore": ("sourcier.cli.stack:restore", "Bring a back-up back."),
    "open": ("sourcier.cli.stack:open_page", "Open the page in a browser."),
    "ingest": ("sourcier.cli.ingestion.ingest:ingest", "Bring files and folders in."),
    "ask": ("sourcier.cli.answers.ask:ask", "Ask a question; the answer streams, with its sources."),
    "chat": ("sourcier.cli.answers.chat:chat", "Ask one question after another; follow-ups refer to what came before."),
    "conversations": ("sourcier.cli.answers.conversations:conversations",
                      "List, show, change and delete conversations."),
    "resume": ("sourcier.cli.answers.resume:resume", "Go on reading an answer whose connection broke."),
    "cancel": ("sourcier.cli.answers.resume:cancel", "Stop an answer."),
    "search": ("sourcier.cli.answers.search:search", "Find the passages closest to a question."),
    "facets": ("sourcier.cli.answers.facets:facets", "Count the values that documents can be narrowed by."),
    "documents": ("sourcier.cli.documents.documents:documents", "List, show and delete documents."),
    "jobs": ("sourcier.cli.documents.jobs:jobs", "List, show and watch ingestion jobs."),
    "collections": ("sourcier.cli.collections.collections:collections",
                    "Create, change, list, show and delete collections."),
    "agents": ("sourcier.cli.curation.agents:agents", "Create, list, show, change and delete agents."),
    "deployments": ("sourcier.cli.curation.deployments:deployments", "Deploy agents, with settings of their own."),
    "faq": ("sourcier.cli.curation.faq:faq", "Keep the questions whose answers a person has validated."),
    "chunks": ("sourcier.cli.curation.chunks:chunks", "List, show and edit what is known of chunks."),
    "pairs": ("sourcier.cli.curation.pairs:pairs", "Add, edit and delete the questions that a chunk answers."),
    "failures": ("sourcier.cli.documents.failures:failures",
                 "List, show, replay and discard what could not be indexed."),
    "buckets": ("sourcier.cli.documents.buckets:buckets", "List the watched buckets, and what was refused of them."),
    "reconcile": ("sourcier.cli.documents.reconcile:reconcile", "Compare the watched buckets with what was taken in."),
    "reprocess": ("sourcier.cli.documents.reprocess:reprocess", "Index documents again, from a stage on."),
    "spaces": ("sourcier.cli.collections.spaces:spaces",
               "Move a collection to another embedding model while it answers."),
    "export": ("sourcier.cli.collections.transfer:export_collection",
               "Write a collection into a folder, vectors included."),
    "import": ("sourcier.cli.collections.transfer:import_collection", "Take in a collection that was exported."),
    "import-points": ("sourcier.cli.collections.points:import_points",
                      "Take in the points of another system's vector index."),
    "mcp": ("sourcier.cli.mcp:mcp", "Serve the Model Context Protocol, for an assistant on this machine."),
    "login": ("sourcier.cli.access.login:login", "Sign in at the gateway's identity provider."),
    "logout": ("sourcier.cli.access.login:logout", "Forget the sign-in."),
    "whoami": ("sourcier.cli.access.login:whoami", "Show whom the gateway takes you for."),
    "keys": ("sourcier.cli.access.keys:keys", "Make, list and revoke API keys for programs."),
    "grants": ("sourcier.cli.access.grants:grants", "Give people, groups and keys rights on collections."),
    "tenants": ("sourcier.cli.access.tenants:tenants", "Erase a tenant with everything that is its own."),
    "models": ("sourcier.cli.models:models", "List, fetch and verify models."),
}


class LazyGroup(ClosableGroup):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table, which is that of use."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, _, attribute = COMMANDS[cmd_name][0].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command, or name those that a slip may have meant."""
        try:
            return super().resolve_command(ctx, args)
        except click.NoSuchCommand as error:
            raise click.NoSuchCommand(error.command_name, possibilities=COMMANDS, ctx=ctx) from None

    def invoke(self, ctx: click.Context) -> object:
        """Run the command; of a group of tasks the first error counts."""
        try:
            return super().invoke(ctx)
        except ExceptionGroup as error:
            first = root(error)
            if isinstance(first, BrokenPipeError):
                raise OutputClosed from error
            raise first from error

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


def _show_version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from importlib.metadata import PackageNotFoundError, version

        try:
            click.echo(f"sourcier {version('sourcier')}")
        except PackageNotFoundError:
            click.echo("sourcier, not installed")
        context.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_show_version,
              help="Show the version and exit.")
def cli() -> None:
    """Ask your documents, and get answers that cite them.

    \b
    sourcier up --detach
    sourcier ingest handbook/ --wait
    sourcier ask "Combien de jours de télétravail par semaine ?"
    """


def main(arguments: list[str] | None = None) -> NoReturn:
    """Run a command and exit: 0 done, 1 failed, 2 wrong usage, 130 interrupted, 141 nobody read; `ask` has 3 and 4 too.
    """
    # Both would write about themselves between a person's lines.
    os.environ.setdefault("GRPC_VERBOSITY", "ERROR")
    warnings.filterwarnings("ignore", message="Protobuf gencode version")
    prepare()
    sys.exit(closing(lambda: _run(arguments), failed=EXIT_FAILED))


def _run(arguments: list[str] | None) -> int:
    try:
        status = cli.main(args=arguments, prog_name="sourcier", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except (BrokenPipeError, OutputClosed):
        raise
    except (KeyboardInterrupt, click.Abort):
        return EXIT_INTERRUPTED
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        return EXIT_USAGE
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx is not None else "sourcier"
        # click lists the choices of a missing option on lines of their own.
        _tell(" ".join(error.format_message().split()), f"{command} --help")
        return error.exit_code
    except click.ClickException as error:
        _tell(error.format_message(), getattr(error, "hint", ""))
        return error.exit_code
    except Exception as error:
        message, hint = explain(error)
        _tell(message, hint)
        return EXIT_FAILED


def _tell(message: str, hint: str) -> None:
    click.echo(f"error: {printable(message)}", err=True)
    if hint:
        click.echo(f"hint:  {printable(hint)}", err=True)
