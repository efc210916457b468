"""vLLM without a service: reads the messages of a prompt per line, tells the milliseconds to its first token."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from pathlib import Path

from services.chassis.models import ModelStore, default_root
from services.generate.processor import cpu_flags, fastest_dtype
from services.generate.settings import GenerateSettings, engine_environment
from services.generate.vllm_engine import CPU_BLOCK_TOKENS, GIB


async def main(model: str) -> None:
    """Open the engine with the service's own settings, then answer line by line."""
    settings = GenerateSettings(engine="vllm")
    os.environ.update(engine_environment(settings, from_hub=False))
    from vllm import AsyncEngineArgs, SamplingParams
    from vllm.sampling_params import RequestOutputKind
    from vllm.v1.engine.async_llm import AsyncLLM

    root = Path(os.environ.get("SOURCIER_MODELS_DIR") or default_root(os.environ))
    engine = AsyncLLM.from_engine_args(AsyncEngineArgs(
        model=str(ModelStore(root).load(model).path), dtype=fastest_dtype(cpu_flags()),
        max_model_len=settings.context_tokens_max, max_num_seqs=settings.sequences_max, enforce_eager=True,
        enable_prefix_caching=True, block_size=CPU_BLOCK_TOKENS,
        kv_cache_memory_bytes=int(settings.kv_cache_gib * GIB), disable_log_stats=True,
    ))
    tokenizer = engine.get_tokenizer()
    sampling = SamplingParams(temperature=0.0, max_tokens=8, output_kind=RequestOutputKind.DELTA)

    async def first_token(messages: list[dict[str, str]], number: int) -> float:
        started, first = time.perf_counter(), 0.0
        # Encoding is part of what a direct caller pays, too.
        prompt = tokenizer.apply_chat_template(messages, tokenize=False, add_generation_prompt=True)
        async for output in engine.generate(prompt, sampling, f"direct-{number}"):
            if not first and output.outputs[0].text:
                first = 1000 * (time.perf_counter() - started)
        return first

    await first_token([{"role": "user", "content": "Bonjour"}], 0)
    tell({"ready": True})
    number = 0
    while line := await asyncio.to_thread(sys.stdin.readline):
        number += 1
        tell({"milliseconds": await first_token(json.loads(line), number)})
    engine.shutdown()


def tell(entry: dict[str, object]) -> None:
    """Write one line; vLLM's own lines on standard output do not begin with a brace."""
    sys.stdout.write(json.dumps(entry) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
