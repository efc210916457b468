"""The engines that run the embedding model's graph, and the choice between them.

OpenVINO runs the static int8 graph fastest on x86-64 with VNNI or AMX. Without them that is slower than fp32 and less
exact, and onnxruntime runs the same file faster than either; so it does everywhere else, and on a GPU where its
provider is installed (docs/performance/embedding.md has the figures).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from services.chassis.errors import FailedPrecondition
from services.chassis.models import NULL_PRECISION, Model
from services.chassis.processor import INT8_FLAGS, cpu_flags, usable_cores
from services.chassis.telemetry import degradations_total
from services.embed.encoder import FloatArray, InferenceEngine, IntArray
from services.embed.null_engine import open_null_engine
from services.embed.openvino_engine import OpenVinoEngine

logger = logging.getLogger(__name__)

GPU_PROVIDER = "CUDAExecutionProvider"
ENGINES = ("openvino-int8", "onnxruntime-int8", "onnxruntime-fp32")


def open_engine(
    model: Model, *, name: str, threads: int, streams: int, fixed_lengths_max: int | None = None
) -> InferenceEngine:
    """Load the model's graph; `auto` takes the first engine of the table that the model and the machine have."""
    cores = threads or usable_cores()
    if NULL_PRECISION in (name, model.manifest.precision):
        return open_null_engine(model, name=name, streams=streams or cores)
    if name == "auto":
        on_gpu = _on_gpu(model, threads=cores, streams=streams or cores) if gpu_present() else None
        if on_gpu is not None:
            return on_gpu
        name = choose(
            model.manifest.variants, precision=model.manifest.precision, architecture=os.uname().machine,
            flags=cpu_flags(),
        )
    engine, _, precision = name.partition("-")
    if model.manifest.precision not in ("", precision):
        raise FailedPrecondition(
            f"SOURCIER_EMBED_ENGINE={name} does not run {model.manifest.label}; leave it out, or choose an engine of "
            f"{model.manifest.precision}"
        )
    if precision not in model.manifest.variants:
        raise FailedPrecondition(
            f"the model {model.manifest.name} has no {precision} file; fetch it again with "
            f"`sourcier models fetch {model.manifest.name}` or choose another SOURCIER_EMBED_ENGINE"
        )
    path = model.variant(precision)
    if engine == "openvino":
        return OpenVinoEngine(
            path, name=name, threads=cores, streams=streams or cores, fixed_lengths_max=fixed_lengths_max
        )
    return OnnxRuntimeEngine(path, name=name, threads=cores, streams=streams or cores)


def choose(variants: Collection[str], *, precision: str, architecture: str, flags: Collection[str]) -> str:
    """Return the engine of a processor: int8 where the model has it and no other precision was asked for."""
    if "int8" not in variants or precision == "fp32":
        return "onnxruntime-fp32"
    return "openvino-int8" if architecture == "x86_64" and INT8_FLAGS.intersection(flags) else "onnxruntime-int8"


def gpu_present(device: Path = Path("/dev/nvidiactl")) -> bool:
    """Return whether there is a GPU and an onnxruntime that may run on it.

    The package alone says nothing: onnxruntime-gpu lists its provider on machines without a device, too.
    """
    if not device.exists():
        return False
    import onnxruntime

    return GPU_PROVIDER in onnxruntime.get_available_providers()


def _on_gpu(model: Model, *, threads: int, streams: int) -> InferenceEngine | None:
    """Return the fp32 file on the GPU, int8 being for processors; None, and a warning, where its provider fails."""
    if model.manifest.precision == "int8" or "fp32" not in model.manifest.variants:
        return None
    engine = OnnxRuntimeEngine(model.variant("fp32"), name="onnxruntime-fp32", threads=threads, streams=streams)
    if engine.provider == GPU_PROVIDER:
        return engine
    degradations_total.labels("embed", "GPU").inc()
    logger.warning("there is a GPU, and onnxruntime could not use it; the embedding model runs on the processor")
    return None


def session_options(*, precision: str, threads: int, arena: bool = False) -> Any:
    """Return onnxruntime's options of a session whose runs have so many threads each."""
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # The arena keeps the largest shape it ever saw, for ever.
    options.enable_cpu_mem_arena = arena
    if precision == "int8":
        # What the file quantises for each product apart would be joined again, and computed in float32
        # (`models/quantisation.py`).
        options.add_session_config_entry("optimization.disable_specified_optimizers", "CommonSubexpressionElimination")
    return options


class OnnxRuntimeEngine:
    """onnxruntime: one session; each stream runs on its share of the threads."""

    length_step: int = 1

    def __init__(self, path: Path, *, name: str, threads: int, streams: int, arena: bool = False) -> None:
        import onnxruntime

        self.name = name
        self.streams = streams
        options = session_options(
            precision=name.partition("-")[2], threads=max(1, threads // streams), arena=arena
        )
        providers = [provider for provider in (GPU_PROVIDER, "CPUExecutionProvider")
                     if provider in onnxruntime.get_available_providers()]
        self._session: Any = onnxruntime.InferenceSession(str(path), options, providers=providers)
        self.provider: str = self._session.get_providers()[0]
        """What runs it: the first provider that started."""
        self._inputs = {entry.name for entry in self._session.get_inputs()}
        self._output = self._session.get_outputs()[0].name

    def run(self, input_ids: IntArray, attention_mask: IntArray) -> FloatArray:
        """Return the last hidden state of a padded batch."""
        feed = {"input_ids": input_ids, "attention_mask": attention_mask}
        if "token_type_ids" in self._inputs:
            feed["token_type_ids"] = np.zeros_like(input_ids)
        hidden: FloatArray = self._session.run([self._output], feed)[0]
        return hidden

    def rest(self) -> None:
        """Do nothing: one session runs every shape."""
