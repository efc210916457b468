"""How vLLM's processes wait for one another: asleep, where its own way keeps a core busy.

On a CPU, vLLM 0.32 computes in a worker process beside its core process. Each looks for the other's next message
without a pause for a second after the last, so that the one takes two thirds of a processor for as long as an answer is
made, and the other all of one for a second after it. The model's threads, and what checks the answer's sentences, use
it better; and a small machine's model can have the processor that vLLM leaves to that process (`engine_environment`).
"""

from __future__ import annotations

import logging
from typing import Any

SPIN_SECONDS = 0.002
"""After so long without a message a process sleeps until it is woken; two messages of one step are closer."""


def sleep_between_messages() -> None:
    """Have this process sleep where it would look for messages for a second; call it before vLLM's queues are made."""
    from vllm.distributed.device_communicators.shm_broadcast import SpinCondition

    plain = SpinCondition.__init__

    def patient(self: Any, is_reader: bool, context: Any, notify_address: str) -> None:
        plain(self, is_reader, context, notify_address, busy_loop_s=SPIN_SECONDS)

    SpinCondition.__init__ = patient
    # It would say that a core has to be left to it, which it then sleeps on.
    logging.getLogger("vllm.utils.ompmultiprocessing").setLevel(logging.ERROR)
