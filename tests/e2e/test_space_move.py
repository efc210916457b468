"""A collection moves from int8 to fp32 and back with the real model, five processes and a load of questions."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from sourcier import Client
from tests.fix_stack import EMBEDDING_MODEL, REPOSITORY, RunningStack, _stack, require_model
from tests.waiting import until

pytestmark = [pytest.mark.models, pytest.mark.slow, pytest.mark.timeout(600)]

DOCUMENTS = REPOSITORY / "demo" / "documents"
QUESTIONS = ("Combien de jours de télétravail par semaine ?", "Quel est le plafond des repas ?", "Qui appeler ?")
INT8, FP32 = f"{EMBEDDING_MODEL}@int8", f"{EMBEDDING_MODEL}@fp32"


@pytest.fixture(scope="module")
def two_spaces() -> Iterator[RunningStack]:
    """Yield a stack that serves the model in two precisions, each a space of its own, and needs no language model."""
    require_model(EMBEDDING_MODEL)
    yield from _stack(
        SOURCIER_EMBED_MODEL=INT8, SOURCIER_EMBED_MODELS=FP32, SOURCIER_STACK_SERVICES="ingest,embed,rerank,gateway",
    )


@dataclass
class Load:
    """Searches, re-ranking included, without a pause."""

    answered: int = 0
    failures: list[str] = field(default_factory=list)

    async def run(self, address: str, stopping: asyncio.Event) -> None:
        """Search until told to stop."""
        async with Client(address) as client:
            while not stopping.is_set():
                try:
                    found = await client.search(QUESTIONS[self.answered % len(QUESTIONS)])
                    if not found.passages or found.degradations:
                        self.failures.append(f"{len(found.passages)} passages, {found.degradations}")
                except Exception as error:  # counted: the test says which
                    self.failures.append(str(error))
                self.answered += 1


async def command(stack: RunningStack, *arguments: str) -> str:
    done = await asyncio.to_thread(stack.run, *arguments)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


async def test_a_collection_moves_and_comes_back_while_it_answers(two_spaces: RunningStack, tmp_path: Path) -> None:
    await command(two_spaces, "ingest", str(DOCUMENTS), "--wait")
    questions = tmp_path / "questions.jsonl"
    questions.write_text("\n".join(json.dumps({"question": question}) for question in QUESTIONS))
    load, stopping = Load(), asyncio.Event()
    async with asyncio.TaskGroup() as group:
        group.create_task(load.run(two_spaces.gateway, stopping))
        try:
            built = await command(two_spaces, "spaces", "build", "default", "--to", FP32, "--wait")
            assert "ready" in built
            compared = json.loads(await command(two_spaces, "spaces", "compare", "default", "--json"))
            # The same weights, rounded: nearly the same passages, and never quite the same vectors.
            assert compared["overlap"] > 0.7
            by_file = await command(two_spaces, "spaces", "compare", "default", "--questions", str(questions))
            assert "3 questions, 0 with a known answer" in by_file
            before = await similarity(two_spaces)
            await command(two_spaces, "spaces", "switch", "default")
            assert await similarity(two_spaces) != before
            await command(two_spaces, "spaces", "rollback", "default")
            assert await similarity(two_spaces) == before
            await command(two_spaces, "spaces", "drop", "default", "--yes")
            listed = await command(two_spaces, "spaces", "list")
            answered = load.answered
            await until(lambda: load.answered >= answered + 5, seconds=60)
        finally:
            stopping.set()
    manifest = json.loads(await command(two_spaces, "collections", "show", "default", "--json"))
    assert (manifest["model"], manifest["dimension"]) == (INT8, 384)
    assert int(manifest["document_count"]) == len(list(DOCUMENTS.iterdir()))
    assert load.failures == []
    assert f"{INT8}\t384\tyes\tdefault" in listed
    assert f"{FP32}\t384\tyes\t" in listed
    assert "dropped" in listed


async def similarity(stack: RunningStack) -> float:
    """Return the cosine of the best passage, which differs between precisions."""
    async with Client(stack.gateway) as client, aclosing(client.collections()) as collections:
        assert [collection.name async for collection in collections] == ["default"]
        found = await client.search(QUESTIONS[0], mode="dense")
        return float(found.passages[0].similarity)
