"""vLLM without a service: reads a prompt per line, tells when its tokens came.

The one argument is a JSON object: `model`, a name in the model store or a folder; `arguments`, over those that the
service gives vLLM, or instead of them where `defaults` is true. A line of input is
`{"messages": […], "tokens_max": 8}`; one of output `{"first_ms", "seconds", "tokens", "prompt_tokens",
"cached_tokens", "text"}`, counted from before the prompt is encoded: a direct caller pays for that, too.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from typing import Any

from bench.stored_models import model_store
from sourcier.services.generate.settings import RESERVED_CORES, GenerateSettings, engine_environment
from sourcier.services.generate.vllm.core import start
from sourcier.services.generate.vllm.engine import VllmOptions, engine_arguments
from sourcier.services.generate.vllm.weights import locate


async def main(asked: dict[str, Any]) -> None:
    """Open the engine, then answer line by line."""
    settings = GenerateSettings(engine="vllm", model=asked["model"])
    environment = engine_environment(settings, from_hub=False)
    if asked.get("defaults"):
        environment.pop(RESERVED_CORES, None)
    os.environ.update(environment)
    from vllm import AsyncEngineArgs
    from vllm.v1.engine.async_llm import AsyncLLM

    started = AsyncLLM.from_engine_args if asked.get("defaults") else start
    engine = started(AsyncEngineArgs(**arguments(settings, asked)))
    await _generate(engine, {"messages": [{"role": "user", "content": "Bonjour"}], "tokens_max": 8}, number=0)
    tell({"ready": True})
    number = 0
    while line := await asyncio.to_thread(sys.stdin.readline):
        number += 1
        tell(await _generate(engine, json.loads(line), number=number))
    engine.shutdown()


def arguments(settings: GenerateSettings, asked: dict[str, Any]) -> dict[str, Any]:
    """Return what vLLM is told: the service's own settings, or its own defaults, and what was asked for over them."""
    weights = locate(settings.model, store=model_store())
    base: dict[str, Any] = {"model": weights.location} if asked.get("defaults") else engine_arguments(
        weights.location,
        VllmOptions(dtype=settings.dtype, compile=settings.compile, context_tokens_max=settings.context_tokens_max,
                    sequences_max=settings.sequences_max, kv_cache_gib=settings.kv_cache_gib,
                    speculative_tokens=settings.speculative_tokens),
        context_tokens_max=settings.context_tokens_max, on_cpu=True,
    )
    return {**base, **asked.get("arguments", {})}


async def _generate(engine: Any, line: dict[str, Any], *, number: int) -> dict[str, Any]:
    from vllm import SamplingParams
    from vllm.sampling_params import RequestOutputKind

    sampling = SamplingParams(temperature=0.0, max_tokens=line["tokens_max"], output_kind=RequestOutputKind.DELTA,
                              ignore_eos=line.get("ignore_eos", False))
    started, first, text, tokens, output = time.perf_counter(), 0.0, "", 0, None
    prompt = engine.get_tokenizer().apply_chat_template(line["messages"], tokenize=False, add_generation_prompt=True)
    async for output in engine.generate(prompt, sampling, f"direct-{number}"):
        text += output.outputs[0].text
        tokens += len(output.outputs[0].token_ids)
        first = first or (time.perf_counter() - started if text else 0.0)
    assert output is not None
    return {"first_ms": 1000 * first, "seconds": time.perf_counter() - started, "tokens": tokens, "text": text,
            "prompt_tokens": len(output.prompt_token_ids), "cached_tokens": output.num_cached_tokens or 0}


def tell(entry: dict[str, object]) -> None:
    """Write one line; vLLM's own lines on standard output do not begin with a brace."""
    sys.stdout.write(json.dumps(entry) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
