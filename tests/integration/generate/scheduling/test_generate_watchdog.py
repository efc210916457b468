"""What a dead or a hanging engine does to calls and to the process, and what a busy one does not."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

import grpc
import grpc.aio
import pytest

from sourcier.services.generate.engine import EngineDead
from sourcier.services.generate.scripted.script import Rule
from tests.integration.generate.fix_generate import answer, ask, failure, scripted, serving

HANG = Rule(pattern="bloque", text="Je commence", failure="hang")
DIE = Rule(pattern="meurt", text="Je commence", failure="die")
SLOW = Rule(pattern="lent", text="mot " * 20, tokens_per_second=20)


async def test_a_hanging_engine_ends_its_streams_and_the_watch() -> None:
    async with serving(scripted(HANG), stall_seconds=0.5) as service:
        error = await failure(service.stub.Generate(ask("bloque"), timeout=30))
        assert error.code() is grpc.StatusCode.UNAVAILABLE
        assert "no progress for 0." in (error.details() or "")
        with pytest.raises(EngineDead, match="no progress"):
            await service.watch
        error = await failure(service.stub.Generate(ask("autre"), timeout=10))
        assert error.code() is grpc.StatusCode.UNAVAILABLE


async def test_a_dead_engine_ends_every_stream() -> None:
    rule = Rule(pattern="lent", text="mot " * 1000, tokens_per_second=5)
    async with serving(scripted(DIE, rule)) as service:
        other = service.stub.Generate(ask("lent"), timeout=30)
        await other.read()
        for call in (service.stub.Generate(ask("meurt"), timeout=30), other):
            error = await failure(call)
            assert error.code() is grpc.StatusCode.UNAVAILABLE
        with pytest.raises(EngineDead):
            await service.watch


async def test_the_progress_of_one_keeps_all_alive() -> None:
    """A saturated engine works on some while others wait; that is no reason to restart it."""
    engine = scripted(SLOW, sequences_max=1)
    async with serving(engine, sequences_max=1, stall_seconds=0.5) as service:
        calls = [service.stub.Generate(ask("lent"), timeout=30) for _ in range(3)]
        answers = await asyncio.gather(*map(answer, calls))
        assert [text.count("mot") for text, _, _ in answers] == [20, 20, 20]
        assert not service.watch.done()


async def test_an_idle_engine_does_not_hang() -> None:
    async with serving(scripted(SLOW), stall_seconds=0.2) as service:
        done, _ = await asyncio.wait({service.watch}, timeout=0.6)
        assert not done
        text, _, _ = await answer(service.stub.Generate(ask("lent"), timeout=30))
        assert text.count("mot") == 20


@pytest.mark.parametrize(("failing", "code"), [
    ("unavailable", grpc.StatusCode.UNAVAILABLE), ("exhausted", grpc.StatusCode.RESOURCE_EXHAUSTED),
    ("internal", grpc.StatusCode.INTERNAL),
])
async def test_one_failed_generation_is_its_own(failing: str, code: grpc.StatusCode) -> None:
    rule = Rule.model_validate({"pattern": "échoue", "text": "a", "failure": failing})
    async with serving(scripted(rule)) as service:
        assert (await failure(service.stub.Generate(ask("échoue"), timeout=10))).code() is code
        assert (await answer(service.stub.Generate(ask("autre"), timeout=10)))[0]
        assert not service.watch.done()


@pytest.mark.parametrize(("question", "exit_code"), [("meurt", 1), ("bloque", 1), ("", 0)])
async def test_the_process_exits_with_a_code_that_tells(tmp_path: Path, question: str, exit_code: int) -> None:
    script = tmp_path / "script.json"
    script.write_text(json.dumps({"rules": [HANG.model_dump(), DIE.model_dump()]}))
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "sourcier.services.generate", stderr=asyncio.subprocess.PIPE,
        env={"SOURCIER_GENERATE_ENGINE": "scripted", "SOURCIER_GENERATE_SCRIPT_FILE": str(script),
             "SOURCIER_GENERATE_STALL_SECONDS": "0.5", "PATH": "/usr/bin:/bin"},
    )
    assert process.stderr is not None
    try:
        async with asyncio.timeout(60):
            while True:
                line = await process.stderr.readline()
                assert line, "the process ended before it was ready"
                if '"ready"' in line.decode():
                    break
            if question:
                async with grpc.aio.insecure_channel(f"127.0.0.1:{json.loads(line)['port']}") as channel:
                    from sourcier.generate.v1.generate_pb2_grpc import GenerateServiceStub

                    error = await failure(GenerateServiceStub(channel).Generate(ask(question), timeout=30))
                assert error.code() is grpc.StatusCode.UNAVAILABLE
            else:
                process.terminate()
            await process.stderr.read()
            assert await process.wait() == exit_code
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
