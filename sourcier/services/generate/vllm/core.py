"""vLLM's core process: it computes, too, on the cores that the model has, and ends with this service.

vLLM 0.32 computes on a CPU in a third process, beside this one and the core: ten seconds of imports more, half a
gigabyte, and two processes that look for each other's next message without a pause. The third is there because OpenMP
has to be told its cores before PyTorch is imported. Here the core is told them, and computes as it does on a GPU.
"""

from __future__ import annotations

import ctypes
import logging
import os
import signal
from collections.abc import Sequence
from typing import Any

_PR_SET_PDEATHSIG = 1
IN_CORE = "vllm.v1.executor.uniproc_executor.UniProcExecutor"
"""Where a model is computed: in the core process. vLLM puts it into another where it is told `uni` on a CPU."""


def start(arguments: Any, *, stat_loggers: Sequence[Any] = ()) -> Any:
    """Return vLLM's asynchronous engine, its model loaded; `arguments` are its `AsyncEngineArgs`. Blocks."""
    from vllm.usage.usage_lib import UsageContext
    from vllm.utils.ompmultiprocessing import OMPProcessManager
    from vllm.v1.engine.async_llm import AsyncLLM
    from vllm.v1.engine.core import EngineCoreProc

    # vLLM's core waits for requests for ever when the process that started it is killed, and keeps the model's memory.
    os.environ["SOURCIER_GENERATE_PARENT"] = str(os.getpid())
    EngineCoreProc.run_engine_core = staticmethod(run_engine_core)
    context = UsageContext.ENGINE_CONTEXT
    config = arguments.create_engine_config(context)
    # It would warn that a core has to be left to the scheduler, whose process waits for the model alone here.
    logging.getLogger("vllm.utils.ompmultiprocessing").setLevel(logging.ERROR)
    # In the environment while the core starts, and no longer: this process tokenizes, on whatever cores it is given.
    with OMPProcessManager(config).configure_omp_envs(rank=0, local_rank=0):
        return AsyncLLM.from_vllm_config(
            config, usage_context=context, stat_loggers=list(stat_loggers),
            disable_log_stats=arguments.disable_log_stats,
        )


def run_engine_core(*args: Any, **options: Any) -> None:
    """Run vLLM's core in this process, which the kernel kills when its parent dies."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(os.environ["SOURCIER_GENERATE_PARENT"]):
        # It died before the kernel was told.
        return
    from vllm.platforms import current_platform
    from vllm.v1.engine.core import EngineCoreProc

    if current_platform.is_cpu():
        _count_without_compiler()
    EngineCoreProc.run_engine_core(*args, **options)


def _count_without_compiler() -> None:
    """Let the rank of a token be counted as plain PyTorch does it.

    vLLM compiles that function when probabilities are first asked for, with a C++ compiler that a machine need not
    have; a core that misses it dies, and every answer in the making with it.
    """
    from vllm.v1.sample import sampler

    plain = getattr(sampler.batched_count_greater_than, "_torchdynamo_orig_callable", None)
    if plain is not None:
        sampler.batched_count_greater_than = plain
