"""The stack's command line: `python -m sourcier.services.stack up | down | status | backup | restore | models`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from sourcier.cli import output
from sourcier.cli.groups import ClosableGroup
from sourcier.installation import data_folder, missing_package, remedy
from sourcier.services.chassis.errors import ServiceError

if TYPE_CHECKING:
    from sourcier.services.stack.settings import StackSettings

DATA_DIR = click.option(
    "--data-dir", type=click.Path(path_type=Path, file_okay=False), envvar="SOURCIER_DATA_DIR",
    default=data_folder(os.environ), show_default=True, help="The data folder (SOURCIER_DATA_DIR).",
)


@click.group(cls=ClosableGroup)
def main() -> None:
    """Run all of Sourcier on this machine."""
    # Each command imports what it needs: `status` answers before the settings' library would have loaded.


@main.command()
@DATA_DIR
@click.option("--detach", is_flag=True, help="Run in the background; return once everything is ready.")
@click.option("--parent", type=click.IntRange(min=1), envvar="SOURCIER_STACK_PARENT", metavar="PID",
              help="Stop once this process is gone, however it ended (SOURCIER_STACK_PARENT).")
def up(data_dir: Path, detach: bool, parent: int | None) -> None:
    """Start the servers and the services, and keep them running until Ctrl-C."""
    from sourcier.services.stack.terminal import command

    start = command.up_detached if detach else command.up
    sys.exit(start(read_settings(data_dir), parent_pid=parent))


@main.command()
@DATA_DIR
def down(data_dir: Path) -> None:
    """Stop what `up` started."""
    from sourcier.services.stack.terminal import command

    sys.exit(command.down(read_settings(data_dir)))


@main.command()
@DATA_DIR
@click.option("--environment", is_flag=True, help="Print what clients need, as shell exports; secrets included.")
def status(data_dir: Path, environment: bool) -> None:
    """Show every part: state, port, process, age. The exit code is 0 only when all are ready."""
    from sourcier.services.stack.terminal import standing

    show = standing.environment if environment else standing.status
    sys.exit(show(data_dir.expanduser().absolute()))


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@DATA_DIR
def backup(folder: Path, data_dir: Path) -> None:
    """Write all that is kept into a new folder, while everything goes on."""
    from sourcier.services.stack.terminal import backing_up

    sys.exit(backing_up.back_up(read_settings(data_dir), folder))


@main.command()
@click.argument("folder", type=click.Path(path_type=Path))
@DATA_DIR
def restore(folder: Path, data_dir: Path) -> None:
    """Bring a back-up back, into a data folder that holds nothing yet."""
    from sourcier.services.stack.terminal import backing_up

    sys.exit(backing_up.bring_back(read_settings(data_dir), folder))


@main.command()
def models() -> None:
    """Print the names of the models that `up` takes from the model store, one a line."""
    settings = read_settings(None)
    embedding = settings.embed_model_names if {"ingest", "embed"} & set(settings.services) else ()
    # A precision is part of the model that is fetched.
    names = list(dict.fromkeys(name.partition("@")[0] for name in embedding))
    # The stack starts without this one, and then refuses recordings.
    if "ingest" in settings.services and settings.speech_model_to_fetch:
        names.append(settings.speech_model_to_fetch)
    if settings.serves_model:
        names.append(settings.language_model_to_fetch)
    click.echo("\n".join(names))


def read_settings(data_dir: Path | None) -> StackSettings:
    """Read the environment, or end with one line per fault."""
    from pydantic import ValidationError

    from sourcier.services.chassis.environment import known_variables, read_secret_files, unknown_variables
    from sourcier.services.stack.settings import StackSettings
    from sourcier.services.stack.terminal.standing import EXIT_REFUSED

    # Each service would refuse these too, one after the other, when all the rest has started.
    secrets, faults = read_secret_files(StackSettings, os.environ)
    faults += unknown_variables(os.environ, known=known_variables(StackSettings))
    for line in faults:
        click.echo(f"error: {line}", err=True)
    if faults:
        sys.exit(EXIT_REFUSED)
    try:
        settings: StackSettings = cast(Any, StackSettings)(**secrets)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False, include_input=False):
            click.echo(f"error: SOURCIER_{str(fault['loc'][0]).upper()}: {fault['msg']}", err=True)
        sys.exit(EXIT_REFUSED)
    return settings.model_copy(update={"data_dir": data_dir}) if data_dir else settings


def run() -> None:
    """Run a command, and end with its code; what a person can do something about is told in a line."""
    from sourcier.services.stack.terminal.standing import EXIT_REFUSED

    output.prepare()
    sys.exit(output.closing(lambda: _run(refused=EXIT_REFUSED), failed=EXIT_REFUSED))


def _run(*, refused: int) -> int:
    try:
        main(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except ServiceError as error:
        click.echo(f"error: {error}", err=True)
        return refused
    except ModuleNotFoundError as error:
        click.echo(f"error: {missing_package(error)} is not installed beside {sys.executable}: this is the client "
                   f"alone\nhint:  {remedy('server')}; or name a running gateway with --gateway HOST:PORT", err=True)
        return refused
    except (KeyboardInterrupt, click.Abort):
        return 130  # before there was anything to stop
    return 0


if __name__ == "__main__":
    run()
