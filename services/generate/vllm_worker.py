"""What vLLM's worker process imports before it makes its queues and loads a model: named as `worker_extension_cls`."""

from __future__ import annotations

import os

from services.generate import vllm_int8
from services.generate.processor import cpu_flags
from services.generate.vllm_waiting import sleep_between_messages

sleep_between_messages()
vllm_int8.prefer(cpu_flags(), architecture=os.uname().machine)


class Extension:
    """Adds nothing to vLLM's worker; its module is what counts."""
