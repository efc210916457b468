"""What the README shows is run: every command, and the program."""

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
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = [
    line.removeprefix("$ ")
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines() if line.startswith("$ ")
]
# Those that start and stop a stack of their own are what the fixture, and the tests of the stack, do.
OWN_STACK = ("up", "down")


def commands(program: str) -> list[str]:
    """Return the README's commands of one program, without those that set variables before it."""
    return [command for command in COMMANDS if command.split()[0] == program]


def test_the_readme_shows_commands() -> None:
    assert len(commands("sourcier")) >= 6
    assert len(commands("make")) >= 2


@pytest.mark.parametrize("command", commands("make"))
def test_each_make_target_exists(command: str) -> None:
    shown = subprocess.run([*shlex.split(command), "--dry-run"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert shown.returncode == 0, shown.stderr


def test_the_commands_in_their_order(scripted_stack: RunningStack) -> None:
    for command in commands("sourcier"):
        arguments = shlex.split(command)[1:]
        if arguments[0] not in OWN_STACK:
            ran = scripted_stack.run(*arguments)
            assert ran.returncode == 0, f"{command}\n{ran.stdout}{ran.stderr}"
            assert ran.stdout.strip(), command


async def test_the_program(scripted_stack: RunningStack, tmp_path: Path) -> None:
    """As a file of its own: in a loop that runs already, an `async with` of its own would pass."""
    (program,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    path = tmp_path / "program.py"
    path.write_text(program.replace("localhost:50051", scripted_stack.gateway), "utf-8")
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
    called = [word for command in commands("grpcurl") for word in command.split() if word.startswith("sourcier.")]
    assert called
    assert set(called) <= known
