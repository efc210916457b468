"""A group of commands whose closed output is told apart: click itself would end the process without a word."""

from __future__ import annotations

from typing import Any

import click

from sourcier.cli.output import OutputClosed


class ClosableGroup(click.Group):
    """Raises OutputClosed where nobody reads any more; click takes a BrokenPipeError for its own affair."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Read the arguments, which is also where help is written."""
        try:
            return super().make_context(info_name, args, parent, **extra)
        except BrokenPipeError as error:
            raise OutputClosed from error

    def invoke(self, ctx: click.Context) -> object:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError as error:
            raise OutputClosed from error
