"""What the README shows is run: every command of it, and every program of every page. What pages show of `make` and
`grpcurl` exists; `tests/unit/sdk/cli/test_documented_commands.py` reads their `sourcier` commands."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sourcier.gateway.v1 import answer_pb2, knowledge_pb2
from tests.fix_stack import RunningStack

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(300)]

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
PAGES = (*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md")))
PROGRAMS = {
    f"{page.relative_to(ROOT)}-{number}": program for page in PAGES
    for number, program in enumerate(re.findall(r"```python\n(.*?)```", page.read_text("utf-8"), re.DOTALL), start=1)
}
# Those that start and stop a stack of their own are what the fixture, and the tests of the stack, do.
OWN_STACK = ("up", "down")


def commands(program: str, *pages: Path) -> list[str]:
    """Return the pages' commands of one program, each once, without those that set variables before it."""
    found = [
        line.removeprefix("$ ")
        for page in pages for block in re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
        for line in block.replace("\\\n", " ").splitlines() if line.startswith("$ ")
    ]
    return list(dict.fromkeys(command for command in found if command.split()[0] == program))


def test_the_readme_shows_commands() -> None:
    assert len(commands("sourcier", README)) >= 6
    assert len(commands("make", README)) >= 2


@pytest.mark.parametrize("command", commands("make", *PAGES))
def test_each_make_target_exists(command: str) -> None:
    arguments = [*shlex.split(command, comments=True), "--dry-run"]
    shown = subprocess.run(arguments, cwd=ROOT, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr


def test_the_commands_in_their_order(scripted_stack: RunningStack) -> None:
    for command in commands("sourcier", README):
        arguments = shlex.split(command)[1:]
        if arguments[0] not in OWN_STACK:
            ran = scripted_stack.run(*arguments)
            assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
            assert ran.stdout.strip(), command


@pytest.mark.parametrize("name", PROGRAMS)
async def test_each_program_runs(scripted_stack: RunningStack, tmp_path: Path, name: str) -> None:
    """As a file of its own: in a loop that runs already, an `async with` of its own would pass."""
    path = tmp_path / "program.py"
    path.write_text(PROGRAMS[name].replace("localhost:50051", scripted_stack.gateway), "utf-8")
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(path), env={**os.environ, "PYTHONPATH": str(ROOT)}, stdout=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        output, _ = await process.communicate()
    assert process.returncode == 0
    assert output.strip()


def test_the_services_that_grpcurl_calls_exist() -> None:
    known = {
        f"{service.full_name}/{method.name}"
        for module in (answer_pb2, knowledge_pb2)
        for service in module.DESCRIPTOR.services_by_name.values()
        for method in service.methods
    }
    words = [word for command in commands("grpcurl", *PAGES) for word in command.split()]
    called = [word for word in words if word.startswith("sourcier.")]
    assert called
    assert set(called) <= known
