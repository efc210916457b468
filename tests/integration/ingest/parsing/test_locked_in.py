"""A reader that a stranger took over reaches nothing: from Python, the C library, raw system calls and machine code.

`attacker` has what is tried. A kernel without Landlock or seccomp cannot run these.
"""

from __future__ import annotations

import asyncio
import json
import os
import platform
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from sourcier.services.chassis.errors import DocumentMalformed, Unavailable
from sourcier.services.ingest.parsing.zygote import ARTEFACT
from sourcier.services.ingest.stages import confinement as telling
from sourcier.services.ingest.stages.confinement import confinement, refusals_total
from sourcier.services.ingest.stages.sandbox import ParserPool
from tests.integration.ingest.parsing import attacker, failing_lock, unlocked_attacker

SECRET = "SOURCIER_TEST_SECRET"


@pytest.fixture(scope="module")
async def pool() -> AsyncIterator[ParserPool]:
    os.environ[SECRET] = "the-secret"
    try:
        async with ParserPool(concurrency=1, program=attacker.__name__) as opened:
            yield opened
    finally:
        del os.environ[SECRET]


@pytest.fixture(scope="module")
async def port() -> AsyncIterator[int]:
    """Where somebody listens; whoever is heard makes the test fail."""
    heard: list[object] = []

    async def hear(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heard.append(writer.get_extra_info("peername"))
        writer.close()

    server = await asyncio.start_server(hear, "127.0.0.1", 0)
    async with server:
        yield server.sockets[0].getsockname()[1]
    assert heard == []


async def attack(pool: ParserPool, folder: Path, port: int, **told: Any) -> dict[str, str]:
    """Have a document read that makes its reader try something; return what became of it."""
    (folder / "elsewhere").mkdir(exist_ok=True)
    secret = folder / "elsewhere" / "secret"
    secret.write_text("the-secret")
    told |= {
        "secret": str(secret), "folder": str(secret.parent), "service": os.getpid(), "name": SECRET, "port": port,
    }
    path = folder / "attack.json"
    path.write_text(json.dumps(told))
    async with pool.working_folder() as results:
        source = {"path": str(path), "filename": path.name}
        await pool.in_child(results, source, attempt=1)
        found: dict[str, str] = json.loads((results / ARTEFACT).read_text())
    assert secret.read_text() == "the-secret"
    assert await asyncio.to_thread(lambda: {each.name for each in folder.rglob("*")}) == {
        "elsewhere", "attack.json", "secret"
    }
    return found


def counted(what: str) -> float:
    return float(refusals_total.labels(what)._value.get())


async def test_what_is_refused_fails_with_an_error_that_libraries_know(
    pool: ParserPool, tmp_path: Path, port: int
) -> None:
    before = {what: counted(what) for what in ("program", "socket", "process")}
    outcomes = await attack(pool, tmp_path, port)
    assert outcomes.keys() == attacker.all_refused().keys()
    assert {name: outcome for name, outcome in outcomes.items() if outcome != "refused"} == {}
    assert {what: counted(what) for what in before} == {what: count + 1 for what, count in before.items()}


@pytest.mark.parametrize("name", [name for name in attacker.all_refused() if name.startswith("python: program")])
async def test_a_program_that_python_code_tries_to_start_is_counted(
    pool: ParserPool, tmp_path: Path, port: int, name: str
) -> None:
    before = counted("program")
    assert await attack(pool, tmp_path, port, only=[name]) == {name: "refused"}
    assert counted("program") == before + 1


@pytest.mark.parametrize("name", attacker.HOSTILE)
async def test_what_no_library_tries_ends_the_reader(pool: ParserPool, tmp_path: Path, port: int, name: str) -> None:
    before = counted("system_call")
    with pytest.raises(DocumentMalformed, match=r"“attack.json” made its reader try to start a program"):
        await attack(pool, tmp_path, port, hostile=name)
    assert counted("system_call") == before + 1


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the instructions are of x86-64")
@pytest.mark.parametrize("name", attacker.CODES)
async def test_machine_code_passes_no_other_gate(pool: ParserPool, tmp_path: Path, port: int, name: str) -> None:
    # Where the kernel has no gate for 32-bit programs, the instruction itself is a fault.
    with pytest.raises(DocumentMalformed, match=r"made its reader try|crashed the parser"):
        await attack(pool, tmp_path, port, code=attacker.CODES[name])


async def test_a_file_that_may_not_be_opened_refuses_the_document(
    pool: ParserPool, tmp_path: Path, port: int
) -> None:
    before = counted("file")
    with pytest.raises(DocumentMalformed, match="made its reader open what it may not"):
        await attack(pool, tmp_path, port, uncaught=True)
    assert counted("file") == before + 1


async def test_a_reader_cannot_have_the_service_take_a_forged_end_for_its_own_error(
    pool: ParserPool, tmp_path: Path, port: int
) -> None:
    for forged in ({"error": "Unavailable", "message": "later"}, {"error": "annotations", "message": ""}, []):
        with pytest.raises(DocumentMalformed, match=r"rejection\.json"):
            await attack(pool, tmp_path, port, rejection=forged)


async def test_what_is_in_force_is_told(pool: ParserPool) -> None:
    for mechanism in ("landlock", "seccomp"):
        assert confinement.labels(mechanism)._value.get() == 1


async def test_an_old_kernel_reads_on_and_says_that_it_locks_nobody_in(
    tmp_path: Path, port: int, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(telling, "_warned", set())
    async with ParserPool(concurrency=1, program=unlocked_attacker.__name__) as pool:
        outcomes = await attack(pool, tmp_path, port, only=["file: read: libc"])
    # What the other tests see refused is done here: they can fail.
    assert outcomes["file: read: libc"] == "done"
    for mechanism in ("landlock", "seccomp"):
        assert confinement.labels(mechanism)._value.get() == 0
        assert f"is not confined by {mechanism}" in caplog.text


async def test_a_reader_that_cannot_be_locked_in_reads_nothing(tmp_path: Path, port: int) -> None:
    async with ParserPool(concurrency=1, program=failing_lock.__name__) as pool:
        with pytest.raises(Unavailable, match="could not be locked in"):
            await attack(pool, tmp_path, port, only=[])
