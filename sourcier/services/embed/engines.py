"""The engines that run the embedding model's graph, and the choice between them.

OpenVINO runs the static int8 graph fastest on x86-64 with VNNI or AMX. Without them that is slower than fp32 and less
exact, and onnxruntime runs the same file faster than either; so it does everywhere else. On a GPU onnxruntime runs the
fp32 file, where its provider is installed (docs/measured/history/embedding.md has the figures).
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import Any

import numpy as np

from sourcier.services.chassis.errors import FailedPrecondition
from sourcier.services.chassis.models.gpu import gpu_present, open_session, runs_on_gpu, tell_unused
from sourcier.services.chassis.models.processor import INT8_FLAGS, cpu_flags, usable_cores
from sourcier.services.chassis.models.store import NULL_PRECISION, Model
from sourcier.services.embed.encoder import CPU_BATCH_TOKENS, FloatArray, InferenceEngine, IntArray
from sourcier.services.embed.null_engine import open_null_engine
from sourcier.services.embed.openvino_engine import OpenVinoEngine

ON_GPU = "cuda-fp32"
GPU_BATCH_TOKENS, GPU_STREAMS = 4096, 4
"""While one batch is copied and its vectors are read, the GPU computes others; larger ones were no faster, and keep a
question waiting for longer (docs/measured/history/embedding.md)."""


def open_engine(
    model: Model, *, name: str, threads: int, streams: int, fixed_lengths_max: int | None = None
) -> InferenceEngine:
    """Load the model's graph; `auto` takes the fastest engine of the machine that the model has a file for."""
    cores = threads or usable_cores()
    if NULL_PRECISION in (name, model.manifest.precision):
        return open_null_engine(model, name=name, streams=streams or cores)
    if name == "auto":
        # Int8 is for processors.
        if model.manifest.precision != "int8" and "fp32" in model.manifest.variants and gpu_present():
            on_gpu = _on_gpu(model.variant("fp32"), streams=streams)
            if on_gpu is not None:
                return on_gpu
            tell_unused("embed", "the embedding model")
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
    if engine == "cuda":
        return _asked_on_gpu(path, streams=streams)
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


def _asked_on_gpu(path: Path, *, streams: int) -> InferenceEngine:
    """Return the file on the GPU that was asked for by name; raise FailedPrecondition where it cannot be."""
    if not gpu_present():
        raise FailedPrecondition(
            f"SOURCIER_EMBED_ENGINE={ON_GPU} needs an NVIDIA GPU and onnxruntime-gpu in the place of onnxruntime; "
            "leave it out for the processor"
        )
    engine = _on_gpu(path, streams=streams)
    if engine is None:
        raise FailedPrecondition(
            f"onnxruntime could not use the GPU that SOURCIER_EMBED_ENGINE={ON_GPU} asks for, and said why above: "
            "CUDA's libraries are missing, or of another version; leave it out for the processor"
        )
    return engine


def _on_gpu(path: Path, *, streams: int) -> InferenceEngine | None:
    """Return the file on the GPU; None where its provider does not start."""
    engine = OnnxRuntimeEngine(path, name=ON_GPU, threads=1, streams=streams or GPU_STREAMS)
    return engine if engine.on_gpu else None


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
        # (`sourcier/models/exports/quantisation.py`).
        options.add_session_config_entry("optimization.disable_specified_optimizers", "CommonSubexpressionElimination")
    return options


class OnnxRuntimeEngine:
    """onnxruntime: one session; each stream runs on its share of the threads, or all on one GPU."""

    length_step: int = 1

    def __init__(self, path: Path, *, name: str, threads: int, streams: int, arena: bool = False) -> None:
        self.name = name
        self.streams = streams
        options = session_options(
            precision=name.partition("-")[2], threads=max(1, threads // streams), arena=arena
        )
        self._session: Any = open_session(path, options, on_gpu=name == ON_GPU)
        self.on_gpu: bool = runs_on_gpu(self._session)
        self.batch_tokens: int = GPU_BATCH_TOKENS if self.on_gpu else CPU_BATCH_TOKENS
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
