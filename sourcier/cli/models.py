"""`sourcier models …`: hands over to the model store's own command, where it is installed."""

from __future__ import annotations

import click

from sourcier.cli.handover import hand_over


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED, metavar="list | fetch NAME… | verify [NAME…]")
def models(arguments: tuple[str, ...]) -> None:
    """List, fetch and verify the models that Sourcier runs."""
    hand_over("sourcier.models", list(arguments))
