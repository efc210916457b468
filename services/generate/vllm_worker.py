"""What vLLM's worker process imports before it makes its queues: named as `worker_extension_cls`."""

from __future__ import annotations

from services.generate.vllm_waiting import sleep_between_messages

sleep_between_messages()


class Extension:
    """Adds nothing to vLLM's worker; its module is what counts."""
