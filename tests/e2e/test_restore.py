"""The disk of a machine is lost: `sourcier backup` and `restore` bring back what was there, done and under way."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sourcier import Client
from tests.fix_stack import EMBEDDING_MODEL, RunningStack, _down, _environment, _up, require_model

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(480)]

UNDER_WAY = 12


@pytest.fixture
def machine() -> Iterator[RunningStack]:
    """Yield a data folder, and the settings of a stack whose embedding model computes nothing; it does not run yet."""
    require_model(EMBEDDING_MODEL)
    folder = Path(tempfile.mkdtemp(prefix="sourcier-e2e-"))
    folder.chmod(0o711)
    environment = _environment(
        folder, SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway",
        SOURCIER_EMBED_MODEL=f"{EMBEDDING_MODEL}@null", SOURCIER_ACK_WAIT_SECONDS="4",
    )
    yield RunningStack(folder, environment)
    _down(environment)
    shutil.rmtree(folder, ignore_errors=True)


def said(stack: RunningStack, *arguments: str, code: int = 0) -> str:
    """Return what a command says, which has to end with a code."""
    done = stack.run(*arguments)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr


def text(number: int) -> bytes:
    """Return a document with a word that no other one has."""
    return f"La note repère{number} fixe le télétravail à deux jours.\n\nElle vaut depuis janvier.".encode()


async def found(client: Client, number: int) -> bool:
    """Return whether a search finds a document by its own word."""
    return any(f"repère{number} " in passage.text for passage in (await client.search(f"repère{number}")).passages)


async def test_what_a_lost_disk_had_comes_back_and_goes_on(machine: RunningStack, tmp_path: Path) -> None:
    backup = tmp_path / "backup"
    _up(machine.environment)
    async with Client(machine.gateway) as client:
        first = await client.upload(text(0), filename="note-0.txt")
        await client.wait_for_job(first.job_id)
        assert await found(client, 0)
        await client.create_conversation(title="before")
        jobs = await asyncio.gather(*(
            client.upload(text(number), filename=f"note-{number}.txt", lane="bulk") for number in range(1, UNDER_WAY)
        ))
        told = await asyncio.to_thread(said, machine, "backup", str(backup))
        assert f"{UNDER_WAY} documents" in told
        later = await client.upload(text(UNDER_WAY), filename="later.txt")
        await client.wait_for_job(later.job_id)
    assert "runs on" in said(machine, "restore", str(backup), code=2)
    _down(machine.environment)
    shutil.rmtree(machine.folder)

    manifest = backup / "backup.json"
    whole = manifest.read_text("utf-8")
    for spoiled, why in (
        ("", "cannot be read"), (json.dumps(json.loads(whole) | {"migration": 9999}), "of a later release"),
    ):
        manifest.write_text(spoiled)
        assert why in said(machine, "restore", str(backup), code=2)
    manifest.write_text(whole)
    restored = said(machine, "restore", str(backup))
    assert f"{UNDER_WAY} documents" in restored
    assert "What came later is not there" in restored

    _up(machine.environment)
    async with Client(machine.gateway) as client:
        for job in jobs:
            await client.wait_for_job(job.job_id)
        for number in (0, 1, UNDER_WAY - 1):
            assert await found(client, number), number
        assert not await found(client, UNDER_WAY)
        assert {each.title async for each in client.conversations()} == {"before"}
        again = await client.upload(text(UNDER_WAY), filename="later.txt")
        await client.wait_for_job(again.job_id)
        assert await found(client, UNDER_WAY)
        (collection,) = [each async for each in client.collections()]
        assert collection.document_count == UNDER_WAY + 1
