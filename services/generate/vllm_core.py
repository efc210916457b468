"""Where vLLM's core process begins: it ends with this service, even when nobody could tell it to, and sleeps when idle.

vLLM's core waits for requests for ever when the process that started it is killed, and keeps the model's memory.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

from services.generate.vllm_waiting import sleep_between_messages

_PR_SET_PDEATHSIG = 1


def bind_to_parent() -> None:
    """Have vLLM start its core through `run_engine_core`; call it before the engine is made."""
    from vllm.v1.engine.core import EngineCoreProc

    os.environ["SOURCIER_GENERATE_PARENT"] = str(os.getpid())
    EngineCoreProc.run_engine_core = staticmethod(run_engine_core)


def run_engine_core(*args: Any, **options: Any) -> None:
    """Run vLLM's core in this process, which the kernel kills when its parent dies."""
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(os.environ["SOURCIER_GENERATE_PARENT"]):
        # It died before the kernel was told.
        return
    from vllm.platforms import current_platform
    from vllm.v1.engine.core import EngineCoreProc

    if current_platform.is_cpu():
        sleep_between_messages()
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
