"""Our settings of vLLM against vLLM at float32 with its defaults, on the demo's prompts, model by model."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
from collections import Counter
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psutil

from bench.environment import ROOT, opened_together
from bench.generation.demo_prompts import prompts
from bench.generation.vllm_process import VllmProcess, vllm
from bench.measuring import Table
from bench.stored_models import model_store, models_root
from sourcier.services.generate.settings import RESERVED_CORES

OURS, THEIRS = "Sourcier's settings", "vLLM, float32, its defaults"
THREADED = "vLLM, float32, a thread on each core"
"""The peer with as many threads as ours; its own default leaves one core to its scheduler."""
SPEED_RATIO_MIN, FIRST_TOKEN_RATIO_MAX = 1.5, 0.6
TOKENS_MAX, TOKENS_QUICK = 48, 24
"""Of an answer."""
SHARED_WORDS_MIN = 0.2
"""Of the first answer's words; two precisions need not say the same, but about the same passages."""
GIB = 1 << 30
BOUNDS = {"max_model_len": 4096, "kv_cache_memory_bytes": GIB, "disable_log_stats": True}
"""What keeps the peer's memory as small as ours; its own would take most of the machine's."""
LOADING = {"worker_extension_cls": "bench.peers.vllm_loading.Extension"}
"""So that the peer is compiled once, and not at each start: a minute less."""
PAUSE_SECONDS = 1.2
"""Before each turn: vLLM's own processes go on looking for messages for a second, on the cores that both have."""
MEMORY_GIB_MIN = {"smollm2-135m-instruct": 5, "qwen2.5-coder-1.5b-instruct": 14}
ROUNDS = {"smollm2-135m-instruct": 8, "qwen2.5-coder-1.5b-instruct": 3}
"""The peer takes a minute for one prompt of the larger model."""
ONLY = os.environ.get("SOURCIER_BENCH_LANGUAGE_MODEL", "")
"""One of the models; both where it is not set."""


async def run(*, quick: bool) -> list[Table]:
    """Let the two take turns on each prompt; both keep prefixes, and meet the same prompts in the same order."""
    tables: list[Table] = []
    if ONLY and ONLY not in ROUNDS:
        raise ValueError(f"SOURCIER_BENCH_LANGUAGE_MODEL={ONLY} is none of {', '.join(ROUNDS)}")
    models = [ONLY] if ONLY else list(ROUNDS)[: 1 if quick else None]
    needed, available = max(MEMORY_GIB_MIN[model] for model in models), psutil.virtual_memory().available / GIB
    if available < needed:
        raise SystemExit(f"{available:.1f} GiB are free, the engines of {' and '.join(models)} need {needed}; "
                         f"SOURCIER_BENCH_LANGUAGE_MODEL={min(MEMORY_GIB_MIN, key=MEMORY_GIB_MIN.__getitem__)} "
                         "measures the smallest alone")
    for model in models:
        speed = Table(f"tokens after the first, {model}", "tokens/s")
        first = Table(f"first token, {model}", "ms", higher_is_better=False)
        tables += [speed, first]
        # Three engines of the larger model have no room on a machine of 24 GB.
        threaded = not quick and model == next(iter(ROUNDS))
        await _compare(model, speed, first, rounds=1 if quick else ROUNDS[model], threaded=threaded,
                       tokens=TOKENS_QUICK if quick else TOKENS_MAX)
    return tables


async def _compare(model: str, speed: Table, first: Table, *, rounds: int, threaded: bool, tokens: int) -> None:
    asked = json.loads((ROOT / "demo" / "questions.json").read_text("utf-8"))["answerable"]
    peer, arguments = str(await unquantised(model)), {**BOUNDS, **LOADING, "dtype": "float32"}
    contestants = {OURS: vllm(model), THEIRS: vllm(peer, defaults=True, arguments=arguments)}
    if threaded:
        contestants[THREADED] = vllm(peer, defaults=True, arguments=arguments, environment={RESERVED_CORES: "0"})
    facts = dict.fromkeys(contestants, 0)
    shared: dict[str, list[float]] = {name: [] for name in contestants}
    async with AsyncExitStack() as opened:
        started = await opened_together(opened, *contestants.values())
        engines: dict[str, VllmProcess] = dict(zip(contestants, started, strict=True))
        # The first round does not count: each engine then has the instructions in its cache, as in service.
        for number, messages in enumerate(prompts()[: rounds + 1]):
            texts: dict[str, str] = {}
            for name in list(engines) if number % 2 else list(reversed(engines)):
                found = await _ask(engines[name], messages, tokens=tokens)
                texts[name] = found["text"]
                if number == 0:
                    continue
                facts[name] += holds_facts(found["text"], asked[number]["facts"])
                first.add(name, found["first_ms"])
                speed.add(name, tokens_per_second(found))
                kept, whole = found["cached_tokens"], found["prompt_tokens"]
                first.notes[name] = f"{kept} of the last prompt's {whole} tokens were in the prefix cache"
            for name, text in texts.items():
                shared[name].append(shared_words(text, texts[THEIRS]))
            # Before anything counts: an engine that says something else is fast for nothing.
            assert number or shared[OURS][0] >= SHARED_WORDS_MIN, f"the answers differ: {texts}"
    for name, count in facts.items():
        alike = "" if name == THEIRS else f", {statistics.median(shared[name]):.0%} of the words are those of float32"
        speed.notes[name] = f"{count} of {rounds} answers hold the expected facts{alike}"
    speed.ratio(OURS, THEIRS, target=SPEED_RATIO_MIN)
    first.ratio(OURS, THEIRS, target=FIRST_TOKEN_RATIO_MAX)
    if threaded:
        speed.ratio(OURS, THREADED)
        first.ratio(OURS, THREADED)


async def _ask(engine: VllmProcess, messages: list[dict[str, str]], *, tokens: int) -> dict[str, Any]:
    await asyncio.sleep(PAUSE_SECONDS)
    # Answers of one length: a model in another precision may say the same in other words.
    found = await engine.generate(messages, tokens_max=tokens, ignore_eos=True)
    assert found["tokens"] == tokens, found
    return found


def tokens_per_second(found: dict[str, Any]) -> float:
    """Return the rate at which an answer is read, once it has begun."""
    return float((found["tokens"] - 1) / (found["seconds"] - found["first_ms"] / 1000))


def shared_words(text: str, other: str) -> float:
    """Return the share of the longer text's words that both have, 0 to 1."""
    words, others = Counter(text.casefold().split()), Counter(other.casefold().split())
    return (words & others).total() / max(words.total(), others.total(), 1)


def holds_facts(text: str, facts: list[list[str]]) -> bool:
    """Tell whether one writing of every expected fact is in the text."""
    return all(any(writing.casefold() in text.casefold() for writing in fact) for fact in facts)


async def unquantised(model: str) -> Path:
    """Return the folder of a model's weights in bfloat16, which vLLM widens; made once from those in int8."""
    stored = model_store().describe_model(model)
    if "int8" not in stored.manifest.variants:
        return stored.path
    folder = models_root() / ".bench" / f"{model}-bf16"
    if not (folder / "config.json").is_file():
        process = await asyncio.create_subprocess_exec(
            str(ROOT / ".venv" / "export" / "bin" / "python"), "-m", "bench.generation.dequantised", str(stored.path),
            str(folder), cwd=ROOT, env={**os.environ, "PYTHONPATH": str(ROOT)},
        )
        if await process.wait():
            raise SystemExit(f"{model} could not be written as bfloat16; the lines above say why")
    return folder
