"""The first token, counted from the `Generate` call, against vLLM called directly with the same prompts."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import AsyncExitStack

from bench.environment import opened_together, running_stack
from bench.generation.vllm_process import vllm
from bench.measuring import Table, interleave
from bench.texts import passages
from sourcier.generate.v1 import generate_pb2, generate_pb2_grpc
from sourcier.services.chassis.grpc import channels
from sourcier.services.chassis.grpc.channels import Deadline

MODEL = os.environ.get("SOURCIER_BENCH_LANGUAGE_MODEL", "smollm2-135m-instruct")
SYSTEM = "Tu réponds uniquement à partir des extraits."
TOKENS_MAX = 8
STARTS, ROUNDS = 3, 20
"""How many pairs of engines, one after the other, and how often each has its turn: of two that were started with the
same settings, one stays ahead of the other by a percent or more for as long as they live."""
PAUSE_SECONDS = 0.2
"""Before each turn, so that nothing of the other engine is at work any more."""


async def run(*, quick: bool) -> list[Table]:
    """Pairs of engines of the same settings take turns on prompts that neither has seen."""
    table = Table("first token", "ms", higher_is_better=False)
    texts, origin = passages(400)
    prompts = [f"{number} {text[:1200]}" for number, text in enumerate(texts)]
    # Each engine meets each prompt once: the second time it would find it in its prefix cache.
    for _ in range(1 if quick else STARTS):
        await _measure_pair(table, prompts, rounds=3 if quick else ROUNDS)
    table.notes["Generate"] = f"{MODEL}, prompts of {origin}"
    table.ratio("Generate", "vLLM directly", target=1.05)
    return [table]


async def _measure_pair(table: Table, prompts: Sequence[str], *, rounds: int) -> None:
    """Start a service and an engine, and have them take turns."""
    async with AsyncExitStack() as opened:
        addresses, engine = await opened_together(
            opened, running_stack(SOURCIER_STACK_SERVICES="generate", SOURCIER_GENERATE_MODEL=MODEL), vllm(MODEL),
        )
        channel = channels.open_channel(
            addresses["SOURCIER_GENERATE_URL"],
            identity=channels.Identity(token=addresses["SOURCIER_INTERNAL_TOKEN"]),
        )
        stub = generate_pb2_grpc.GenerateServiceStub(channel)
        texts_of: dict[str, str] = {}
        for_service, for_engine = iter(prompts), iter(prompts)

        async def by_service() -> float:
            prompt = next(for_service)
            await asyncio.sleep(PAUSE_SECONDS)
            milliseconds, text = await _first_token(stub, prompt)
            assert texts_of.setdefault(prompt, text) == text, "the two answer otherwise"
            return milliseconds

        async def by_engine() -> float:
            prompt = next(for_engine)
            await asyncio.sleep(PAUSE_SECONDS)
            found = await engine.generate(_messages(prompt), tokens_max=TOKENS_MAX)
            assert texts_of.setdefault(prompt, found["text"]) == found["text"], "the two answer otherwise"
            return float(found["first_ms"])

        try:
            await interleave(table, {"Generate": by_service, "vLLM directly": by_engine}, rounds=rounds)
        finally:
            await channel.close()


def _messages(prompt: str) -> list[dict[str, str]]:
    return [{"role": "system", "content": SYSTEM}, {"role": "user", "content": prompt}]


async def _first_token(stub: generate_pb2_grpc.GenerateServiceStub, prompt: str) -> tuple[float, str]:
    """Return the milliseconds to the first token, and the text."""
    system, user = _messages(prompt)
    request = generate_pb2.GenerateRequest(
        messages=[generate_pb2.Message(role=generate_pb2.ROLE_SYSTEM, content=system["content"]),
                  generate_pb2.Message(role=generate_pb2.ROLE_USER, content=user["content"])],
        sampling=generate_pb2.Sampling(tokens_max=TOKENS_MAX),
    )
    started, first, text = time.perf_counter(), 0.0, ""
    async with channels.stream(
        stub.Generate, request, peer="generate", tenant="default", deadline=Deadline.after(120), cap_seconds=120
    ) as responses:
        async for response in responses:
            if response.WhichOneof("part") == "text":
                first = first or 1000 * (time.perf_counter() - started)
                text += response.text
    return first, text
