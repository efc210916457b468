"""Output that nobody reads, that is full or closed, or that lacks a character: one line at most, never a traceback."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.cli.conftest import REPOSITORY, Command, environment
from tests.unit.sdk.fake_gateway import FakeGateway

COMMANDS = (
    ("sourcier.cli", "--help"), ("sourcier.cli", "--version"), ("sourcier.cli",), ("sourcier.cli", "ask", "--help"),
    ("sourcier.cli", "conversations"), ("sourcier.cli", "search", "télétravail"), ("sourcier.cli", "ask", "Combien ?"),
    ("sourcier.cli", "documents", "list"), ("sourcier.cli", "collections", "list"), ("sourcier.cli", "jobs", "list"),
    ("sourcier.cli", "failures", "list"), ("sourcier.cli", "models", "list"), ("sourcier.cli", "status"),
    ("sourcier.services.stack", "--help"), ("sourcier.services.stack", "models"), ("sourcier.services.stack", "status"),
    ("sourcier.models", "list"),
)


async def run(address: str, cwd: Path, *arguments: str, stdout: int, before: str = "") -> tuple[int, list[str]]:
    """Run a module's command; return its exit code and the lines of its standard error."""
    process = await asyncio.create_subprocess_exec(
        *(("sh", "-c", f'exec "$@" {before}', "sh") if before else ()), sys.executable, "-m", *arguments, cwd=cwd,
        env=environment(address), stdin=asyncio.subprocess.DEVNULL, stdout=stdout, stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(60):
        _, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, err.decode().splitlines()


@pytest.mark.parametrize("arguments", COMMANDS, ids=" ".join)
async def test_a_reader_that_has_gone_ends_a_command(address: str, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        assert await run(address, tmp_path, *arguments, stdout=writing) == (141, [])
    finally:
        os.close(writing)


@pytest.mark.parametrize(("arguments", "code"), [
    (("sourcier.cli", "search", "télétravail"), 1), (("sourcier.cli", "--help"), 1),
    (("sourcier.cli", "models", "list"), 1), (("sourcier.services.stack", "models"), 2),
], ids=str)
@pytest.mark.parametrize(("redirection", "told"), [
    (">&-", "error: standard output is closed"), ("> /dev/full", "error: No space left on device"),
])
async def test_output_that_cannot_be_written_is_told_in_a_line(
    address: str, tmp_path: Path, arguments: tuple[str, ...], code: int, redirection: str, told: str
) -> None:
    done = await run(address, tmp_path, *arguments, stdout=asyncio.subprocess.DEVNULL, before=redirection)
    assert done == (code, [told])


def test_what_rich_could_not_write_ends_a_command_in_a_line(tmp_path: Path) -> None:
    code = "import sys\nfrom rich.console import Console\nfrom sourcier.cli import output\noutput.prepare()\n" \
           "sys.exit(output.closing(lambda: Console().print('x' * 99) or 0, failed=2))"
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, stdout=full, stderr=subprocess.PIPE,
                              text=True, timeout=60, check=False)
    assert (done.returncode, done.stderr) == (2, "error: No space left on device\n")


async def test_models_alone_is_wrong_usage(cli: Command) -> None:
    done = await cli("models")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("usage: sourcier models ")


async def test_a_character_that_the_terminal_lacks_is_replaced(address: str, gateway: FakeGateway) -> None:
    gateway.documents["document-1"].source = "l’été.txt"
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-m", "sourcier.cli", "documents", "list"], capture_output=True, timeout=60,
        check=False, env=environment(address) | {"PYTHONIOENCODING": "latin-1"},
    )
    assert (done.returncode, "l?été.txt" in done.stdout.decode("latin-1")) == (0, True)


BAD = os.fsdecode(b"bad\xff")


@pytest.mark.parametrize(("arguments", "named"), [
    (("search", BAD), "QUESTION"), (("ask", BAD), "QUESTION"), (("ask", "x", "--metadata", f"a={BAD}"), "--metadata"),
    (("agents", "create", "a", "--category", BAD), "--category"), (("ingest", ".", "--metadata", f"a={BAD}"), "--meta"),
    (("collections", "create", BAD), "NAME"), (("search", "x", "--tenant", "é"), "tenant"),
    (("ask", "x", "--seed", "18446744073709551616"), "--seed"), (("ask", "x", "--tokens-max", "99999999999"), "--tok"),
    (("collections", "create", "a", "--target", "99999999999"), "--target"),
    (("export", "default", ""), "a path is empty"), (("import", ""), "a path is empty"),
    (("ingest", ""), "a path is empty"), (("import-points", "", "-c", "a"), "a path is empty"),
], ids=ascii)
async def test_what_no_service_would_take_is_wrong_usage(
    cli: Command, gateway: FakeGateway, arguments: tuple[str, ...], named: str
) -> None:
    done = await cli(*arguments)
    assert (done.code, named in done.err, gateway.requests) == (2, True, []), done.err
    assert len(done.err.splitlines()) <= 2


@pytest.mark.parametrize(("arguments", "code"), [(("ask", "-"), 2), (("chat", "--session-only"), 1)])
async def test_what_is_piped_in_has_to_be_utf8(
    address: str, gateway: FakeGateway, tmp_path: Path, arguments: tuple[str, ...], code: int
) -> None:
    done = await asyncio.to_thread(
        subprocess.run, [sys.executable, "-m", "sourcier.cli", *arguments], input=b"caf\xe9 ?\n", capture_output=True,
        timeout=60, check=False, env=environment(address), cwd=tmp_path,
    )
    assert (done.returncode, done.stdout) == (code, b"")
    assert done.stderr.decode().splitlines()[0].endswith("is not valid UTF-8")
    assert gateway.requests == []


async def test_a_name_that_is_no_utf8_leaves_the_others_alone(cli: Command, tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"bad\xff name.txt")).write_text("a")
    (tmp_path / "ok.txt").write_text("a")
    done = await cli("ingest", ".", "--wait")
    assert (done.code, done.out.split(" in ")[0]) == (1, "1 indexed, 0 unchanged, 1 failed of 2 files")
    told = r"failed     bad\xff name.txt: its name is not valid UTF-8; rename it [NAME_INVALID]"
    assert done.err.splitlines()[0] == told
    done = await cli("ingest", ".", "--json")
    outcomes = {each["source"]: each["status"] for each in map(json.loads, done.out.splitlines())}
    assert outcomes == {r"bad\xff name.txt": "failed", "ok.txt": "unchanged"}
