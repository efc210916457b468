"""`sourcier up | down | status | open | backup | restore`: hands over to the stack, where it is installed."""

from __future__ import annotations

import os
import webbrowser
from pathlib import Path

import click

from sourcier.cli.failure import Failure
from sourcier.cli.gateway import DATA_DIR_VARIABLE, running_variable
from sourcier.cli.handover import hand_over
from sourcier.installation import data_folder

PAGE_VARIABLE = "SOURCIER_WEB_HTTP_LISTEN"

DATA_DIR = click.option(
    "--data-dir", envvar=DATA_DIR_VARIABLE, type=click.Path(path_type=Path, file_okay=False),
    help=f"The folder that keeps everything (SOURCIER_DATA_DIR); {data_folder(os.environ)} by default.",
)


@click.command()
@DATA_DIR
@click.option("--detach", is_flag=True, help="Run in the background; return once everything is ready.")
def up(data_dir: Path | None, detach: bool) -> None:
    """Start Sourcier on this machine, and keep it running until Ctrl-C."""
    hand_over("sourcier.services.stack", ["up", *(["--detach"] if detach else []), *_folder(data_dir)])


@click.command()
@DATA_DIR
def down(data_dir: Path | None) -> None:
    """Stop what `up` started; the data stay."""
    hand_over("sourcier.services.stack", ["down", *_folder(data_dir)])


@click.command()
@DATA_DIR
@click.option("--environment", is_flag=True, help="Print what clients need, as shell exports; secrets included.")
def status(data_dir: Path | None, environment: bool) -> None:
    """Tell what is running: 0 when all is ready, 1 when not yet, 3 when nothing runs."""
    hand_over("sourcier.services.stack", ["status", *(["--environment"] if environment else []), *_folder(data_dir)])


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@DATA_DIR
def backup(folder: Path, data_dir: Path | None) -> None:
    """Write documents, conversations, rights and settings into a new FOLDER, while everything goes on."""
    hand_over("sourcier.services.stack", ["backup", *_folder(data_dir), "--", str(folder)])


@click.command()
@click.argument("folder", type=click.Path(path_type=Path))
@DATA_DIR
def restore(folder: Path, data_dir: Path | None) -> None:
    """Bring the back-up in FOLDER back, into a data folder that holds nothing yet."""
    hand_over("sourcier.services.stack", ["restore", *_folder(data_dir), "--", str(folder)])


@click.command(name="open")
@DATA_DIR
@click.option("--print", "only_print", is_flag=True, help="Print the address, and open nothing.")
def open_page(data_dir: Path | None, only_print: bool) -> None:
    """Open the page in a browser, and print its address."""
    folder = data_dir or data_folder(os.environ)
    listen = running_variable(folder, PAGE_VARIABLE, hint="sourcier up --detach starts it")
    if not listen:
        raise Failure(f"Sourcier is starting in {folder}, or runs no page", hint="sourcier status tells more")
    address = f"http://localhost:{listen.rpartition(':')[2]}"
    click.echo(address)
    if not only_print and not webbrowser.open(address):
        click.echo("No browser was found here: open the address by hand.", err=True)


def _folder(data_dir: Path | None) -> list[str]:
    return ["--data-dir", str(data_dir)] if data_dir is not None else []
