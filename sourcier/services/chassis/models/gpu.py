"""A GPU, as onnxruntime runs graphs on it: whether one can be used, and the session on it."""

from __future__ import annotations

import contextlib
import io
import logging
from pathlib import Path
from typing import Any

from sourcier.services.chassis.telemetry import degradations_total

logger = logging.getLogger(__name__)

GPU_PROVIDER, CPU_PROVIDER = "CUDAExecutionProvider", "CPUExecutionProvider"
DEVICE = Path("/dev/nvidiactl")


def gpu_present(device: Path = DEVICE) -> bool:
    """Return whether there is a GPU and an onnxruntime that may run on it.

    The package alone says nothing: onnxruntime-gpu lists its provider on machines without a device, too.
    """
    if not device.exists():
        return False
    import onnxruntime

    return GPU_PROVIDER in onnxruntime.get_available_providers()


def open_session(path: Path, options: Any, *, on_gpu: bool = False) -> Any:
    """Load a graph into an onnxruntime session, on the processor unless the GPU was asked for.

    Where the GPU's provider does not start, the session is on the processor: `runs_on_gpu` tells.
    """
    import onnxruntime

    if not on_gpu:
        return onnxruntime.InferenceSession(str(path), options, providers=[CPU_PROVIDER])
    _load_libraries(onnxruntime)
    # By default the arena takes a power of two of what is asked for, up to the whole of the device.
    provider = (GPU_PROVIDER, {"arena_extend_strategy": "kSameAsRequested"})
    return onnxruntime.InferenceSession(str(path), options, providers=[provider, CPU_PROVIDER])


def runs_on_gpu(session: Any) -> bool:
    """Return whether the GPU's provider started in a session."""
    return bool(session.get_providers()[0] == GPU_PROVIDER)


def tell_unused(stage: str, what: str) -> None:
    """Count and log that there is a GPU which onnxruntime could not use, so that the processor does the work."""
    degradations_total.labels(stage, "GPU").inc()
    logger.warning("there is a GPU, and onnxruntime could not use it; %s runs on the processor", what)


def _load_libraries(onnxruntime: Any) -> None:
    """Load CUDA's and cuDNN's libraries where they came as Python packages: no search path leads there."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        onnxruntime.preload_dlls(directory="")
    if said.getvalue():
        logger.info("libraries of the GPU: %s", said.getvalue().strip())
