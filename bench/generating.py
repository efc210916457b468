"""The first token, counted from the `Generate` call, against vLLM called directly with the same prompts."""

from __future__ import annotations

import asyncio
import json
import os
import time

from bench.environment import ROOT, running_stack
from bench.measuring import Table, interleave
from bench.texts import passages
from services.chassis import channels
from services.chassis.channels import Deadline
from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc

MODEL = os.environ.get("SOURCIER_BENCH_LANGUAGE_MODEL", "smollm2-135m-instruct")
SYSTEM = "Tu réponds uniquement à partir des extraits."
TOKENS_MAX = 8


async def run(*, quick: bool) -> list[Table]:
    """Two engines of the same settings take turns on prompts that neither has seen."""
    table = Table("first token", "ms", higher_is_better=False)
    texts, _ = passages(400)
    prompts = [f"{number} {text[:1200]}" for number, text in enumerate(texts)]
    async with running_stack(SOURCIER_STACK_SERVICES="generate", SOURCIER_GENERATE_MODEL=MODEL) as addresses:
        channel = channels.open_channel(addresses["SOURCIER_GENERATE_URL"])
        stub = generate_pb2_grpc.GenerateServiceStub(channel)
        direct = await _Direct.start(addresses)
        # Each engine meets each prompt once: the second time it would find it in its prefix cache.
        for_service, for_engine = iter(prompts), iter(prompts)

        async def by_service() -> float:
            return await _first_token(stub, next(for_service))

        async def by_engine() -> float:
            return await direct.first_token(next(for_engine))

        try:
            await interleave(table, {"Generate": by_service, "vLLM directly": by_engine}, rounds=8 if quick else 30)
        finally:
            await direct.stop()
            await channel.close()
    table.notes["Generate"] = MODEL
    table.ratio("Generate", "vLLM directly", target=1.1)
    return [table]


async def _first_token(stub: generate_pb2_grpc.GenerateServiceStub, prompt: str) -> float:
    request = generate_pb2.GenerateRequest(
        messages=[generate_pb2.Message(role=generate_pb2.ROLE_SYSTEM, content=SYSTEM),
                  generate_pb2.Message(role=generate_pb2.ROLE_USER, content=prompt)],
        sampling=generate_pb2.Sampling(tokens_max=TOKENS_MAX),
    )
    started, first = time.perf_counter(), 0.0
    async with channels.stream(
        stub.Generate, request, peer="generate", tenant="default", deadline=Deadline.after(120), cap_seconds=120
    ) as responses:
        async for response in responses:
            if not first and response.WhichOneof("part") == "text":
                first = 1000 * (time.perf_counter() - started)
    return first


class _Direct:
    """vLLM in a process of its own, in vLLM's environment, with the service's own engine settings and no gRPC."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process

    @classmethod
    async def start(cls, addresses: object) -> _Direct:
        environment = {**os.environ, **dict(addresses)}  # type: ignore[call-overload]
        process = await asyncio.create_subprocess_exec(
            str(ROOT / ".venv" / "generate" / "bin" / "python"), str(ROOT / "bench" / "peer_vllm.py"), MODEL,
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=2**24,
            env=environment | {"PYTHONPATH": str(ROOT)}, cwd=ROOT,
        )
        direct = cls(process)
        assert await direct._line() == {"ready": True}
        return direct

    async def first_token(self, prompt: str) -> float:
        """Return the milliseconds to the first token of a prompt."""
        assert self._process.stdin is not None
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]
        self._process.stdin.write(json.dumps(messages).encode() + b"\n")
        return float((await self._line())["milliseconds"])

    async def _line(self) -> dict:  # type: ignore[type-arg]
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            if line.startswith(b"{"):
                found: dict = json.loads(line)  # type: ignore[type-arg]
                return found
        raise SystemExit("vLLM ended; its log is above")

    async def stop(self) -> None:
        """End the engine."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        await self._process.wait()
