"""The command as a process of its own, against a scripted gateway."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.fix_forkers import ForkedCommand
from tests.unit.sdk.conftest import address, gateway

__all__ = ["Command", "Done", "address", "cli", "gateway"]

REPOSITORY = Path(__file__).parents[3]


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


Command = Callable[..., Awaitable[Done]]


def environment(address: str) -> dict[str, str]:
    """Return the environment of a command that finds the gateway."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("SOURCIER_")}
    return kept | {"SOURCIER_GATEWAY_URL": address, "PYTHONPATH": str(REPOSITORY), "PYTHONWARNINGS": "error"}


@pytest.fixture
def cli(address: str, tmp_path: Path, command_forker: ForkedCommand) -> Command:
    """Run `sourcier` in an empty folder and return how it ended."""
    async def run(*arguments: str, cwd: Path = tmp_path, stdin: str = "", **variables: str) -> Done:
        if all(name.startswith("SOURCIER_") for name in variables):
            done = await command_forker.run(
                *arguments, environment=environment(address) | variables, cwd=cwd, stdin=stdin
            )
            assert "Traceback" not in done.stderr
            return Done(done.returncode, done.stdout, done.stderr)
        # What Python reads when it starts.
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sourcier.cli", *arguments, cwd=cwd, env=environment(address) | variables,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )
        async with asyncio.timeout(60):
            out, err = await process.communicate(stdin.encode())
        assert process.returncode is not None
        assert "Traceback" not in err.decode()
        return Done(process.returncode, out.decode(), err.decode())

    return run
