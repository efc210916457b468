"""Where vLLM's core process begins: it ends with this service, even when nobody could tell it to.

vLLM's core waits for requests for ever when the process that started it is killed, and keeps the model's memory.
"""

from __future__ import annotations

import ctypes
import os
import signal
from typing import Any

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
    from vllm.v1.engine.core import EngineCoreProc

    EngineCoreProc.run_engine_core(*args, **options)
