"""Lets vLLM on a CPU load what it compiled at an earlier start.

vLLM 0.32 calls `finalize_loading` on the artifact that it read, which only its own backend's artifacts have. On a CPU
the artifact is torch's, so the call fails, and the model is compiled anew at each start. An engine imports this module
where it is named as `worker_extension_cls`; the code that runs afterwards is the code that was compiled.
"""

from __future__ import annotations

from torch._dynamo.aot_compile_types import BundledAOTAutogradSerializableCallable


def _is_loaded(artifact: object, config: object) -> None:
    """Do nothing: torch's own artifacts are whole once they are read."""


if not hasattr(BundledAOTAutogradSerializableCallable, "finalize_loading"):
    BundledAOTAutogradSerializableCallable.finalize_loading = _is_loaded


class Extension:
    """Adds nothing to vLLM's worker."""
