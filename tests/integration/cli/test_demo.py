"""The demo's script, against a scripted gateway: what it says, and how it stops."""

from __future__ import annotations

import asyncio
import signal
import sys
from pathlib import Path

from tests.integration.cli.conftest import REPOSITORY, environment
from tests.unit.sdk.fake_gateway import FakeGateway


async def demo(address: str, cwd: Path, *arguments: str) -> asyncio.subprocess.Process:
    """Start the script in an empty folder."""
    return await asyncio.create_subprocess_exec(
        sys.executable, str(REPOSITORY / "demo" / "run.py"), *arguments, cwd=cwd, env=environment(address),
        stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )


async def test_the_handbook_is_ingested_and_asked(gateway: FakeGateway, address: str, tmp_path: Path) -> None:
    process = await demo(address, tmp_path)
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    text = out.decode()
    assert "13 indexed, 0 unchanged, 0 failed of 13 files" in text
    assert {header.collection for header in gateway.headers} == {"demo"}
    assert text.count("« ") == 5
    assert text.count("[1] Charte du télétravail, page 1 (charte.pdf)") == 5
    assert "first word after" in text
    assert f"grpcurl -plaintext {address} list" in text


async def test_own_documents_have_a_collection_of_their_own(gateway: FakeGateway, address: str, tmp_path: Path) -> None:
    (tmp_path / "Mes lois").mkdir()
    (tmp_path / "Mes lois" / "loi.txt").write_text("La loi.")
    process = await demo(address, tmp_path, "--documents", "Mes lois", "--question", "Que dit la tarte ?")
    async with asyncio.timeout(60):
        out, err = await process.communicate()
    assert process.returncode == 0, err.decode()
    assert (gateway.headers[0].source, gateway.headers[0].collection) == ("Mes lois/loi.txt", "demo-mes-lois")
    assert "refused after" in out.decode()


async def test_ctrl_c_stops_the_answer(gateway: FakeGateway, address: str, tmp_path: Path) -> None:
    gateway.token_gate.clear()
    process = await demo(address, tmp_path)
    assert process.stdout is not None
    async with asyncio.timeout(60):
        await process.stdout.readuntil(b"Deux jours")
        process.send_signal(signal.SIGINT)
        _, err = await process.communicate()
        await gateway.ask_cancelled.wait()
    assert (process.returncode, err.decode().splitlines()[-1]) == (130, "interrupted")


async def test_missing_documents(address: str, tmp_path: Path) -> None:
    process = await demo(address, tmp_path, "--documents", "absent")
    async with asyncio.timeout(60):
        _, err = await process.communicate()
    assert (process.returncode, err.decode()) == (2, "error: there is no absent\n")
