"""A stack with two ingest services: both take from the queues; one that is killed loses and doubles nothing."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import Iterator

import pytest

from sourcier import Client
from tests.fix_stack import EMBEDDING_MODEL, RunningStack, _stack, require_model
from tests.waiting import until

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(300)]

DOCUMENTS = 160
CALLS_AT_ONCE = 8
SENTENCES = ("Le télétravail est possible deux jours par semaine.", "Les repas sont remboursés jusqu'à 19 euros.",
             "Un incident se signale sans délai.", "Les congés se demandent un mois avant.")


@pytest.fixture(scope="module")
def two_ingests() -> Iterator[RunningStack]:
    """Yield a stack with two ingest services, whose embedding model computes nothing."""
    require_model(EMBEDDING_MODEL)
    yield from _stack(
        SOURCIER_STACK_INGEST_PROCESSES="2", SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway",
        SOURCIER_EMBED_MODEL=f"{EMBEDDING_MODEL}@null", SOURCIER_ACK_WAIT_SECONDS="4",
    )


def indexed(stack: RunningStack, name: str) -> list[str]:
    """Return the documents whose last batch an ingest service says that it indexed."""
    lines = (stack.folder / "logs" / f"{name}.log").read_text("utf-8").splitlines()
    return [json.loads(line)["document_id"] for line in lines if '"indexed"' in line]


async def test_two_ingest_services_share_a_load_and_one_may_be_killed(two_ingests: RunningStack) -> None:
    slots = asyncio.Semaphore(CALLS_AT_ONCE)

    async def upload(client: Client, number: int) -> str:
        text = "\n\n".join(f"{sentence} Note {number}." for sentence in SENTENCES).encode()
        async with slots:
            return (await client.upload(text, filename=f"note-{number}.txt", lane="bulk")).job_id

    async def done(client: Client, job_id: str) -> int:
        async with slots:
            return (await client.wait_for_job(job_id)).chunk_count

    async with Client(two_ingests.gateway) as client:
        first = await asyncio.gather(*(upload(client, number) for number in range(DOCUMENTS // 2)))
        await until(lambda: indexed(two_ingests, "ingest-2"), seconds=60)
        os.kill(killed := two_ingests.pid("ingest-2"), signal.SIGKILL)
        rest = await asyncio.gather(*(upload(client, number) for number in range(DOCUMENTS // 2, DOCUMENTS)))
        chunks = await asyncio.gather(*(done(client, job_id) for job_id in (*first, *rest)))
        (collection,) = [each async for each in client.collections()]
        assert collection.document_count == DOCUMENTS
        assert collection.chunk_count == sum(chunks) >= DOCUMENTS
    await until(lambda: two_ingests.ready("ingest-2"), seconds=60)
    assert two_ingests.pid("ingest-2") != killed
    by_both = [indexed(two_ingests, name) for name in ("ingest", "ingest-2")]
    assert all(by_both)
    # One that was killed between its commit and its line has said nothing.
    assert DOCUMENTS - CALLS_AT_ONCE <= len({*by_both[0], *by_both[1]}) <= DOCUMENTS
