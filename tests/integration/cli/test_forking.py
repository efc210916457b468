"""What runs commands without the start of Python gives what a start of its own gives."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import pytest

from tests.fix_forkers import ForkedCommand
from tests.forking import Forker
from tests.integration.cli.conftest import environment


@pytest.mark.parametrize(("arguments", "stdin"), [
    (("search", "--help"), ""), (("chat",), "Où est ma clé ?\n"),
])
async def test_a_forked_command_is_one_that_was_started(
    arguments: tuple[str, ...], stdin: str, command_forker: ForkedCommand
) -> None:
    variables = environment("127.0.0.1:1")
    started = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sourcier.cli", *arguments, env=variables, stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )
    out, err = await started.communicate(stdin.encode())
    forked = await command_forker.run(*arguments, environment=variables, stdin=stdin)
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, out.decode(), err.decode())


async def test_a_run_is_killed_and_says_by_what() -> None:
    forker = Forker("asyncio")
    try:
        # It serves until somebody ends it.
        run = await forker.begin("http.server", "0", environment=os.environ)
        run.kill()
        assert await run.wait() == -signal.SIGKILL
    finally:
        forker.close()
