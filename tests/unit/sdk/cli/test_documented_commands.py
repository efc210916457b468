"""Every `sourcier` command that the documentation shows exists, with the options and choices it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from sourcier.cli.main import cli

pytestmark = pytest.mark.unit

ROOT = Path(__file__).parents[4]
DOCUMENTS = (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))


def commands() -> list[str]:
    """Return what is typed after a prompt, and what is between backticks, where it begins with the program's name."""
    found = []
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        blocks = "".join(re.findall(r"```console\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
        found += [line.removeprefix("$ ") for line in blocks.splitlines() if line.startswith("$ sourcier ")]
        found += [
            " ".join(each.split()) for each in re.findall(r"`(sourcier [^`]*)`", text) if not set(each) & set("<>…")
        ]
    return sorted(set(found))


def test_the_documentation_shows_commands() -> None:
    assert len(commands()) >= 15


@pytest.mark.parametrize("command", commands())
def test_the_command_is_understood(command: str) -> None:
    arguments = shlex.split(command)[1:]
    if arguments == ["--help"]:
        return
    found: click.Command = cli
    context = click.Context(cli, info_name="sourcier")
    while isinstance(found, click.Group):
        name, resolved, arguments = found.resolve_command(context, arguments)
        assert resolved is not None
        found = resolved
        if isinstance(found, click.Group):
            context = click.Context(found, info_name=name, parent=context)
    found.make_context(found.name, list(arguments), parent=context)
