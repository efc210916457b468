"""What vLLM imports before it loads a model, where that is computed: named as `worker_extension_cls`."""

from __future__ import annotations

import os

from sourcier.services.generate.vllm import int8 as vllm_int8
from sourcier.services.generate.vllm.processor import cpu_flags

vllm_int8.prefer(cpu_flags(), architecture=os.uname().machine)


class Extension:
    """Adds nothing to vLLM's worker; its module is what counts."""
