"""vLLM's asynchronous engine in this process; its core is a child process, which computes.

Written for vLLM 0.32. Whatever it raises is translated here. Its modules are imported when the engine opens, after the
environment that they read at import has been set.
"""

from __future__ import annotations

import asyncio
import logging
import math
import multiprocessing
import sys
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from sourcier.installation import checkout
from sourcier.services.chassis.errors import (
    FailedPrecondition,
    InvalidArgument,
    ResourceExhausted,
    ServiceError,
    Unavailable,
)
from sourcier.services.generate.engine import (
    ChoiceScore,
    Delta,
    Description,
    EngineDead,
    Finish,
    FinishReason,
    Generation,
    Piece,
    Scores,
    Scoring,
    Status,
    Usage,
)
from sourcier.services.generate.tools.calls import ToolCallReader
from sourcier.services.generate.vllm.core import IN_CORE, start
from sourcier.services.generate.vllm.processor import cpu_flags, cpu_vendor, fastest_dtype
from sourcier.services.generate.vllm.prompt import PromptEncoder
from sourcier.services.generate.vllm.weights import Weights

logger = logging.getLogger(__name__)

GIB = 1 << 30
NO_TOOLS = ("the chat template of {} has no place for tools; ask in mode injection, or name a model that takes them "
            "with SOURCIER_GENERATE_MODEL")
NOT_INSTALLED = ("vLLM is not installed beside {python}: start generate with an interpreter that has it ({install}), "
                 "or set SOURCIER_GENERATE_OPENAI_URL")
CPU_BLOCK_TOKENS = 32
"""Prefixes are cached by whole blocks; the CPU's own default of 128 would recompute up to 127 tokens of a hit."""
CPU_STEP_TOKENS_MAX = 512
"""Of a prompt that are read in one step: vLLM's own 2,048 are half a minute on two cores, and with other work beside it
more than the engine may go without progress, before it is taken for stalled."""
LOOKED_UP_MIN, LOOKED_UP_MAX = 2, 4
"""How many of the last tokens have to occur in the prompt for what followed them to be guessed."""
STOP_SECONDS = 3.0
"""How long the engine's processes may take to leave before they are killed."""
_REASONS = {"stop": FinishReason.STOP, "length": FinishReason.LENGTH}


@dataclass(frozen=True, kw_only=True)
class VllmOptions:
    """How vLLM is run."""

    dtype: str
    compile: str
    context_tokens_max: int
    sequences_max: int
    kv_cache_gib: float
    speculative_tokens: int = 0


class Progress:
    """What the engine's core last told about itself; vLLM calls it after each step, tokens or not."""

    def __init__(self) -> None:
        self.steps = 0
        self.running = 0
        self.waiting = 0

    def logger_of(self, config: Any, engine_index: int = 0) -> Any:
        """Return a vLLM statistics logger that reports here."""
        from vllm.v1.metrics.loggers import StatLoggerBase

        progress = self

        class ProgressLogger(StatLoggerBase):  # type: ignore[misc]  # vLLM has no types that mypy may follow
            def __init__(self, config: Any, engine_index: int = 0) -> None:
                pass

            def record(self, scheduler_stats: Any, iteration_stats: Any, *rest: Any, **options: Any) -> None:
                progress.steps += 1
                if scheduler_stats is not None:
                    progress.running = scheduler_stats.num_running_reqs
                    progress.waiting = scheduler_stats.num_waiting_reqs

            def log_engine_initialized(self) -> None:
                pass

        return ProgressLogger(config, engine_index)


class VllmEngine:
    """One model in vLLM, on a GPU or on the CPU."""

    def __init__(self, weights: Weights, options: VllmOptions) -> None:
        self._weights = weights
        self._options = options
        self._progress = Progress()
        self._llm: Any = None
        self._encoder: PromptEncoder
        self._context_tokens_max = min(options.context_tokens_max, weights.token_limit or options.context_tokens_max)
        # One thread: it loads the model, then tokenizes prompts.
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="vllm")

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        try:
            self._llm = await loop.run_in_executor(self._executor, self._load)
        except ServiceError:
            raise
        except BaseException as error:
            if isinstance(error, ModuleNotFoundError) and error.name == "vllm":
                install = "pip install vllm 'sourcier[generate]'"
                if checkout():
                    install = "python3 requirements/install.py generate, then .venv/generate/bin/python"
                raise FailedPrecondition(
                    NOT_INSTALLED.format(python=sys.executable, install=install), model=self._weights.name
                ) from error
            # Also when the process is told to stop while the model loads: nothing else would end these processes.
            _kill_children()
            if not isinstance(error, Exception):
                raise
            raise FailedPrecondition(
                f"vLLM cannot run {self._weights.name}: {error}; the lines before this one say more",
                model=self._weights.name,
            ) from error
        self._context_tokens_max = int(self._llm.model_config.max_model_len)
        self._encoder = PromptEncoder(self._llm.get_tokenizer(), model=self._weights.name,
                                      context_tokens_max=self._context_tokens_max)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._llm.shutdown(timeout=STOP_SECONDS)
        _kill_children()
        self._executor.shutdown(wait=False)

    def describe(self) -> Description:
        """Name the model and its limits."""
        return Description(engine="vllm", model=self._weights.name, revision=self._weights.revision,
                           context_tokens_max=self._context_tokens_max,
                           # With guesses, vLLM 0.32 hands out no probabilities of named tokens.
                           scores=not self._options.speculative_tokens,
                           tools_refusal="" if self._encoder.takes_tools else NO_TOOLS.format(self._weights.name))

    def status(self) -> Status:
        """Tell whether vLLM's core is alive, and what it said last."""
        # vLLM's core tells nothing once it is idle, so that its last count would stay for ever.
        busy = self._llm.get_num_unfinished_requests() > 0
        return Status(
            dead="vLLM's core process is gone" if self._llm.errored else "",
            steps=self._progress.steps,
            running=self._progress.running if busy else 0,
            waiting=self._progress.waiting if busy else 0,
        )

    async def generate(self, generation: Generation) -> AsyncGenerator[Piece, None]:
        """Yield the answer's pieces; closing the generator aborts the request inside vLLM."""
        from vllm.inputs import tokens_input

        loop = asyncio.get_running_loop()
        tokens = await loop.run_in_executor(
            self._executor, self._encoder.encode, generation.messages, generation.tools
        )
        with self._translated(field="json_schema" if generation.json_schema else "sampling"):
            outputs = self._llm.generate(
                tokens_input(tokens, cache_salt=generation.cache_salt or None),
                self._sampling(generation, prompt_tokens=len(tokens)), generation.id,
            )
            async with aclosing(outputs):
                reader = ToolCallReader(generation.tools) if generation.tools else None
                async for piece in _pieces(outputs, reader, prompt_tokens=len(tokens)):
                    yield piece

    async def score(self, scoring: Scoring) -> Scores:
        """Return how likely each answer is, from one reading of the prompt."""
        from vllm import SamplingParams
        from vllm.inputs import tokens_input
        from vllm.sampling_params import RequestOutputKind

        loop = asyncio.get_running_loop()
        tokens = await loop.run_in_executor(self._executor, self._encoder.encode, scoring.messages)
        firsts = await loop.run_in_executor(self._executor, self._encoder.first_tokens, scoring.choices)
        sampling = SamplingParams(
            temperature=0.0, max_tokens=1, logprob_token_ids=sorted({token for each in firsts for token in each}),
            output_kind=RequestOutputKind.FINAL_ONLY,
        )
        with self._translated(field="choices"):
            outputs = self._llm.generate(
                tokens_input(tokens, cache_salt=scoring.cache_salt or None), sampling, scoring.id
            )
            async with aclosing(outputs):
                async for output in outputs:
                    if output.finished:
                        (found,) = output.outputs[0].logprobs
                        return Scores(
                            tuple(ChoiceScore(choice, _log_sum([found[token].logprob for token in first]))
                                  for choice, first in zip(scoring.choices, firsts, strict=True)),
                            Usage(len(tokens), output.num_cached_tokens or 0, 1),
                        )
        raise Unavailable("vLLM ended the scoring without a result; try again")

    @contextmanager
    def _translated(self, *, field: str) -> Iterator[None]:
        """Raise vLLM's errors as ours; `field` is what a refusal is about."""
        from vllm.exceptions import GracefulHTTPError, VLLMClientError, VLLMError

        try:
            yield
        except VLLMClientError as error:
            raise InvalidArgument(f"vLLM refuses the request: {error}", field=field) from error
        except GracefulHTTPError as error:
            raise ResourceExhausted("vLLM's queue is full; try again later") from error
        except VLLMError as error:
            if self._llm.errored:
                raise EngineDead() from error
            raise Unavailable("vLLM failed on this request; try again") from error

    def _sampling(self, generation: Generation, *, prompt_tokens: int) -> Any:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind, StructuredOutputsParams

        asked = generation.sampling
        return SamplingParams(
            n=1,
            temperature=asked.temperature,
            top_p=asked.top_p,
            max_tokens=min(asked.tokens_max, self._context_tokens_max - prompt_tokens),
            seed=asked.seed,
            stop=list(asked.stop),
            # Some models write calls between marks that count as special, and they would be missing.
            skip_special_tokens=not generation.tools,
            output_kind=RequestOutputKind.DELTA,
            structured_outputs=StructuredOutputsParams(json=generation.json_schema) if generation.json_schema else None,
        )

    def _load(self) -> Any:
        from vllm import AsyncEngineArgs
        from vllm.platforms import current_platform

        arguments = AsyncEngineArgs(**engine_arguments(
            self._weights.location, self._options, context_tokens_max=self._context_tokens_max,
            on_cpu=current_platform.is_cpu(),
        ))
        return start(arguments, stat_loggers=[self._progress.logger_of])


def engine_arguments(
    location: str, options: VllmOptions, *, context_tokens_max: int, on_cpu: bool
) -> dict[str, Any]:
    """Return how vLLM is told to run a model, as arguments of `AsyncEngineArgs`."""
    by_processor = on_cpu and options.dtype == "auto"
    return {
        "model": location,
        "dtype": fastest_dtype(cpu_flags(), vendor=cpu_vendor()) if by_processor else options.dtype,
        "max_model_len": context_tokens_max,
        "max_num_seqs": options.sequences_max,
        "enforce_eager": on_cpu if options.compile == "auto" else options.compile == "off",
        "max_num_batched_tokens": max(CPU_STEP_TOKENS_MAX, options.sequences_max) if on_cpu else None,
        "enable_prefix_caching": True,
        "block_size": CPU_BLOCK_TOKENS if on_cpu else None,
        "kv_cache_memory_bytes": int(options.kv_cache_gib * GIB) or None,
        "speculative_config": _prompt_lookup(options.speculative_tokens),
        "distributed_executor_backend": IN_CORE if on_cpu else None,
        "worker_extension_cls": "sourcier.services.generate.vllm.worker.Extension" if on_cpu else "",
        "trust_remote_code": False,
        # Only our own statistics: vLLM's would cost time at each step, and their names are not ours.
        "disable_log_stats": True,
    }


def _prompt_lookup(tokens: int) -> dict[str, Any] | None:
    """Return the configuration of guesses: what followed in the prompt where its last words occur (no second model)."""
    if not tokens:
        return None
    return {
        "method": "ngram", "num_speculative_tokens": tokens, "prompt_lookup_min": LOOKED_UP_MIN,
        "prompt_lookup_max": LOOKED_UP_MAX,
    }


async def _pieces(
    outputs: Any, reader: ToolCallReader | None, *, prompt_tokens: int
) -> AsyncGenerator[Piece, None]:
    completion_tokens = 0
    async for output in outputs:
        completion = output.outputs[0]
        completion_tokens += len(completion.token_ids)
        usage = Usage(prompt_tokens, output.num_cached_tokens or 0, completion_tokens)
        if completion.text:
            for piece in [Delta(completion.text)] if reader is None else reader.feed(completion.text):
                yield piece
        if reader is not None and reader.over:
            # A small model goes on to make up the tool's answer: nobody reads it.
            yield Finish(FinishReason.TOOL_CALLS, usage)
            return
        if output.finished:
            reason = _REASONS.get(completion.finish_reason)
            if reason is None:
                raise Unavailable(f"vLLM ended the generation: {completion.finish_reason}; try again")
            for piece in () if reader is None else reader.finish():
                yield piece
            called = reader is not None and reader.called and reason is FinishReason.STOP
            yield Finish(FinishReason.TOOL_CALLS if called else reason, usage)


def _log_sum(log_probabilities: list[float]) -> float:
    """Return the logarithm of the sum of probabilities."""
    highest = max(log_probabilities)
    if highest == -math.inf:
        return highest
    return min(highest + math.log(sum(math.exp(each - highest) for each in log_probabilities)), 0.0)


def _kill_children() -> None:
    # A stopped or hanging child ignores SIGTERM.
    for child in multiprocessing.active_children():
        child.kill()
