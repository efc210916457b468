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
DOCUMENTS = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))


def commands() -> list[str]:
    """Return what is typed after a prompt, and what is between backticks, where it begins with the program's name.

    What is between backticks may be a command's name alone, `sourcier spaces`: it is then given as `sourcier spaces …`.
    """
    found = []
    for document in DOCUMENTS:
        text = document.read_text("utf-8")
        blocks = "".join(re.findall(r"```console\n(.*?)```", text, re.DOTALL)).replace("\\\n", " ")
        found += [line.removeprefix("$ ") for line in blocks.splitlines() if line.startswith("$ sourcier ")]
        found += [
            f"{words} …" if re.fullmatch(r"[a-z]+(?:[ -][a-z]+)*", words) else words
            for words in (" ".join(each.split()) for each in re.findall(r"`(sourcier [^`]*)`", text))
            if not set(words) & set("<>…")
        ]
    return sorted(set(found))


def test_the_documentation_shows_commands() -> None:
    assert len(commands()) >= 15


@pytest.mark.parametrize("command", commands())
def test_the_command_is_understood(command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # A folder where what the pages name is there: the demo, and an export.
    (tmp_path / "demo").symlink_to(ROOT / "demo")
    (tmp_path / "export").mkdir()
    monkeypatch.chdir(tmp_path)
    arguments = shlex.split(command)[1:]
    if arguments[0] == "--help":
        return
    named_alone = arguments[-1] == "…"
    found: click.Command = cli
    context = click.Context(cli, info_name="sourcier")
    while isinstance(found, click.Group) and arguments != ["…"]:
        name, resolved, arguments = found.resolve_command(context, arguments)
        assert resolved is not None
        found = resolved
        if isinstance(found, click.Group):
            context = click.Context(found, info_name=name, parent=context)
    if not named_alone:
        found.make_context(found.name, list(arguments), parent=context)
